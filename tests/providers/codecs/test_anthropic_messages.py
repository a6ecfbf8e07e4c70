"""What Anthropic is sent of a conversation: whatever it holds, the vendor would take it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from askd.core.pairs import heal
from askd.providers.base import OPENING
from askd.providers.codecs.anthropic_messages import THINKING, encode_messages, lacks_thinking
from tests.core.values import ITEMS
from tests.fakes.vendor_anthropic import Anthropic

RAW: Mapping[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
THOUGHT = Reasoning("Hm.", RAW)

IDS = st.sampled_from(["a", "b", "call_1", "call_1#2", "", "x" * 80, "é", "toolu_01"])
TEXTS = st.sampled_from(["Hi", " ", "", "\n\n", "Hello. \n", "é"])
PARTS = st.lists(
    st.builds(Text, TEXTS, st.sampled_from([None, "stdin", "a.py"]))
    | st.builds(Blob, st.sampled_from(["aa", "bb"]), st.just(3),
                st.sampled_from(["image/png", "image/tiff"])),
    max_size=3,
).map(tuple)  # fmt: skip
RAWS = st.sampled_from([None, RAW, {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                        {**RAW, "place": [1, 0]}, {**RAW, "place": [2, 1]},
                        {**RAW, "place": "nonsense"}, {**RAW, "place": [-1, -1]},
                        {"type": "reasoning", "id": "rs_1"},
                        {"type": 7}, {}])  # fmt: skip
CONVERSATIONS = st.lists(
    st.builds(UserMessage, st.just("u"), PARTS)
    | st.builds(
        AssistantMessage,
        st.just("a"),
        PARTS,
        st.lists(st.builds(Reasoning, TEXTS, RAWS), max_size=3).map(tuple),
        st.lists(
            st.builds(
                ToolCall,
                IDS,
                st.sampled_from(["f", "", "a.b/c", "n" * 200]),
                st.sampled_from(["{}", '{"x": 1}', "", "{", "[1]", '{"a": NaN}']),
            ),
            max_size=3,
        ).map(tuple),
        st.sampled_from([None, "work", "other"]),
        st.sampled_from([None, "work/m", "m", "work/other"]),
    )
    | st.builds(ToolOutput, st.just("o"), IDS, st.just("f"), PARTS, st.booleans())
    | st.builds(Summary, st.just("s"), TEXTS)
    | ITEMS,
    max_size=12,
)


def encode(
    *items: Item, model: str = "m", images: Mapping[str, bytes] | None = None, **more: Any
) -> list[dict[str, Any]]:
    """The messages of these items."""
    return encode_messages(items, provider="work", model=model, images=images or {}, **more)


def user(text: str, *parts: Part) -> UserMessage:
    """A user's message."""
    return UserMessage("u", (Text(text), *parts))


def assistant(
    text: str,
    *calls: ToolCall,
    thoughts: Sequence[Reasoning] = (),
    provider: str | None = "work",
    model: str | None = "work/m",
) -> AssistantMessage:
    """An assistant's message."""
    parts = (Text(text),) if text else ()
    return AssistantMessage("a", parts, tuple(thoughts), calls, provider, model)


def output(call_id: str, text: str = "ok", *, is_error: bool = False) -> ToolOutput:
    """A tool's output."""
    return ToolOutput("o", call_id, "f", (Text(text),), is_error)


def call(call_id: str, arguments: str = "{}") -> ToolCall:
    """A call of `f`."""
    return ToolCall(call_id, "f", arguments)


