"""What Ollama sends back, as events; above all: when it has cut the conversation."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import AssistantMessage, Reasoning, Text
from askd.core.outcome import OVERFLOW, Stop, Usage
from askd.errors import BadAnswer
from askd.providers.assemble import Assembler
from askd.providers.base import (
    CallDelta,
    Ended,
    Failed,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.codecs.ollama_decoder import OllamaDecoder, is_truncated
from tests.core.values import JSON

WRITTEN = sorted((Path(__file__).parents[2] / "data/streams/ollama").glob("*.ndjson"))
WINDOW = 4096

CALLS = st.fixed_dictionaries(
    {},
    optional={
        "id": JSON,
        "function": JSON | st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON}),
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": JSON,
        "content": JSON,
        "thinking": JSON,
        "tool_calls": JSON | st.lists(CALLS, max_size=3),
    },
)
CHUNKS = st.fixed_dictionaries(
    {},
    optional={
        "message": JSON | MESSAGES,
        "done": JSON,
        "done_reason": JSON,
        "prompt_eval_count": JSON,
        "eval_count": JSON,
        "error": JSON,
    },
)


def line(**fields: Any) -> bytes:
    """One line of a stream."""
    return json.dumps(fields).encode() + b"\n"


def decode(*data: bytes, window: int = WINDOW) -> list[StreamEvent]:
    """What one decoder makes of these bytes."""
    decoder = OllamaDecoder("work", context_window=window)
    return [each for piece in data for each in decoder.feed(piece)]


def assemble(data: bytes, *, item_id: str = "i") -> Assembler:
    """The answer that these bytes are."""
    assembler = Assembler(item_id, "work", "work/m")
    for each in decode(data):
        assembler.feed(each)
    return assembler


def load(name: str) -> bytes:
    """A stream from the vendor's public types."""
    return next(path for path in WRITTEN if path.stem == name).read_bytes()


# ---- whole streams -----------------------------------------------------------------


def test_text_and_usage() -> None:
    answer = assemble(load("text"))
    assert answer.ended
    assert answer.message().parts == (Text("Hello\u2028wörld 😀!"),)
    assert answer.stop == "end"
    assert answer.usage == Usage(input_tokens=26, output_tokens=8)


def test_thinking_and_parallel_calls() -> None:
    answer = assemble(load("thinking-and-calls"))
    message = answer.message()
    assert message == AssistantMessage(
        id="i",
        parts=(Text("Looking."),),
        reasoning=(Reasoning("Let me look."),),
        calls=message.calls,
        provider="work",
        model="work/m",
    )
    assert [(call.name, call.arguments) for call in message.calls] == [
        ("get_weather", '{"city":"Zürich","days":3}'),
        ("get_time", "{}"),
        ("get_weather", '{"city":"San Francisco"}'),
    ]
    assert answer.stop == "calls"


def test_calls_without_ids_get_the_same_ones_every_time() -> None:
    ids = [call.call_id for call in assemble(load("thinking-and-calls")).message().calls]
    again = [call.call_id for call in assemble(load("thinking-and-calls")).message().calls]
    other = assemble(load("thinking-and-calls"), item_id="j").message().calls
    assert ids == again
    assert len({*ids, *(call.call_id for call in other)}) == 6


def test_ids_that_are_given_are_kept() -> None:
    calls = assemble(load("calls-with-ids")).message().calls
    assert [call.call_id for call in calls] == ["call_9wxkm1bd", "call_zz8kq2mm"]


@pytest.mark.parametrize(
    ("name", "expected"), [("length", "length"), ("text", "end"), ("no-reason", "unknown")]
)
def test_stop_reasons(name: str, expected: Stop) -> None:
    answer = assemble(load(name))
    assert (answer.stop, answer.ended, answer.failure) == (expected, True, None)


@pytest.mark.parametrize("name", ["load", "unload"])
def test_model_that_was_only_moved_has_not_answered(name: str) -> None:
    (failed,) = decode(load(name))
    assert isinstance(failed, Failed)
    assert failed.failure.reason == "unavailable"
    assert f"only {name}ed" in failed.failure.message


def test_error_inside_a_stream_fails_with_the_text_so_far() -> None:
    answer = assemble(load("error"))
    assert answer.text == "Hel"
    assert answer.failure is not None
    assert "unexpected EOF" in answer.failure.message
    assert not answer.ended


