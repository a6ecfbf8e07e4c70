"""The table of message integrity, row by row, in every dialect, on the bytes that arrive.

A log with exactly the row's case is given to the real sessions and providers; a strict
server takes the request or refuses it in its vendor's words. What is read from the
bytes must be what the row says, and the log must still hold what it held.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from askd.core.context import build_context
from askd.core.events import Body, ItemAdded, ItemPinned, TurnOptions, ViewChanged
from askd.core.items import Item, Notice, Reasoning, ToolOutput
from askd.core.outcome import DONE, FAILED
from askd.core.pairs import SYNTHETIC_TEXT
from askd.providers.base import Dialect
from askd.sessions.targets import Target
from tests.fakes.chat_answers import Json, error
from tests.fakes.log import FakeStore
from tests.integrity.logs import ID, call, output, say, store_with, turn, user
from tests.integrity.reading import Seen, find_bad_text, find_breaks, read_request, read_sound
from tests.integrity.wires import DIALECTS, Wires, lay_wires, open_wired

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)

FIRST = Seen("user", "first")
NOW = Seen("user", "now")
ASKED = Seen("assistant", "", (("call_x", "calculator", "{}"),))
ANSWERED = Seen("tool", "4", call_id="call_x")
INTERRUPTED = Seen("tool", SYNTHETIC_TEXT, call_id="call_x")
SO = Seen("assistant", "so")
"""An answer that ends a turn, so that the next prompt stands apart from the first."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What arrived at one provider, request by request, and the store that it came from."""

    dialect: Dialect
    bodies: list[bytes]
    store: FakeStore

    @property
    def seen(self) -> list[Seen]:
        """The last request's messages."""
        return read_request(self.dialect, self.bodies[-1])

    @property
    def messages(self) -> list[Json]:
        """The last request's own array of messages."""
        body = json.loads(self.bodies[-1])
        found: list[Json] = body["input" if self.dialect == "openai-responses" else "messages"]
        return found


async def resume(
    dialect: Dialect,
    log: Sequence[Item | Body],
    *prompts: str,
    store: FakeStore | None = None,
    wires: Wires | None = None,
    system: str | None = None,
) -> Sent:
    """Go on with a log (or a turn of these items) in this dialect; nobody may refuse anything."""
    items = [each for each in log if isinstance(each, Item)]
    bodies = [each for each in log if not isinstance(each, Item)]
    store = store or await store_with(turn("t", *items) if items else bodies)
    before = await store.load(ID)
    if wires is None:
        with lay_wires() as wires:
            return await resume(dialect, (), *prompts, store=store, wires=wires, system=system)
    line = wires.lines[dialect]
    async with open_wired(wires, store) as room:
        for prompt in prompts or ("now",):
            options = TurnOptions(model=line.model, system=system)
            accepted = await room.ask(prompt, target=Target("id", ID), options=options)
            end = await room.finish(accepted)
            assert (end.outcome, end.code) == ("completed", DONE), end
    assert wires.find_violations() == []
    assert (await store.load(ID))[: len(before)] == before  # healing never rewrites the log
    sent = Sent(dialect, line.bodies, store)
    for body in sent.bodies:
        read_sound(dialect, body)
    return sent


# ---- outputs and calls ----------------------------------------------------------------


@each_dialect
async def test_a_tool_output_with_no_call_is_dropped(dialect: Dialect) -> None:
    sent = await resume(dialect, [output("call_x", "lost"), say("t.1", "so")])
    assert sent.seen == [FIRST, SO, NOW]
    assert b"lost" not in sent.bodies[0]


PAIR_ON_THE_WIRE: dict[str, list[Json]] = {
    "openai-chat": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_x",
                    "type": "function",
                    "function": {"name": "calculator", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_x", "content": "4"},
    ],
    "openai-responses": [
        {
            "type": "function_call",
            "call_id": "call_x",
            "name": "calculator",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": "call_x", "output": "4"},
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_x", "name": "calculator", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_x",
                    "content": [{"type": "text", "text": "4"}],
                }
            ],
        },
    ],
    "ollama": [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_x", "function": {"name": "calculator", "arguments": {}}}],
        },
        {"role": "tool", "content": "4", "tool_name": "calculator", "tool_call_id": "call_x"},
    ],
}
"""The pair as each dialect demands it; "copilot" and "local" write as "openai-chat" does."""