def said(text: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": text}


# ---- the law ----------------------------------------------------------------------------


@given(CONVERSATIONS, st.sampled_from([None, "Be brief."]))
def test_any_healed_conversation_is_one_that_anthropic_takes(
    items: list[Item], system: str | None
) -> None:
    healed, _ = heal(items)
    messages = encode(*healed, images={"aa": b"PNG"}, system=system)
    assert Anthropic().find_violation({"max_tokens": 1, "messages": messages}) is None
    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    ids: list[str] = []
    for before, message in zip([None, *messages], messages, strict=False):
        kinds = [block["type"] for block in message["content"]]
        results = kinds.count("tool_result")
        assert kinds[:results] == ["tool_result"] * results  # first in their message
        asked = [b["id"] for b in (before or {"content": []})["content"] if b["type"] == "tool_use"]
        answered = [b["tool_use_id"] for b in message["content"][:results]]
        assert sorted(answered) == sorted(asked)
        assert kinds[-1] not in THINKING
        ids += [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in ids)


@given(CONVERSATIONS)
def test_same_items_become_the_same_messages(items: list[Item]) -> None:
    healed, _ = heal(items)
    assert encode(*healed) == encode(*healed)


# ---- messages -------------------------------------------------------------------------------


def test_exchange_is_paired_by_adjacency() -> None:
    messages = encode(
        user("Go"),
        assistant("Looking. ", call("c1", '{"x": 1}'), call("c2", "")),
        output("c1", "one"),
        output("c2", "two", is_error=True),
        user("And?"),
    )
    assert messages == [
        {"role": "user", "content": [said("Go")]},
        {
            "role": "assistant",
            "content": [
                said("Looking. "),
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "c2", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [said("one")]},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [said("two")],
                    "is_error": True,
                },
                said("And?"),
            ],
        },
    ]


def test_neighbours_of_one_role_are_one_message() -> None:
    messages = encode(user("One."), Summary("s", "Before."), assistant("A."), assistant("B."))
    assert messages == [
        {"role": "user", "content": [said("One."), said("Before.")]},
        {"role": "assistant", "content": [said("A."), said("B.")]},
    ]


def test_view_that_begins_with_an_answer_is_opened() -> None:
    opened = {"role": "user", "content": [said(OPENING)]}
    assert encode(assistant("A."))[0] == opened
    assert encode() == [opened]


def test_system_prompt_can_be_the_users_first_words() -> None:
    assert encode(user("Hi"), system="Be brief.") == [
        {"role": "user", "content": [said("Be brief."), said("Hi")]}
    ]
    assert encode(assistant("A."), system="Be brief.")[0]["content"] == [said("Be brief.")]


def test_answer_that_is_gone_on_with_ends_without_white_space() -> None:
    assert encode(user("Go"), assistant("So \n"))[-1]["content"] == [said("So")]
    assert encode(user("Go"), assistant("So \n"), user("On"))[1]["content"] == [said("So \n")]


