"""What Anthropic and its imitators send back, as events."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall
from askd.core.outcome import OVERFLOW, Stop, Usage
from askd.errors import BadAnswer
from askd.providers.assemble import Assembler
from askd.providers.base import (
    CallDelta,
    Ended,
    Failed,
    ReasoningDelta,
    ReasoningSealed,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.codecs.anthropic_decoder import MessagesDecoder
from tests.core.values import JSON

STREAMS = Path(__file__).parents[2] / "data/streams"
WRITTEN = sorted((STREAMS / "anthropic").glob("*.sse"))
RECORDED = sorted((STREAMS / "llama-cpp/anthropic").glob("*.sse"))

TYPES = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop",
     "message_delta", "message_stop", "ping", "error", "from_tomorrow"]
)  # fmt: skip
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool"])},
    optional=dict.fromkeys(("text", "thinking", "signature", "data", "id", "name", "input"), JSON),
)
DELTAS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text_delta", "thinking_delta", "signature_delta",
                              "input_json_delta", "citations_delta"])},
    optional=dict.fromkeys(("text", "thinking", "signature", "partial_json", "stop_reason"), JSON),
)  # fmt: skip
EVENTS = st.fixed_dictionaries(
    {"type": TYPES},
    optional={
        "index": JSON | st.integers(0, 3),
        "content_block": JSON | BLOCKS,
        "delta": JSON | DELTAS,
        "message": JSON,
        "usage": JSON | st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), JSON),
        "error": JSON,
    },
)


def event(kind: str, **fields: Any) -> bytes:
    """One event as bytes."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def begin(index: int, **block: Any) -> bytes:
    """The start of a block."""
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, **piece: Any) -> bytes:
    """More of a block."""
    return event("content_block_delta", index=index, delta=piece)


def stop(reason: str) -> bytes:
    """Why the model stopped."""
    return event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 1})


def decode(*data: bytes) -> list[StreamEvent]:
    """What one decoder makes of these bytes."""
    decoder = MessagesDecoder("work")
    return [each for piece in data for each in decoder.feed(piece)]


def assemble(data: bytes) -> Assembler:
    """The answer that these bytes are."""
    assembler = Assembler("i", "work", "work/m")
    for each in decode(data):
        assembler.feed(each)
    return assembler


def load(name: str) -> bytes:
    """A stream from the vendor's public types."""
    return (STREAMS / f"anthropic/{name}.sse").read_bytes()


# ---- whole streams -----------------------------------------------------------------


def test_text_and_usage() -> None:
    answer = assemble(load("text"))
    assert answer.ended
    assert answer.message().parts == (Text("Hello\u2028wörld 😀!"),)
    assert answer.stop == "end"
    assert answer.usage == Usage(input_tokens=2125, output_tokens=15, cached_tokens=2000)


