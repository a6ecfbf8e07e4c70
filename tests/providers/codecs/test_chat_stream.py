"""The stream of "openai-chat": what all kinds of servers send back, cut anywhere."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, Overflowed, Unavailable
from askd.providers.assemble import Assembler
from askd.providers.base import (
    Ended,
    Failed,
    ReasoningDelta,
    ReasoningSealed,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.codecs.openai_chat import OpenAIChat, Rules
from tests.fakes import codec_streams
from tests.fakes.chat_answers import chunk, event, say, usage
from tests.fakes.codec_streams import any_json, cut, hear, list_streams, read_stream

CODEC = OpenAIChat("work")


def decode(*data: bytes) -> list[StreamEvent]:
    """What one decoder makes of these bytes."""
    return codec_streams.decode(CODEC, *data)


def steps(answer: Sequence[object]) -> bytes:
    """The bytes of an answer of the scripted server."""
    return b"".join(step for step in answer if isinstance(step, bytes))


# ---- what comes back ------------------------------------------------------------


def test_ordinary_answer() -> None:
    assert decode(steps(say("He", "llo"))) == [
        TextDelta("He"), TextDelta("llo"), Stopped("end"), UsageReported(Usage(10, 20)), Ended(),
    ]  # fmt: skip


STREAMS = [
    *list_streams("openai-chat"),
    *list_streams("copilot"),
    *list_streams("llama-cpp/openai-chat"),
]


@given(st.sampled_from(STREAMS), st.lists(st.integers(0, 1 << 20), max_size=6), st.booleans())
def test_any_cut_and_any_line_end_give_the_same_events(
    name: str, places: list[int], returns: bool
) -> None:
    data = read_stream(name)
    whole = decode(data)
    if returns:
        data = data.replace(b"\n", b"\r\n")
    assert decode(*cut(data, places)) == whole


@pytest.mark.parametrize("name", STREAMS)
def test_byte_by_byte_and_without_its_end(name: str) -> None:
    data = read_stream(name)
    whole = decode(data)
    assert decode(*(bytes([byte]) for byte in data)) == whole
    # The very last byte is the empty line that ends the last event.
    assert decode(data[:-1]) == whole[:-1]
    assert not isinstance(whole[-2], Ended | Failed)


def test_prefix_of_an_answer_has_no_end_and_a_prefix_of_its_text() -> None:
    data = steps(say("One ", "two ", "three."))
    for place in range(len(data)):
        events = decode(data[:place])
        text = "".join(each.text for each in events if isinstance(each, TextDelta))
        assert "One two three.".startswith(text)
        # The very last byte is the empty line that ends the event `[DONE]`.
        assert not any(isinstance(each, Ended) for each in events)


def test_reasoning_is_sealed_before_the_answer_stops() -> None:
    raw = {"type": "chat_reasoning", "field": "reasoning_content"}
    thought = chunk({"reasoning_content": "Hm."})
    assert decode(thought, chunk({}, finish="stop"), b"data: [DONE]\n\n") == [
        ReasoningDelta("Hm."), ReasoningSealed(raw), Stopped("end"), Ended(),
    ]  # fmt: skip
    assert decode(thought, b"data: [DONE]\n\n")[1:] == [ReasoningSealed(raw), Ended()]


def test_thoughts_among_the_parts_of_the_content() -> None:
    inside = [{"type": "text", "text": "Hm"}, {"type": "text", "text": "m."}]
    parts = [{"type": "thinking", "thinking": inside}, {"type": "text", "text": "Four."}]
    assert decode(chunk({"content": parts})) == [ReasoningDelta("Hmm."), TextDelta("Four.")]


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end"), ("length", "length"), ("tool_calls", "calls"), ("function_call", "calls"),
     ("content_filter", "filtered"), ("eos", "end"), ("model_length", "length"),
     ("STOP", "end"), ("SAFETY", "filtered"), ("tool_use", "calls"), ("new", "unknown")],
)  # fmt: skip
def test_finish_reasons(finish: str, stop: Stop) -> None:
    assert decode(chunk({}, finish=finish)) == [Stopped(stop)]


@pytest.mark.parametrize("finish", ["error", "insufficient_system_resource"])
def test_finish_reasons_that_are_errors(finish: str) -> None:
    [failed] = decode(chunk({}, finish=finish), b"data: [DONE]\n\n")
    assert isinstance(failed, Failed)
    assert failed.failure.reason == Unavailable.reason
    assert finish in failed.failure.message


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
    assert decode(event({"usage": {}})) == decode(event({"usage": None})) == []


def test_counts_that_cannot_be_are_not_believed() -> None:
    endless = b'data: {"usage":{"prompt_tokens":1e999,"completion_tokens":NaN}}\n\n'
    assert decode(endless) == [UsageReported(Usage())]
    counts = {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 9},
    }
    assert decode(event({"usage": counts})) == [UsageReported(Usage(1, 2, 1))]


def test_thinking_that_is_in_the_total_alone_is_output() -> None:
    counts = {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 96,
              "completion_tokens_details": {"reasoning_tokens": 70}}  # fmt: skip
    assert decode(event({"usage": counts})) == [UsageReported(Usage(20, 76, 0, 70))]


def test_usage_in_groqs_own_place() -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 4}
    assert decode(event({"choices": [], "x_groq": {"usage": counts}})) == [
        UsageReported(Usage(3, 4))
    ]


@pytest.mark.parametrize(
    ("cost", "dollars"),
    [(0.5, 0.5), (0, 0.0), (-1, None), (True, None), ("1", None), (1e300, None)],
)
def test_cost_is_read_where_it_is_known_to_be_dollars(cost: Any, dollars: float | None) -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 4, "cost": cost}
    router = OpenAIChat("openrouter", Rules(is_openrouter=True))
    data = event({"usage": counts})
    assert codec_streams.decode(router, data) == [UsageReported(Usage(3, 4, cost_usd=dollars))]
    assert decode(data) == [UsageReported(Usage(3, 4))]


def test_error_inside_the_stream_ends_it() -> None:
    broken = event(
        {"error": {"message": "maximum context limit", "code": "context_length_exceeded"}}
    )
    events = decode(chunk({"content": "Half"}) + broken + chunk({"content": " more"}))
    assert events[0] == TextDelta("Half")
    assert isinstance(events[1], Failed)
    assert events[1].failure.reason == Overflowed.reason
    assert len(events) == 2


def test_error_of_one_choice_ends_the_stream() -> None:
    broken = event({"choices": [{"error": {"message": "Upstream broke", "code": 502}}, {}]})
    [failed] = decode(broken, chunk({"content": "more"}))
    assert isinstance(failed, Failed)
    assert "Upstream broke" in failed.failure.message


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


KEYS = ["choices", "delta", "content", "tool_calls", "function", "arguments", "index", "id", "name",
        "usage", "finish_reason", "error", "message", "reasoning_details", "thinking", "type",
        "text", "extra_content", "function_call", "prompt_tokens", "total_tokens"]  # fmt: skip


@given(any_json(KEYS, ["stop", "f", "{}", "thinking"]))
def test_any_json_is_read_without_an_accident(value: Any) -> None:
    assembler = Assembler("i")
    chunks = [value, {"choices": [value, {"delta": value}], "usage": value}]
    for each in decode(*map(event_of, chunks)):
        assembler.feed(each)
    message = assembler.message()
    texts = [each.text for each in message.reasoning] + [each.arguments for each in message.calls]
    "".join([assembler.text, *texts]).encode()  # no half character anywhere


def event_of(value: Any) -> bytes:
    """Any JSON as an event, half characters escaped as they came."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_are_a_bad_answer(data: bytes) -> None:
    for each in decode(data, b"\n\n", b"data: " + data, b"\n\n"):
        assert isinstance(each, Failed)