def test_white_space_alone_is_not_sent() -> None:
    messages = encode(user(" "), user("Hi"), assistant("\n"), assistant("\n", call("c")),
                      output("c", "\n"))  # fmt: skip
    assert messages == [
        {"role": "user", "content": [said("Hi")]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
    ]


def test_what_is_not_for_models_is_left_out() -> None:
    hidden: list[Item] = [Notice("n", "/help"), Snapshot("s", "/w", "c"), Unknown({"id": "x"})]
    assert encode(*hidden, user("Hi")) == encode(user("Hi"))


def test_output_without_its_call_is_not_repaired_here() -> None:
    """What `heal` should have left out is refused by the server, and so is seen."""
    (message,) = encode(user("Hi"), output("c"))
    assert [block["type"] for block in message["content"]] == ["text", "tool_result"]


def test_images_stand_ahead_of_the_words() -> None:
    picture = Blob("aa", 3, "image/png", "cat.png")
    source = {"type": "base64", "media_type": "image/png", "data": "UE5H"}
    image = {"type": "image", "source": source}
    images = {"aa": b"PNG"}
    assert encode(user("What?", picture), images=images)[0]["content"] == [image, said("What?")]
    shown = ToolOutput("o", "c", "f", (picture,))
    result = encode(user("Go"), assistant("", call("c")), shown, images=images)[-1]["content"][0]
    assert result["content"] == [image]
    (words,) = encode(user("What?", picture))[0]["content"]
    assert "not shown" in words["text"]


# ---- calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize("call_id", ["call_1#2", "é", "x" * 65, "a b"])
def test_foreign_ids_are_mapped_on_both_sides(call_id: str) -> None:
    messages = encode(user("Go"), assistant("", call(call_id)), output(call_id))
    wire_id = messages[1]["content"][0]["id"]
    assert re.fullmatch(r"call_[0-9a-f]{24}", wire_id)
    assert messages[2]["content"][0]["tool_use_id"] == wire_id


def test_id_that_comes_again_in_a_later_message_is_another_call() -> None:
    exchange: list[Item] = [assistant("", call("call_1")), output("call_1")]
    messages = encode(user("Go"), *exchange, *exchange)
    asked = [messages[place]["content"][0]["id"] for place in (1, 3)]
    answered = [messages[place]["content"][0]["tool_use_id"] for place in (2, 4)]
    assert asked == answered
    assert asked[0] == "call_1" != asked[1]


def test_broken_arguments_are_shown_as_they_were_written() -> None:
    messages = encode(user("Go"), assistant("", call("c", '{"x": ')), output("c"))
    assert messages[1]["content"][0]["input"] == {"_raw": '{"x": '}


@pytest.mark.parametrize(("name", "sent"), [("a.b/c", "a_b_c"), ("", "unknown"), ("read", "read")])
def test_names_are_made_fit(name: str, sent: str) -> None:
    messages = encode(user("Go"), assistant("", ToolCall("c", name, "{}")), output("c"))
    assert messages[1]["content"][0]["name"] == sent


# ---- thinking -----------------------------------------------------------------------------------


def kinds(message: Mapping[str, Any]) -> list[str]:
    """The types of a message's blocks."""
    return [block["type"] for block in message["content"]]


def test_thinking_goes_back_unchanged_and_first() -> None:
    redacted = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
    thinks = assistant("Hm.", call("c"), thoughts=[THOUGHT, Reasoning("", redacted)])
    messages = encode(user("Go"), thinks, output("c"))
    assert messages[1]["content"][:2] == [dict(RAW), redacted]
    assert not lacks_thinking(messages)


@pytest.mark.parametrize(
    ("provider", "model"), [("other", "work/m"), (None, None), ("work", "work/older")]
)
def test_thinking_of_another_provider_or_model_stays_here(
    provider: str | None, model: str | None
) -> None:
    thinks = assistant("", call("c"), thoughts=[THOUGHT], provider=provider, model=model)
    messages = encode(user("Go"), thinks, output("c"))
    assert kinds(messages[1]) == ["tool_use"]
    assert lacks_thinking(messages)


def test_reasoning_of_another_dialect_stays_here() -> None:
    foreign = [Reasoning("x", {"type": "reasoning", "id": "rs_1"}), Reasoning("y")]
    messages = encode(user("Go"), assistant("", call("c"), thoughts=foreign), output("c"))
    assert kinds(messages[1]) == ["tool_use"]


def test_thinking_of_earlier_turns_is_left_out() -> None:
    exchange: list[Item] = [assistant("", call("c"), thoughts=[THOUGHT]), output("c")]
    turn: list[Item] = [user("Go"), *exchange, assistant("Done.", thoughts=[THOUGHT])]
    messages = encode(*turn, *turn[:3])
    assert [kinds(message)[0] for message in messages] == [
        "text", "tool_use", "tool_result", "text",
        "text", "thinking", "tool_result",
    ]  # fmt: skip


def test_words_beside_results_do_not_end_an_exchange() -> None:
    exchange: list[Item] = [assistant("", call("c"), thoughts=[THOUGHT]), output("c")]
    messages = encode(user("Go"), *exchange, user("Faster!"), *exchange)
    assert [kinds(message)[0] for message in messages[1::2]] == ["thinking", "thinking"]


def test_thinking_between_words_and_calls_stands_where_it_stood() -> None:
    later = [
        Reasoning("", {**RAW, "place": [5, 0]}),
        Reasoning("", {**RAW, "place": [9, 1]}),
        Reasoning("", {**RAW, "place": [99, 9]}),
    ]
    thinks = assistant("One. Two.", call("c"), call("d"), thoughts=[THOUGHT, *later])
    content = encode(user("Go"), thinks, output("c"), output("d"))[1]["content"]
    assert [block["type"] for block in content] == [
        "thinking", "text", "thinking", "text", "tool_use", "thinking", "tool_use",
    ]  # fmt: skip
    assert [block["text"] for block in content if block["type"] == "text"] == ["One. ", "Two."]
    assert all(set(block) == set(RAW) for block in content if block["type"] == "thinking")


def test_thinking_behind_an_answers_words_is_left_out() -> None:
    messages = encode(
        user("Go"), assistant("A."), assistant("B.", call("c"), thoughts=[THOUGHT]), output("c")
    )
    assert kinds(messages[1]) == ["text", "text", "tool_use"]


def test_only_calls_can_lack_thinking() -> None:
    assert not lacks_thinking(encode(user("Go")))
    assert not lacks_thinking(encode(user("Go"), assistant("A."), user("On")))