def test_thinking_and_parallel_calls() -> None:
    answer = assemble(load("thinking-and-calls"))
    thought, signature = "Let me look at both places.", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"
    assert answer.message() == AssistantMessage(
        id="i",
        parts=(Text("Looking at them."),),
        reasoning=(
            Reasoning(thought, {"type": "thinking", "thinking": thought, "signature": signature}),
            Reasoning("", {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"}),
        ),
        calls=(
            ToolCall("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"city": "San Francisco"}'),
            ToolCall("toolu_01A09q90qw90lq917835lq9", "get_time", "{}"),
            ToolCall(
                "toolu_01Zz9q90qw90lq917835lqA", "get_weather", '{"city": "Zürich", "days": 3}'
            ),
        ),
        provider="work",
        model="work/m",
    )
    assert answer.stop == "calls"
    assert answer.usage == Usage(input_tokens=472, output_tokens=89, reasoning_tokens=40)


def test_thinking_between_words_keeps_its_place() -> None:
    raws = [each.raw or {} for each in assemble(load("interleaved")).message().reasoning]
    assert [each.get("place") for each in raws] == [None, [5, 0], [9, 0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("length", "length"), ("stop-sequence", "end"), ("pause", "pause"), ("refusal", "refusal")],
)
def test_stop_reasons(name: str, expected: Stop) -> None:
    answer = assemble(load(name))
    assert (answer.stop, answer.ended, answer.failure) == (expected, True, None)


def test_unknown_stop_reason_is_said_to_be_unknown() -> None:
    assert Stopped("unknown") in decode(stop("from_tomorrow"))


def test_full_window_fails_with_the_text_so_far() -> None:
    answer = assemble(load("window-exceeded"))
    assert answer.text == "The answer is"
    assert answer.usage is not None
    assert answer.usage.output_tokens == 10
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.reason) == (OVERFLOW, "overflow")
    assert not answer.ended


def test_error_inside_a_stream_fails_with_the_text_so_far() -> None:
    answer = assemble(load("overloaded"))
    assert answer.text == "Hel"
    assert answer.failure is not None
    assert "Overloaded" in answer.failure.message
    assert not answer.ended


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_streams_of_llama_cpp_end(path: Path) -> None:
    answer = assemble(path.read_bytes())
    expected: dict[str, Stop] = {"length": "length", "tool": "calls"}
    assert answer.ended
    assert answer.failure is None
    assert answer.stop == expected.get(path.stem, "end")
    assert answer.usage is not None
    assert answer.usage.input_tokens > answer.usage.cached_tokens > 0
    assert answer.usage.output_tokens > 0
    assert answer.text


def test_recorded_call_of_llama_cpp_is_whole() -> None:
    (call,) = assemble((STREAMS / "llama-cpp/anthropic/tool.sse").read_bytes()).message().calls
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Rome"})


# ---- laws -----------------------------------------------------------------------------


@given(st.sampled_from(WRITTEN + RECORDED), st.data())
def test_any_cut_gives_the_same_events(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=8).map(sorted))
    chunks = [whole[start:end] for start, end in pairwise([0, *places, len(whole)])]
    assert decode(*chunks) == decode(whole)


@pytest.mark.parametrize("path", WRITTEN + RECORDED, ids=lambda path: path.stem)
def test_a_stream_that_was_cut_never_ends(path: Path) -> None:
    whole = path.read_bytes()
    decoder = MessagesDecoder("work")
    begun = [each for place in range(len(whole) - 1) for each in decoder.feed(whole[place:][:1])]
    assert not any(isinstance(each, Ended) for each in begun)


@given(st.lists(JSON | EVENTS, max_size=12))
def test_no_json_raises(chunks: list[Any]) -> None:
    events = decode(*(f"data: {json.dumps(each)}\n\n".encode() for each in chunks))
    assert sum(isinstance(each, Ended | Failed) for each in events) <= 1
    assembler = Assembler("i")
    for each in events:
        assembler.feed(each)
    assembler.message()


@given(st.lists(EVENTS, max_size=5))
def test_what_comes_after_the_end_is_passed_over(chunks: list[Any]) -> None:
    late = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in chunks)
    whole = load("text")
    assert decode(whole + late + b"data: [DONE]\n\n") == decode(whole)


def test_caps_name_the_provider() -> None:
    with pytest.raises(BadAnswer, match=r"^work: a line of the answer"):
        decode(b"data: " + b"x" * (2 << 20))


# ---- habits ---------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"data: [1]\n\n", b"data: {\n\n", b"data: [DONE]\n\n"])
def test_what_is_no_event_fails(data: bytes) -> None:
    (failed,) = decode(data)
    assert isinstance(failed, Failed)
    assert failed.failure.reason == "bad_answer"


@pytest.mark.parametrize(
    "data",
    [
        event("ping"),
        event("from_tomorrow", index=0),
        begin(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, type="citations_delta", citation={}),
        event("content_block_stop", index=9),
        event("message_delta", delta={"stop_reason": None}),
        event("message_delta"),
        event("message_start"),
    ],
)
def test_what_says_nothing_is_passed_over(data: bytes) -> None:
    assert decode(data) == []


def test_error_without_words_fails_all_the_same() -> None:
    for broken in (event("error"), b'data: {"error": "out of memory"}\n\n'):
        (failed,) = decode(broken)
        assert isinstance(failed, Failed)


