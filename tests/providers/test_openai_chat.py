"""The dialect "openai-chat": what is sent, and what all kinds of servers send back."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.outcome import Usage
from askd.errors import BadAnswer, Overflowed
from askd.providers.assemble import Assembler
from askd.providers.base import (
    CallDelta,
    Ended,
    Endpoint,
    Failed,
    ModelRequest,
    ReasoningDelta,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.openai_chat import OpenAIChat, codec_for, encode_messages
from tests.fakes import chat_answers
from tests.fakes.chat_answers import call, chunk, event, say, usage

CODEC = OpenAIChat("work")


def user(text: str) -> UserMessage:
    """A user's message."""
    return UserMessage("u", (Text(text),))


def assistant(text: str, *calls: ToolCall) -> AssistantMessage:
    """An assistant's message."""
    return AssistantMessage("a", (Text(text),) if text else (), calls=calls)


def output(call_id: str, text: str = "ok") -> ToolOutput:
    """A tool's output."""
    return ToolOutput("o", call_id, "f", (Text(text),))


def body_of(request: ModelRequest, codec: OpenAIChat = CODEC) -> Any:
    """The JSON that a request becomes."""
    return json.loads(codec.encode(request).body)


def decode(*data: bytes) -> list[StreamEvent]:
    """What one decoder makes of these bytes."""
    decoder = CODEC.decoder(ModelRequest(model="m", items=()))
    return [event for piece in data for event in decoder.feed(piece)]


def steps(answer: Sequence[object]) -> bytes:
    """The bytes of an answer of the scripted server."""
    return b"".join(step for step in answer if isinstance(step, bytes))


# ---- what is sent ---------------------------------------------------------------


def test_request_has_what_streaming_needs_and_no_more() -> None:
    call_sent = CODEC.encode(ModelRequest(model="m", items=[user("Hi")]))
    assert (call_sent.method, call_sent.path) == ("POST", "/chat/completions")
    assert json.loads(call_sent.body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_every_option_that_was_said_is_sent() -> None:
    tool = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
    request = ModelRequest(
        model="m", items=[user("Hi")], system="Be brief.", tools=[tool], temperature=0.0,
        max_output_tokens=7,
    )  # fmt: skip
    sent = body_of(request)
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["tools"] == [{"type": "function", "function": tool}]
    assert (sent["temperature"], sent["max_tokens"]) == (0.0, 7)
    renamed = body_of(request, OpenAIChat("openai", limit_field="max_completion_tokens"))
    assert renamed["max_completion_tokens"] == 7
    assert "max_tokens" not in renamed


def test_openai_itself_has_renamed_the_cap() -> None:
    request = ModelRequest(model="m", items=[user("Hi")], max_output_tokens=7)
    official = Endpoint(provider="openai", base_url="https://api.openai.com/v1")
    other = Endpoint(provider="openai", base_url="http://127.0.0.1:8000/v1")
    assert body_of(request, codec_for(official))["max_completion_tokens"] == 7
    assert body_of(request, codec_for(other))["max_tokens"] == 7


def test_exchange_is_paired_as_the_dialect_demands() -> None:
    calls = (ToolCall("c1", "f", '{"x":1}'), ToolCall("c2", "g", ""))
    items: list[Item] = [
        user("Go"),
        assistant("Looking.", *calls),
        output("c1", "one"),
        output("c2", "two"),
    ]
    messages = encode_messages(items, system=None)
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    ]
    assert chat_answers.find_violation({"messages": messages}) is None


def test_calls_alone_have_no_content() -> None:
    items: list[Item] = [user("Go"), assistant("", ToolCall("c1", "f", "{}")), output("c1")]
    assert encode_messages(items, system=None)[1]["content"] is None


def test_neighbours_of_one_role_are_merged() -> None:
    items: list[Item] = [
        user("One."),
        user("Two."),
        assistant("A."),
        assistant("B."),
        user("Three."),
    ]
    assert [(m["role"], m["content"]) for m in encode_messages(items, system="S")] == [
        ("system", "S"), ("user", "One.\n\nTwo."), ("assistant", "A.\n\nB."), ("user", "Three."),
    ]  # fmt: skip