@each_dialect
async def test_a_call_and_its_output_are_sent_paired_as_the_dialect_demands(
    dialect: Dialect,
) -> None:
    sent = await resume(dialect, [say("t.1", "", call()), output(), say("t.2", "so")])
    assert sent.seen == [FIRST, ASKED, ANSWERED, SO, NOW]
    pair = PAIR_ON_THE_WIRE.get(dialect, PAIR_ON_THE_WIRE["openai-chat"])
    assert sent.messages[1:3] == pair
    written = json.dumps(pair, ensure_ascii=False, separators=(",", ":"))
    assert written[1:-1].encode() in sent.bodies[0]


@each_dialect
async def test_a_tool_output_placed_before_its_call_is_an_orphan(dialect: Dialect) -> None:
    items: list[Item] = [output("call_x", "early"), say("t.1", "", call()), say("t.2", "so")]
    sent = await resume(dialect, items)
    assert sent.seen == [FIRST, ASKED, INTERRUPTED, SO, NOW]
    assert b"early" not in sent.bodies[0]


@each_dialect
@pytest.mark.parametrize("call_id", ["", "  ", "\t\n"])
async def test_a_tool_output_without_an_id_is_dropped(dialect: Dialect, call_id: str) -> None:
    items: list[Item] = [
        say("t.1", "", call()),
        output(call_id, "whose"),
        output(),
        say("t.2", "so"),
    ]
    sent = await resume(dialect, items)
    assert sent.seen == [FIRST, ASKED, ANSWERED, SO, NOW]
    assert b"whose" not in sent.bodies[0]


@each_dialect
async def test_system_user_and_assistant_text_only_are_untouched(dialect: Dialect) -> None:
    log = [*turn("t", say("t.1", "so")), *turn("u", say("u.1", "so"), prompt="first")]
    sent = await resume(dialect, log, system="Be brief.")
    assert sent.seen == [Seen("system", "Be brief."), FIRST, SO, FIRST, SO, NOW]


THREE = (call("a", "f"), call("b", "g", '{"x": 1}'), call("c", "f"))


@each_dialect
@pytest.mark.parametrize("text", ["", "Let me see."])
async def test_an_assistant_message_with_text_and_calls_is_sent_whole(
    dialect: Dialect, text: str
) -> None:
    message = say("t.1", text, *THREE)
    outputs = [output("c", "3", name="f"), output("a", "1", name="f"), output("b", "2", name="g")]
    sent = await resume(dialect, [message, *outputs, say("t.2", "so")])
    calls = (("a", "f", "{}"), ("b", "g", '{"x": 1}'), ("c", "f", "{}"))
    assert sent.seen[:2] == [FIRST, Seen("assistant", text, calls)]
    # Every vendor joins them by their ids: they stay in the order in which they came.
    assert [each.call_id for each in sent.seen[2:5]] == ["c", "a", "b"]
    assert sent.seen[5:] == [SO, NOW]
    bodies = [event.body for event in await sent.store.load(ID)]
    assert bodies.count(ItemAdded("t", message, 1)) == 1  # one event: text and all calls


@each_dialect
async def test_an_assistant_message_with_text_alone_is_sent_as_text(dialect: Dialect) -> None:
    sent = await resume(dialect, [say("t.1", "so")])
    assert sent.seen == [FIRST, SO, NOW]


@each_dialect
async def test_a_call_without_output_gets_a_synthetic_one_with_a_stable_text(
    dialect: Dialect,
) -> None:
    sent = await resume(dialect, [say("t.1", "", call()), say("t.2", "so")], "now", "and now")
    assert sent.seen[:5] == [FIRST, ASKED, INTERRUPTED, SO, NOW]
    first, second = (read_request(dialect, body) for body in sent.bodies)
    assert second[: len(first)] == first  # what a provider has cached fits