def test_input_of_a_tool_that_the_server_runs_is_no_call() -> None:
    piece = delta(0, type="input_json_delta", partial_json='{"q":1}')
    assert decode(begin(0, type="server_tool_use", id="s", name="web_search"), piece) == []


def test_call_whose_arguments_come_at_once() -> None:
    data = begin(0, type="tool_use", id="a", name="f", input={"x": "é"})
    assert decode(data, event("content_block_stop", index=0)) == [
        CallDelta(0, "a", "f"),
        CallDelta(0, arguments='{"x":"é"}'),
    ]


def test_blocks_that_never_begin_or_stop_are_whole_at_the_end() -> None:
    data = (
        delta(0, type="thinking_delta", thinking="Hm.")
        + delta(0, type="signature_delta", signature="c2")
        + delta(1, type="text_delta", text="Hi")
        + delta(2, type="input_json_delta", partial_json="{}")
        + begin(3, type="tool_use", id="b", name="g")
        + stop("tool_use")
    )
    assert decode(data) == [
        ReasoningDelta("Hm."),
        TextDelta("Hi"),
        CallDelta(0),
        CallDelta(0, arguments="{}"),
        CallDelta(1, "b", "g"),
        UsageReported(Usage(output_tokens=1)),
        ReasoningSealed({"type": "thinking", "thinking": "Hm.", "signature": "c2"}),
        CallDelta(1, arguments="{}"),
        Stopped("calls"),
    ]


def test_blocks_that_overlap_are_kept_apart() -> None:
    data = (
        begin(0, type="tool_use", id="a", name="f")
        + begin(1, type="tool_use", id="b", name="g")
        + delta(0, type="input_json_delta", partial_json='{"x":')
        + delta(1, type="input_json_delta", partial_json='{"y":')
        + delta(0, type="input_json_delta", partial_json="1}")
        + delta(1, type="input_json_delta", partial_json="2}")
        + stop("tool_use")
        + event("message_stop")
    )
    calls = assemble(data).message().calls
    assert calls == (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", '{"y":2}'))


def test_index_that_comes_again_is_a_new_block() -> None:
    data = b"".join(begin(0, type="tool_use", id=name, name="f") for name in ("a", "b")) + stop(
        "tool_use"
    )
    assert [call.call_id for call in assemble(data).message().calls] == ["a", "b"]


def test_delta_without_an_index_belongs_to_the_last_block() -> None:
    nameless = event("content_block_delta", delta={"type": "input_json_delta", "partial_json": "{"})
    data = begin(4, type="tool_use", id="a", name="f")
    assert decode(data, nameless)[-1] == CallDelta(0, arguments="{")


def test_text_and_thinking_at_a_blocks_beginning_count() -> None:
    data = begin(0, type="thinking", thinking="Hm.") + begin(1, type="text", text="Hi")
    assert decode(data) == [ReasoningDelta("Hm."), TextDelta("Hi")]


def test_thinking_without_a_signature_is_not_wanted_back() -> None:
    data = begin(0, type="thinking", thinking="Hm.", signature="")
    assert decode(data, event("content_block_stop", index=0)) == [
        ReasoningDelta("Hm."),
        ReasoningSealed(None),
    ]


def test_thinking_that_is_not_shown_is_kept() -> None:
    data = begin(0, type="thinking", thinking="") + delta(0, type="signature_delta", signature="c2")
    sealed = ReasoningSealed({"type": "thinking", "thinking": "", "signature": "c2"})
    assert decode(data, event("content_block_stop", index=0)) == [sealed]


def test_counts_of_both_ends_are_merged() -> None:
    first = event("message_start", message={"usage": {
        "input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100,
        "output_tokens": 1}})  # fmt: skip
    last = event("message_delta", delta={}, usage={"output_tokens": 9, "input_tokens": None})
    again = event("message_delta", delta={}, usage={"output_tokens": 12, "input_tokens": 6})
    usages = [each.usage for each in decode(first, last, again) if isinstance(each, UsageReported)]
    assert usages == [
        Usage(input_tokens=125, output_tokens=1, cached_tokens=100),
        Usage(input_tokens=125, output_tokens=9, cached_tokens=100),
        Usage(input_tokens=126, output_tokens=12, cached_tokens=100),
    ]