def test_merging_never_parts_calls_from_their_outputs() -> None:
    asked = assistant("Looking.", ToolCall("c1", "f", "{}"))
    items: list[Item] = [
        user("Go"),
        assistant("Well."),
        asked,
        output("c1"),
        assistant("Done."),
        user("Ok"),
    ]
    messages = encode_messages(items, system=None)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[1]["content"] == "Well.\n\nLooking."
    assert chat_answers.find_violation({"messages": messages}) is None


def test_what_is_not_for_models_is_not_sent() -> None:
    items: list[Item] = [
        Notice("n", "/help"), Snapshot("s", "/w", "c0ffee"), Unknown({"type": "new"}),
        AssistantMessage("a", reasoning=(Reasoning("Hmm."),)), user("Hi"),
    ]  # fmt: skip
    assert encode_messages(items, system=None) == [{"role": "user", "content": "Hi"}]


def test_summary_is_sent_as_the_users_words() -> None:
    assert encode_messages([Summary("s", "Before."), user("Now.")], system=None) == [
        {"role": "user", "content": "Before.\n\nNow."}
    ]


def test_attachments_come_with_where_they_are_from() -> None:
    sent = encode_messages([UserMessage("u", (Text("Why?"), Text("boom\n", "stdin")))], system=None)
    assert "boom" in sent[0]["content"]
    assert "stdin" in sent[0]["content"]


def test_half_characters_do_not_stop_a_request() -> None:
    assert body_of(ModelRequest(model="m", items=[user("a\ud800b")]))["messages"][0] == {
        "role": "user",
        "content": "a?b",
    }


# ---- what comes back ------------------------------------------------------------


def test_ordinary_answer() -> None:
    assert decode(steps(say("He", "llo"))) == [
        TextDelta("He"), TextDelta("llo"), Stopped("end"), UsageReported(Usage(10, 20)), Ended(),
    ]  # fmt: skip


@given(st.integers(0, 10_000))
def test_any_cut_gives_the_same_events(place: int) -> None:
    answer = [
        chunk({"reasoning_content": "Hm."}), *say("é\u2028x", "\x85y"),
        *call("c1", "f", '{"a": "ü"}'),
    ]  # fmt: skip
    data = steps(answer)
    place %= len(data) + 1
    assert decode(data[:place], data[place:]) == decode(data)


def test_prefix_of_an_answer_has_no_end_and_a_prefix_of_its_text() -> None:
    data = steps(say("One ", "two ", "three."))
    for place in range(len(data)):
        events = decode(data[:place])
        text = "".join(each.text for each in events if isinstance(each, TextDelta))
        assert "One two three.".startswith(text)
        # The very last byte is the empty line that ends the event `[DONE]`.
        assert not any(isinstance(each, Ended) for each in events)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_have_two_names(name: str) -> None:
    assert decode(chunk({name: "Hm."})) == [ReasoningDelta("Hm.")]


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end"), ("length", "length"), ("tool_calls", "calls"), ("function_call", "calls"),
     ("content_filter", "filtered"), ("eos", "unknown")],
)  # fmt: skip
def test_finish_reasons(finish: str, stop: str) -> None:
    assert decode(chunk({}, finish=finish)) == [Stopped(stop)]  # type: ignore[arg-type]


def test_refusal_is_text_and_a_stop_of_its_own() -> None:
    assert decode(chunk({"refusal": "I will not."}), chunk({}, finish="stop")) == [
        TextDelta("I will not."),
        Stopped("refusal"),
    ]


def test_content_as_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
    assert decode(chunk({"content": parts})) == [TextDelta("ab")]


def test_whole_message_in_place_of_a_delta() -> None:
    whole = {"choices": [{"message": {"content": "All."}, "finish_reason": "stop"}]}
    assert decode(event(whole)) == [TextDelta("All."), Stopped("end")]


def test_half_characters_become_the_replacement_character() -> None:
    data = b'data: {"choices":[{"delta":{"content":"a\\ud83d b \\ud83d\\ude00"}}]}\n\n'
    assert decode(data) == [TextDelta("a\ufffd b \U0001f600")]


