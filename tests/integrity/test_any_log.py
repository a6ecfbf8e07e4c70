"""Any log at all: every request that is made of it is one that is accepted.

The logs are made of items in any order with ids that meet, of every status, in turns
that may have no start or no end, with any change of the view; or of lines of rollouts in any
order. Each is resumed with all six providers in turn, on strict servers.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from askd.core.events import (
    Body,
    CompletionFinished,
    ItemAdded,
    ItemPinned,
    PromptAccepted,
    TurnFinished,
    TurnOptions,
    TurnStarted,
    ViewChanged,
)
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Part,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.outcome import DONE
from askd.core.pairs import heal
from askd.sessions.targets import Target
from tests.core import rollouts
from tests.core.values import ITEMS
from tests.fakes.log import FakeStore
from tests.integrity.logs import ID, store_with
from tests.integrity.reading import find_bad_text, find_breaks, read_request
from tests.integrity.test_rows import SEALED
from tests.integrity.wires import DIALECTS, QUICKLY, Wires, lay_wires, open_wired

CALL_IDS = st.sampled_from(["", " ", "a", "b", "a#2", "call_1", "x" * 70, "n\x00l", "ü", "\n"])
NAMES = st.sampled_from(["f", "g", "a b", "", "\x00", "x" * 65, "計算"])
ARGUMENTS = st.sampled_from(
    ["{}", '{"x": 1}', '{"x"', "", "[1]", '{"a": "\\u0000\\ud800"}', '{"n": NaN}', "[" * 3000]
)
ITEM_IDS = st.sampled_from(["i1", "i2", "i3", "i4", "i5"])
TURN_IDS = st.sampled_from(["t", "u", "v"])
TEXTS = st.sampled_from(["", "x", " \n", "\x00", "</file>", "a\u2028b"])
PARTS: st.SearchStrategy[tuple[Part, ...]] = st.lists(
    st.one_of(
        st.builds(Text, TEXTS),
        st.builds(Text, TEXTS, st.sampled_from(["stdin", 'a".py', "\x00"])),
        st.builds(
            Blob, st.just("1" * 64), st.just(4), st.sampled_from(["image/png", "text/plain"])
        ),
    ),
    max_size=2,
).map(tuple)
THOUGHTS = st.lists(
    st.builds(Reasoning, TEXTS, st.none() | st.sampled_from(list(SEALED.values()))), max_size=2
).map(tuple)
MAKERS = st.none() | st.sampled_from([f"my-{each}" for each in DIALECTS])
ANSWERS = st.builds(
    AssistantMessage,
    ITEM_IDS,
    PARTS,
    THOUGHTS,
    st.lists(st.builds(ToolCall, CALL_IDS, NAMES, ARGUMENTS), max_size=3).map(tuple),
    MAKERS,
    st.none() | st.just("fake"),
)
OUTPUTS = st.builds(ToolOutput, ITEM_IDS, CALL_IDS, NAMES, PARTS, st.booleans())
MEETING: st.SearchStrategy[Item] = st.one_of(
    ANSWERS,
    OUTPUTS,
    st.builds(UserMessage, ITEM_IDS, PARTS),
    st.builds(Summary, ITEM_IDS, TEXTS),
    st.builds(Notice, ITEM_IDS, TEXTS),
    st.just(Snapshot("i4", "/w", "abc")),
    st.just(Unknown({"type": "dream", "id": "i5"})),
)
CHANGES = st.builds(
    ViewChanged,
    st.sampled_from(["v1", "v2", "v3"]),
    st.sampled_from(["prune", "compact", "clear", "undo", "shorten"]),
    through_turn=st.none() | TURN_IDS,
    dropped_items=st.lists(ITEM_IDS, max_size=2).map(tuple),
    restored=st.none() | st.sampled_from(["v1", "v2"]),
    # Of any item, whatever it is in this log, and of any call.
    shortened=st.lists(OUTPUTS, max_size=2).map(tuple),
)
STATUSES = st.sampled_from(["complete", "complete", "interrupted", "superseded"])
ADDED = st.builds(ItemAdded, TURN_IDS, MEETING, st.integers(1, 3), STATUSES)
OTHERS = st.one_of(
    CHANGES,
    st.builds(ItemPinned, ITEM_IDS),
    st.builds(CompletionFinished, TURN_IDS, st.integers(1, 3)),
    st.builds(ItemAdded, st.none() | st.just("nobody's"), MEETING),
)


@st.composite
def logs(draw: st.DrawFn, *, changes: bool = True) -> list[Body]:
    """Turns with items in any order, in each other's way, and anything between."""
    bodies: list[Body] = []
    for turn_id in draw(st.lists(TURN_IDS, max_size=3, unique=True)):
        said = UserMessage(f"{turn_id}.0", (Text(f"said in {turn_id};"),))
        bodies.append(PromptAccepted(turn_id, f"key-{turn_id}", (said,)))
        if draw(st.integers(0, 5)):
            bodies.append(TurnStarted(turn_id, 1))
        bodies += draw(st.lists(ADDED, max_size=6))
        if draw(st.integers(0, 5)):
            bodies.append(TurnFinished(turn_id, "interrupted", DONE))
    for extra in draw(st.lists(OTHERS if changes else ADDED, max_size=3)):
        bodies.insert(draw(st.integers(0, len(bodies))), extra)
    return bodies


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In a world of its own, whose clock waits for nobody."""
    trio.run(main, clock=MockClock(autojump_threshold=0))


async def ask_everybody(
    wires: Wires, store: FakeStore, dialects: Sequence[str], conversation_id: str = ID
) -> list[tuple[str, bytes]]:
    """Send a prompt with each provider; none may refuse it. The last bytes of each."""
    sent = []
    async with open_wired(wires, store) as room:
        for dialect in dialects:
            line = next(each for each in wires.lines.values() if each.dialect == dialect)
            before = len(line.bodies)
            accepted = await room.ask(
                f"now {dialect};",
                target=Target("id", conversation_id),
                options=TurnOptions(model=line.model),
            )
            end = await room.finish(accepted)
            assert (end.outcome, end.code) == ("completed", DONE), end
            assert len(line.bodies) > before
            sent.append((dialect, line.bodies[-1]))
    return sent


def check_bodies(wires: Wires) -> None:
    """Whatever has arrived anywhere is as it must be."""
    assert wires.find_violations() == []
    for line in wires.lines.values():
        for body in line.bodies:
            seen = read_request(line.dialect, body)
            breaks = [*find_breaks(seen), *find_bad_text(body)]
            if line.dialect == "openai-responses":
                # Two answers, the later with reasoning ahead of it, are two messages there.
                breaks = [each for each in breaks if "neighbours that are both assist" not in each]
            assert breaks == [], (line.dialect, body)
            assert b"SEALED-canary" not in body


@QUICKLY
@given(logs(), st.permutations(DIALECTS))
def test_any_log_is_resumed_with_any_provider(bodies: list[Body], order: list[str]) -> None:
    async def main() -> None:
        store = await store_with(bodies, [b"text"])
        before = await store.load(ID)
        with lay_wires() as wires:
            await ask_everybody(wires, store, order)
            check_bodies(wires)
        assert (await store.load(ID))[: len(before)] == before

    run(main)


@QUICKLY
@given(logs(changes=False), st.sampled_from(DIALECTS))
def test_no_message_of_the_user_is_lost_or_doubled(bodies: list[Body], dialect: str) -> None:
    async def main() -> None:
        store = await store_with(bodies, [b"text"])
        with lay_wires() as wires:
            ((_, body),) = await ask_everybody(wires, store, [dialect])
            check_bodies(wires)
        started = {each.turn_id for each in bodies if isinstance(each, TurnStarted)}
        # A turn that had not started runs first, and is seen from then on.
        accepted = [each.turn_id for each in bodies if isinstance(each, PromptAccepted)]
        assert started <= set(accepted)
        for turn_id in accepted:
            withdrawn = turn_id not in started and any(
                isinstance(each, TurnFinished) and each.turn_id == turn_id for each in bodies
            )
            expected = 0 if withdrawn else 1
            assert body.count(f"said in {turn_id};".encode()) == expected
        assert body.count(f"now {dialect};".encode()) == 1

    run(main)


@QUICKLY
@given(st.lists(MEETING | ITEMS, max_size=12))
def test_healing_twice_is_healing_once(items: list[Item]) -> None:
    healed, faults = heal(items)
    assert heal(healed) == (healed, [])
    assert (healed == tuple(items)) == (faults == [])


LINES = st.one_of(
    st.builds(rollouts.user, st.sampled_from(["hi", "", "and you?"])),
    st.builds(rollouts.assistant, st.sampled_from(["yo", " "])),
    st.builds(rollouts.call, CALL_IDS, NAMES),
    st.builds(rollouts.output, CALL_IDS, st.sampled_from(["done", "", None, [{"x": 1}]])),
    st.just(rollouts.line("response_item", SEALED["openai-responses"])),
    st.just(rollouts.line("compacted", {"message": "so far"})),
    st.just(rollouts.line("event_msg", {"type": "turn_aborted"})),
    st.just(rollouts.line("session_meta", {"id": "x", "model_provider": "my-openai-responses"})),
    st.just(rollouts.line("turn_context", {"model": "fake", "cwd": "/w"})),
)


@QUICKLY
@given(st.lists(LINES, max_size=12), st.permutations(DIALECTS))
def test_any_rollout_is_imported_and_resumed(lines: list[Any], order: list[str]) -> None:
    async def main() -> None:
        content = rollouts.pack(rollouts.user("hi"), *lines)
        bodies = [body for _, body in rollouts.plan(content).timed[1:]]
        store = await store_with(bodies)
        with lay_wires() as wires:
            await ask_everybody(wires, store, order)
            check_bodies(wires)

    run(main)