@each_dialect
async def test_a_synthetic_output_never_replaces_one_that_arrived(dialect: Dialect) -> None:
    both = say("t.1", "", call(), call("call_y", "other"))
    sent = await resume(dialect, [both, output("call_y", "arrived", name="other")])
    outputs = {each.call_id: each.text for each in sent.seen if each.role == "tool"}
    assert outputs == {"call_x": SYNTHETIC_TEXT, "call_y": "arrived"}


@each_dialect
async def test_of_two_outputs_for_one_call_the_first_is_kept(dialect: Dialect) -> None:
    items: list[Item] = [
        say("t.1", "", call()),
        output(),
        output("call_x", "second"),
        say("t.2", "so"),
    ]
    sent = await resume(dialect, items)
    assert sent.seen == [FIRST, ASKED, ANSWERED, SO, NOW]
    assert b"second" not in sent.bodies[0]


@each_dialect
async def test_an_output_apart_from_its_call_is_moved_there(dialect: Dialect) -> None:
    log = [*turn("t", say("t.1", "", call())), *turn("u", output(), say("u.1", "so"), prompt="2nd")]
    sent = await resume(dialect, log)
    assert sent.seen == [FIRST, ASKED, ANSWERED, Seen("user", "2nd"), SO, NOW]


@each_dialect
async def test_ids_that_come_again_are_told_apart(dialect: Dialect) -> None:
    """Servers that count the calls of an answer say `call_0` in every one of them."""
    again: list[Item] = [
        say("t.1", "", call()),
        output(),
        say("t.2", "", call()),
        output("call_x", "5"),
    ]
    sent = await resume(dialect, [*again, say("t.3", "", call(), call()), output(), output()])
    outputs = [each.text for each in sent.seen if each.role == "tool"]
    assert outputs == ["4", "5", "4", "4"]


# ---- roles ----------------------------------------------------------------------------


@each_dialect
async def test_neighbours_of_one_role_are_merged(dialect: Dialect) -> None:
    log = [*turn("t"), *turn("u", say("u.1", "so"), say("u.2", "it is"), prompt="2nd")]
    sent = await resume(dialect, log)
    assert sent.seen == [Seen("user", "first\n\n2nd"), Seen("assistant", "so\n\nit is"), NOW]


@each_dialect
async def test_a_history_that_begins_with_an_assistant_message_begins_with_the_user(
    dialect: Dialect,
) -> None:
    sent = await resume(dialect, turn("t", say("t.1", "so"), prompt=None))
    opening, *others = sent.seen
    assert opening.role == "user"
    assert "not shown" in opening.text
    assert others == [SO, NOW]
    # The same with calls, whose outputs would stand first otherwise.
    sent = await resume(dialect, turn("t", say("t.1", "", call()), output(), prompt=None))
    assert [each.role for each in sent.seen] == ["user", "assistant", "tool", "user"]


# ---- over time ------------------------------------------------------------------------


@each_dialect
async def test_saved_loaded_and_resumed_with_an_orphan_in_the_log(
    dialect: Dialect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "askd")
    store = await store_with(turn("t", output("call_x", "lost"), say("t.1", "so")))
    for round_number in (1, 2):
        with lay_wires() as wires:
            sent = await resume(dialect, (), "now", "and now", store=store, wires=wires)
            assert b"lost" not in sent.bodies[-1]
            async with open_wired(wires, store) as room:
                session = await room.sessions.get(ID)
                context = build_context(session.conversation, None, system=None)
                assert not any(isinstance(each, ToolOutput) for each in context.items)
                # The log holds it, and counts it.
                held = [e.item for e in session.conversation.turns["t"].items]
                assert output("call_x", "lost") in held
                assert session.conversation.message_count == 3 + 4 * round_number
        warned = [each.message for each in caplog.records if each.levelno == logging.WARNING]
        assert warned == [
            'Orphan tool message detected and dropped: tool_call_id=call_x, content_preview="lost"'
        ]  # once per load
        caplog.clear()