# ---- whole answers ---------------------------------------------------------------


def test_answer_of_openrouter() -> None:
    heard = hear(codec_streams.decode(
        OpenAIChat("openrouter", Rules(is_openrouter=True)), read_stream("openai-chat/openrouter")
    ))  # fmt: skip
    assert (heard.text, heard.stop, heard.ended) == ("Four.", "end", True)
    assert heard.usage == Usage(40, 20, 0, 8, 0.00042)
    [thought] = heard.thoughts
    assert thought.text == "Two and two."
    assert thought.raw is not None
    assert thought.raw["details"] == [
        {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0,
         "text": "Two and two.", "signature": "EqQBCg=="},
    ]  # fmt: skip


def test_answer_of_gemini_keeps_the_calls_signature() -> None:
    heard = hear(decode(read_stream("openai-chat/gemini")))
    [thought] = heard.thoughts
    assert thought.text == ""
    assert thought.raw is not None
    assert thought.raw["calls"] == [[0, {"google": {"thought_signature": "CpcBAdHt"}}]]
    assert heard.usage == Usage(20, 76)


def test_answer_over_two_choices() -> None:
    heard = hear(decode(read_stream("copilot/claude-two-choices")))
    assert heard.text == "Let me look."
    assert [(c.call_id, c.arguments) for c in heard.calls] == [
        ("toolu_vrtx_01", '{"city": "Bonn"}')
    ]
    assert heard.stop == "calls"


@pytest.mark.parametrize(
    ("name", "stop"),
    [("plain", "end"), ("length", "length"), ("stop", "end"), ("schema", "end"), ("tool", "calls")],
)
def test_answers_of_the_real_llama_cpp(name: str, stop: Stop) -> None:
    heard = hear(decode(read_stream(f"llama-cpp/openai-chat/{name}")))
    assert heard.ended
    assert heard.failure is None
    assert heard.usage is not None
    assert heard.usage.output_tokens > 0
    assert heard.stop == stop
    assert heard.text or heard.calls