# ---- a conversation that was cut ----------------------------------------------------------


def test_conversation_that_was_cut_is_an_overflow() -> None:
    answer = assemble(load("truncated"))
    assert answer.text == "As I said"
    assert answer.usage == Usage(input_tokens=4096, output_tokens=3)
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.reason) == (OVERFLOW, "overflow")
    assert "4096 tokens" in answer.failure.message
    assert not answer.ended


@pytest.mark.parametrize(
    ("prompt", "window", "expected"),
    [
        (4096, 4096, True),  # cut to the window exactly
        (4040, 4096, True),  # whole messages were dropped, and the rest nearly fills it
        (4032, 4096, True),
        (4031, 4096, False),  # a 64th of the window is left: an honest prompt
        (2050, 4096, False),
        (4097, 4096, False),  # the server did not heed the window
        (100_000, 4096, False),
        (8, 8, True),
        (7, 8, False),
        (0, 4096, False),
    ],
)
def test_rule_of_the_counts(prompt: int, window: int, expected: bool) -> None:
    assert is_truncated(prompt, window) is expected
    end = line(done=True, done_reason="stop", prompt_eval_count=prompt, eval_count=2)
    assert any(isinstance(each, Failed) for each in decode(end, window=window)) is expected


# ---- laws ------------------------------------------------------------------------------


@given(st.sampled_from(WRITTEN), st.data())
def test_any_cut_gives_the_same_events(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=8).map(sorted))
    chunks = [whole[start:end] for start, end in pairwise([0, *places, len(whole)])]
    assert decode(*chunks) == decode(whole)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_stream_that_was_cut_never_ends(path: Path) -> None:
    whole = path.read_bytes()
    decoder = OllamaDecoder("work", context_window=WINDOW)
    begun = [each for place in range(len(whole) - 1) for each in decoder.feed(whole[place:][:1])]
    assert not any(isinstance(each, Ended) for each in begun)


@given(st.lists(JSON | CHUNKS, max_size=8))
def test_no_json_raises(chunks: list[Any]) -> None:
    events = decode(*(json.dumps(each).encode() + b"\n" for each in chunks))
    assert sum(isinstance(each, Ended | Failed) for each in events) <= 1
    assembler = Assembler("i")
    for each in events:
        assembler.feed(each)
    assembler.message()


@given(st.lists(CHUNKS, max_size=4))
def test_what_comes_after_the_end_is_passed_over(chunks: list[Any]) -> None:
    late = b"".join(json.dumps(each).encode() + b"\n" for each in chunks)
    assert decode(load("text") + late) == decode(load("text"))


def test_caps_name_the_provider() -> None:
    with pytest.raises(BadAnswer, match=r"^work: a line of the answer"):
        decode(b"x" * (2 << 20))


# ---- habits ------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"[1]\n", b"{\n", b"<html>\n"])
def test_what_is_no_object_fails(data: bytes) -> None:
    (failed,) = decode(data)
    assert isinstance(failed, Failed)
    assert failed.failure.reason == "bad_answer"


def test_truth_alone_ends_an_answer() -> None:
    assert decode(line(done="true"), line(done=1), line(done=None), line()) == []


def test_last_line_may_hold_the_last_words() -> None:
    last = line(message={"content": "Hi"}, done=True, done_reason="stop")
    assert decode(last) == [TextDelta("Hi"), Stopped("end"), Ended()]


def test_loaded_after_words_is_an_end() -> None:
    last = line(message={"content": "Hi"}, done=True, done_reason="load")
    assert decode(last)[-1] == Ended()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({"x": 1}, '{"x":1}'), ('{"x": 1}', '{"x": 1}'), ({}, "{}"), (None, "{}"), ([], "{}")],
)
def test_arguments_become_text(arguments: Any, expected: str) -> None:
    call = {"function": {"name": "f", "arguments": arguments}}
    assert decode(line(message={"tool_calls": [call]})) == [CallDelta(0, None, "f", expected)]


def test_count_that_is_missing_is_none() -> None:
    end = line(done=True, done_reason="stop", eval_count=3)
    assert decode(end)[0] == UsageReported(Usage(output_tokens=3))