@each_dialect
@pytest.mark.parametrize("boundary", range(5))
@pytest.mark.parametrize("pinned", [None, "a.1", "o.call_a.1", "o.call_b.2"])
async def test_a_view_cut_at_any_boundary_has_no_orphan(
    dialect: Dialect, boundary: int, pinned: str | None
) -> None:
    """Exchanges that go across turns, as crashes and imports leave them, cut in both directions."""
    log = [
        *turn("a", say("a.1", "", call("call_a"))),
        *turn("b", output("call_a", "1"), say("b.1", "", call("call_b")), prompt="2nd"),
        *turn("c", output("call_b", "2"), output("call_z", "3"), prompt="3rd"),
        *turn("d", say("d.1", "so"), prompt="4th"),
    ]
    if pinned is not None:
        log.append(ItemPinned(pinned))
    if boundary:
        log.append(ViewChanged("v", "clear", through_turn="abcd"[boundary - 1]))
    sent = await resume(dialect, log)
    assert sent.seen[-1].text.endswith("now")
    assert b'"3"' not in sent.bodies[0]


@each_dialect
async def test_a_providers_own_refusal_about_pairing_is_shown_and_the_prompt_sent_again(
    dialect: Dialect, caplog: pytest.LogCaptureFixture
) -> None:
    words = (
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: x"
    )
    store = await store_with(turn("t", say("t.1", "", call()), output(), say("t.2", "so")))
    with lay_wires() as wires:
        line = wires.lines[dialect]
        line.broken.append(error(400, words))
        async with open_wired(wires, store) as room:
            options = TurnOptions(model=line.model)
            refused = await room.finish(
                await room.ask("now", target=Target("id", ID), options=options)
            )
            assert (refused.outcome, refused.code) == ("failed", FAILED)
            assert words in (refused.message or "")
            logged = [each for each in caplog.records if each.levelno == logging.ERROR]
            assert len(logged) == 1
            assert words in logged[0].message
            again = await room.ask("now", target=Target("id", ID), options=options)
            assert (await room.finish(again)).code == DONE
        assert wires.find_violations() == []
        first, second = (read_request(dialect, body) for body in line.bodies)
        assert first == second == [FIRST, ASKED, ANSWERED, SO, NOW]


# ---- what providers have of their own ---------------------------------------------------

SEALED: dict[str, Json] = {
    "openai-responses": {
        "type": "reasoning",
        "id": "rs_9",
        "summary": [],
        "encrypted_content": "SEALED-canary",
    },
    "anthropic": {"type": "thinking", "thinking": "hm", "signature": "SEALED-canary"},
    "openai-chat": {
        "type": "chat_reasoning",
        "details": [{"type": "reasoning.encrypted", "data": "SEALED-canary"}],
        "opaque": "SEALED-canary",
        "calls": [[0, {"google": {"thought_signature": "SEALED-canary"}}]],
    },
}


@each_dialect
@pytest.mark.parametrize("made_by", sorted(SEALED))
@pytest.mark.parametrize("claims", ["no mark", "another account's mark"])
async def test_foreign_reasoning_is_not_sent(dialect: Dialect, made_by: str, claims: str) -> None:
    """Though provider and model have the right names: settings, keys and callers change."""
    raw = SEALED[made_by] | ({} if claims == "no mark" else {"origin": "0123456789abcdef"})
    with lay_wires() as wires:
        provider, _, model = wires.lines[dialect].model.partition("/")
        asks = say(
            "t.1", "", call(), thoughts=[Reasoning("hm", raw)], provider=provider, model=model
        )
        sent = await resume(dialect, [asks, output()], wires=wires)
    assert sent.seen == [FIRST, ASKED, ANSWERED, NOW]
    assert b"SEALED" not in sent.bodies[0]
    assert b"0123456789abcdef" not in sent.bodies[0]


BAD_NAMES = ["", " ", "a b", "calc\x00", "line\nbreak", "é", "計算", "x" * 65, "f.g", "\ud800"]


@each_dialect
@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
async def test_bad_text_in_names_is_replaced_for_call_and_output_alike(
    dialect: Dialect, name: str
) -> None:
    items: list[Item] = [say("t.1", "", call(name=name)), output(name=name), say("t.2", "so")]
    sent = await resume(dialect, items, "now", "and now")
    ((_, sent_name, _),) = sent.seen[1].calls
    # That it is fit to be sent has been checked; the same one stands in every request.
    again = read_request(dialect, sent.bodies[0])[1].calls
    assert again == sent.seen[1].calls
    if dialect == "ollama":
        assert sent.messages[2]["tool_name"] == sent_name
    unanswered = await resume(dialect, items[:1])
    assert unanswered.seen[1].calls == again