def test_usage_in_detail_and_nonsense_in_it() -> None:
    counts = {
        "prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }  # fmt: skip
    assert decode(event({"choices": [], "usage": counts})) == [UsageReported(Usage(9, 5, 3, 2))]
    odd = {"prompt_tokens": None, "completion_tokens": -1, "prompt_tokens_details": None}
    assert decode(event({"usage": odd})) == [UsageReported(Usage())]
    assert decode(usage()) == [UsageReported(Usage(10, 20))]


def test_error_inside_the_stream_ends_it() -> None:
    broken = event(
        {"error": {"message": "maximum context limit", "code": "context_length_exceeded"}}
    )
    events = decode(chunk({"content": "Half"}) + broken + chunk({"content": " more"}))
    assert events[0] == TextDelta("Half")
    assert isinstance(events[1], Failed)
    assert events[1].failure.reason == Overflowed.reason
    assert len(events) == 2


@pytest.mark.parametrize("data", [b"{broken", b"[1]", b"null", b'"text"', b"[" * 100_000])
def test_event_that_is_no_object_is_a_bad_answer(data: bytes) -> None:
    events = decode(chunk({"content": "Half"}) + b"data: " + data + b"\n\n")
    assert events[0] == TextDelta("Half")
    assert isinstance(events[1], Failed)
    assert events[1].failure.reason == BadAnswer.reason


def test_nothing_counts_after_the_end() -> None:
    assert decode(b"data: [DONE]\n\n" + chunk({"content": "late"})) == [Ended()]


def test_cap_names_the_provider() -> None:
    with pytest.raises(BadAnswer, match=r"^work: a line"):
        decode(b"x" * (1 << 21))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "tool_calls", "function", "arguments", "index",
                 "id", "name", "usage", "finish_reason", "error", "message"]
            ),
            inner,
            max_size=4,
        ),
        max_leaves=20,
    )
)  # fmt: skip
def test_any_json_is_read_without_an_accident(value: Any) -> None:
    assembler = Assembler("i")
    for each in decode(event({"choices": [value, {"delta": value}], "usage": value})):
        assembler.feed(each)
    assembler.message()


# ---- calls: one way to send them, many ways to get them --------------------------


def calls_of(*pieces: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The calls (id, name, arguments) that these chunks' `tool_calls` make."""
    assembler = Assembler("i")
    data = b"".join(chunk({"tool_calls": piece}) for piece in pieces)
    for each in decode(data + chunk({}, finish="tool_calls")):
        assembler.feed(each)
    return [(each.call_id, each.name, each.arguments) for each in assembler.message().calls]


def test_calls_as_openai_streams_them() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"x"'}}],
        [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}],
        [{"index": 0, "function": {"arguments": ":1}"}}],
    ) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


def test_calls_without_an_index() -> None:
    assert calls_of(
        [{"id": "a", "function": {"name": "f", "arguments": "{"}}],
        [{"function": {"arguments": "}"}}],
        [{"id": "b", "function": {"name": "g", "arguments": "{}"}}],
        [{"id": "a", "function": {"arguments": " "}}],
    ) == [("a", "f", "{} "), ("b", "g", "{}")]


def test_whole_calls_in_one_chunk_with_objects_for_arguments() -> None:
    assert calls_of(
        [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
         {"id": "b", "function": {"name": "f", "arguments": "{}"}}],
    ) == [("a", "f", '{"x": 1}'), ("b", "f", "{}")]  # fmt: skip


def test_every_call_numbered_zero() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}],
        [{"index": 0, "id": "b", "function": {"name": "g", "arguments": "{"}}],
        [{"index": 0, "function": {"arguments": "}"}}],
    ) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_id_repeated_with_every_piece() -> None:
    assert calls_of(
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}],
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "}"}}],
    ) == [("a", "f", "{}")]


def test_calls_without_ids_are_apart() -> None:
    found = calls_of(
        [{"function": {"name": "f", "arguments": "{}"}}],
        [{"function": {"name": "g", "arguments": "{}"}}],
    )
    assert [name for _, name, _ in found] == ["f", "g"]
    assert found[0][0] != found[1][0]


def test_deltas_of_a_call_say_where_they_belong() -> None:
    assert decode(steps(call("c1", "f", "{}"))[: -len(b"data: [DONE]\n\n")])[:2] == [
        CallDelta(0, "c1", "f", "{"),
        CallDelta(0, None, None, "}"),
    ]