BAD = "a\x00b\ud83dc"


@each_dialect
async def test_bad_text_anywhere_is_replaced(dialect: Dialect) -> None:
    """Half characters cannot be stored and come as escapes; NUL can, and comes as itself."""
    arguments = '{"path": "a\\u0000b", "\\u0000": ["\\ud83d"]}'
    log: list[Body] = [
        *turn("t", say("t.1", "NUL \x00", call("\x00", "f", arguments)), output("\x00", "4\x00")),
        *turn("u", say("u.1", "", call("bad", "f", '{"x": "\x00')), output("bad"), prompt="\x00"),
        *turn("v", say("v.1", "", call("a\x00"), call("a\x01")), output("a\x01", "one")),
    ]
    sent = await resume(dialect, log, "now\x00", system="Be brief.\x00")
    texts = [each.text for each in sent.seen]
    assert texts[0] == "Be brief.\ufffd"
    assert texts[2:4] == ["NUL \ufffd", "4\ufffd"]
    assert texts[-1].endswith("now\ufffd")
    ((_, _, first),) = sent.seen[2].calls
    assert json.loads(first) == {"path": "a\ufffdb", "\ufffd": ["\ufffd"]}
    # Ids that differ in nothing but bad text are still two.
    outputs = {each.call_id: each.text for each in sent.seen if each.role == "tool"}
    assert sorted(outputs.values()).count("one") == 1
    assert sum(text == SYNTHETIC_TEXT for text in outputs.values()) == 1


@each_dialect
async def test_notices_are_never_sent(dialect: Dialect) -> None:
    notice = Notice("n", "/models secret-canary")
    sent = await resume(dialect, [say("t.1", "", call()), notice, output(), say("t.2", "so")])
    assert sent.seen == [FIRST, ASKED, ANSWERED, SO, NOW]
    assert b"canary" not in sent.bodies[0]


@each_dialect
async def test_what_a_later_attempt_replaced_is_not_sent(dialect: Dialect) -> None:
    log = [
        ItemAdded("t", say("t.1", "half", call()), 1, "superseded")
        if each == ItemAdded("t", say("t.1", "half", call()), 1)
        else each
        for each in turn("t", say("t.1", "half", call()), say("t.2", "so"))
    ]
    sent = await resume(dialect, [*log, *turn("u", output(), prompt="2nd")])
    assert sent.seen == [FIRST, SO, Seen("user", "2nd\n\nnow")]


def test_helpers_say_what_they_mean() -> None:
    assert user("u", "x").id == "u"
    assert list(find_breaks([NOW, ASKED, NOW])) == ["calls without outputs: ['call_x']"]
    assert list(find_breaks([ASKED])) != []
    assert list(find_breaks([NOW, ANSWERED])) == ["an output without its call: 'call_x'"]
    assert list(find_breaks([NOW, NOW])) == ["neighbours that are both user"]
    twice = [NOW, ASKED, ANSWERED, ASKED, ANSWERED]
    assert list(find_breaks(twice)) == ["ids that come twice: ['call_x', 'call_x']"]
    misnamed = Seen("assistant", "", (("i", "a b", "{}"),))
    assert "a tool named 'a b'" in list(find_breaks([NOW, misnamed]))
    assert list(find_bad_text(b'{"a": "{\\"b\\": \\"\\\\u0000\\"}"}')) != []
    assert list(find_bad_text(b'{"a": "\\u0000"}')) != []
    assert list(find_bad_text(b'{"a": "\xed\xa0\x80"}')) != []
    assert list(find_bad_text(b'{"a": "fine"}')) == []


@pytest.mark.parametrize("text", [None, "\x00"])
def test_a_request_that_is_not_sound_is_found(text: str | None) -> None:
    def write(content: str | None) -> bytes:
        messages = [] if content is None else [{"role": "user", "content": content}]
        return json.dumps({"messages": messages}).encode()

    assert [each.text for each in read_sound("openai-chat", write("hi"))] == ["hi"]
    with pytest.raises(AssertionError):
        read_sound("openai-chat", write(text))
