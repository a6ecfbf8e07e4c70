"""The stream of "openai-responses": items that grow at once, ends of every kind, cut anywhere."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import ToolCall
from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, Overflowed, RateLimited, Unavailable
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
from askd.providers.codecs.openai_responses import OpenAIResponses
from tests.fakes import codec_streams
from tests.fakes.codec_streams import any_json, cut, hear, list_streams, read_stream

CODEC = OpenAIResponses("work")
STREAMS = [*list_streams("openai-responses"), *list_streams("llama-cpp/openai-responses")]


def event(kind: str, **fields: Any) -> bytes:
    """One event of the API."""
    return b"data: " + json.dumps({"type": f"response.{kind}", **fields}).encode() + b"\n\n"


def decode(*data: bytes) -> list[StreamEvent]:
    """What one decoder makes of these bytes."""
    return codec_streams.decode(CODEC, *data)


def done(place: int, **item: Any) -> bytes:
    """An item that is whole."""
    return event("output_item.done", output_index=place, item=item)


COMPLETED = event("completed", response={"status": "completed"})


# ---- cuts -------------------------------------------------------------------------


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
def test_without_its_last_event_an_answer_has_no_end(name: str) -> None:
    data = read_stream(name)
    assert isinstance(decode(data)[-1], Ended | Failed)
    last = data.rstrip(b"\n").rindex(b"\n\n")
    for place in (last, len(data.rstrip(b"\n")) + 1):
        events = decode(data[:place])
        assert not [each for each in events if isinstance(each, Ended | Failed | Stopped)]


# ---- whole answers ------------------------------------------------------------------


def test_text_with_characters_that_break_lines_elsewhere() -> None:
    heard = hear(decode(read_stream("openai-responses/text")))
    assert heard.text == "Grüße aus Köln \U0001f642\u2028und\x85Bonn."
    assert (heard.stop, heard.usage, heard.ended) == ("end", Usage(12, 9), True)


def test_reasoning_and_calls_that_interleave() -> None:
    heard = hear(decode(read_stream("openai-responses/reasoning-and-calls")))
    assert heard.text == "Let me look."
    assert heard.calls == (
        ToolCall("call_AAA111", "get_weather", '{"city":"Köln"}'),
        ToolCall("call_BBB222", "get_weather", '{"city":"Bonn"}'),
    )
    [thought] = heard.thoughts
    assert thought.text.startswith("**Looking up two cities**\n\nI need both.\n\n**Order**")
    assert thought.raw is not None
    assert (thought.raw["id"], thought.raw["encrypted_content"]) == ("rs_01", "gAAAAAB-whole==")
    assert (heard.stop, heard.usage) == ("calls", Usage(310, 96, 256, 64))


def test_refusal_is_text_and_a_stop_of_its_own() -> None:
    heard = hear(decode(read_stream("openai-responses/refusal")))
    assert (heard.text, heard.stop) == ("I can’t help with that.", "refusal")


@pytest.mark.parametrize(("name", "stop"), [("length", "length"), ("filtered", "filtered")])
def test_incomplete_answers_end(name: str, stop: Stop) -> None:
    heard = hear(decode(read_stream(f"openai-responses/{name}")))
    assert (heard.text, heard.stop, heard.ended) == ("One, two,", stop, True)


def test_incomplete_for_a_reason_that_nobody_knows() -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": "tired"}}
    assert decode(event("incomplete", response=response)) == [Stopped("unknown"), Ended()]


@pytest.mark.parametrize(
    ("name", "error"),
    [("failed", Unavailable), ("error", RateLimited), ("overflow", Overflowed)],
)
def test_failures(name: str, error: type[Exception]) -> None:
    events = decode(read_stream(f"openai-responses/{name}"), COMPLETED)
    assert isinstance(events[-1], Failed)
    assert events[-1].failure.reason == error.reason  # type: ignore[attr-defined]
    assert not any(isinstance(each, Ended) for each in events)


@pytest.mark.parametrize("name", ["plain", "length", "second-turn", "tool"])
def test_answers_of_the_real_llama_cpp(name: str) -> None:
    heard = hear(decode(read_stream(f"llama-cpp/openai-responses/{name}")))
    assert heard.ended
    assert heard.failure is None
    assert heard.usage is not None
    assert heard.usage.input_tokens > 0
    assert [call.name for call in heard.calls] == (["get_weather"] if name == "tool" else [])
    assert all(json.loads(call.arguments) for call in heard.calls)


# ---- an item that is done counts ------------------------------------------------------

CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f"}
BEGUN = event("output_item.added", output_index=0, item={**CALL, "arguments": ""})


def arguments(text: str, **place: Any) -> bytes:
    """More of a call's arguments."""
    return event("function_call_arguments.delta", **(place or {"output_index": 0}), delta=text)


@pytest.mark.parametrize("texts", [['{"x"', ":1}"], ['{"x"'], [], ['"x"', ":1}"], ["{", ":1}"]])
def test_lost_pieces_of_arguments_come_back(texts: list[str]) -> None:
    whole = done(0, **CALL, arguments='{"x":1}')
    expected = (ToolCall("call_1", "f", '{"x":1}'),)
    assert hear(decode(BEGUN, *map(arguments, texts), whole, whole, COMPLETED)).calls == expected
    assert hear(decode(whole, COMPLETED)).calls == expected


def test_pieces_that_add_up_are_not_said_twice() -> None:
    events = decode(BEGUN, arguments("{}"), done(0, **CALL, arguments="{}"))
    assert [e.arguments for e in events if isinstance(e, CallDelta)] == ["", "{}", ""]


def test_call_cut_by_the_limit_is_not_whole() -> None:
    half = done(0, **CALL, arguments='{"x', status="incomplete")
    response = {"incomplete_details": {"reason": "max_output_tokens"}}
    heard = hear(decode(BEGUN, arguments('{"x'), half, event("incomplete", response=response)))
    assert heard.stop == "length"


def test_calls_known_by_their_ids_alone() -> None:
    first, second = {**CALL, "id": "a", "call_id": "1"}, {**CALL, "id": "b", "call_id": "2"}
    heard = hear(decode(
        event("output_item.added", item=first), event("output_item.added", item=second),
        arguments('{"x"', item_id="a"), arguments('{"y"', item_id="b"),
        arguments(":1}", item_id="a"), arguments(":2}", item_id="b"), COMPLETED,
    ))  # fmt: skip
    assert [(c.call_id, c.arguments) for c in heard.calls] == [("1", '{"x":1}'), ("2", '{"y":2}')]


def test_calls_known_by_nothing_come_one_after_the_other() -> None:
    bare = {"type": "function_call", "name": "f"}
    heard = hear(decode(
        event("output_item.added", item=bare), arguments("{}", item_id=None),
        event("output_item.added", item=bare), arguments("[]", item_id=None), COMPLETED,
    ))  # fmt: skip
    assert [call.arguments for call in heard.calls] == ["{}", "[]"]
    assert len({call.call_id for call in heard.calls}) == 2


def test_ids_that_change_between_begin_and_end_do_not_matter() -> None:
    other = {**CALL, "id": "changed"}
    heard = hear(decode(BEGUN, arguments("{}"), done(0, **other, arguments="{}"), COMPLETED))
    assert len(heard.calls) == 1


def message(*texts: str, **fields: Any) -> dict[str, Any]:
    """A message item."""
    content = [{"type": "output_text", "text": each} for each in texts]
    return {"type": "message", "role": "assistant", "content": content, **fields}


def test_lost_pieces_of_text_come_back() -> None:
    start = event("output_text.delta", output_index=0, delta="One ")
    assert decode(start, done(0, **message("One two."))) == [TextDelta("One "), TextDelta("two.")]
    assert decode(done(0, **message("One ", "two."))) == [TextDelta("One two.")]
    # What was shown cannot be taken back.
    assert decode(start, done(0, **message("Two."))) == [TextDelta("One ")]


def test_two_messages_of_one_answer_stay_apart() -> None:
    heard = hear(decode(done(0, **message("First.")), done(1, **message("Second.")), COMPLETED))
    assert heard.text == "First.\n\nSecond."


def test_answer_that_stands_in_its_end_alone() -> None:
    thought = {"type": "reasoning", "id": "rs", "summary": [{"text": "Hm."}]}
    items = [thought, message("All."), {**CALL, "arguments": "{}"}, {"type": "new"}, 7]
    heard = hear(decode(event("completed", response={"output": items})))
    assert heard.text == "All."
    assert [each.text for each in heard.thoughts] == ["Hm."]
    assert [call.call_id for call in heard.calls] == ["call_1"]


def test_what_was_streamed_is_not_said_again_at_the_end() -> None:
    items = [message("All.", id="other")]
    heard = hear(decode(done(0, **items[0]), event("completed", response={"output": items})))
    assert heard.text == "All."


# ---- reasoning ------------------------------------------------------------------------


def test_reasoning_text_of_open_models() -> None:
    item = {
        "type": "reasoning",
        "id": "rs",
        "content": [{"type": "reasoning_text", "text": "Hmm."}],
    }
    delta = event("reasoning_text.delta", output_index=0, content_index=0, delta="Hm")
    assert decode(delta, done(0, **item)) == [
        ReasoningDelta("Hm"), ReasoningDelta("m."), ReasoningSealed(item),
    ]  # fmt: skip


def test_thought_in_two_versions_is_shown_once() -> None:
    text = event("reasoning_text.delta", output_index=0, delta="Hm.")
    summary = event("reasoning_summary_text.delta", output_index=0, delta="In short: hm.")
    assert decode(text, summary) == [ReasoningDelta("Hm.")]


def test_sealed_reasoning_without_a_word_is_kept() -> None:
    item = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}
    heard = hear(decode(done(0, **item), done(1, **message("Yes.")), COMPLETED))
    assert [each.raw for each in heard.thoughts] == [item]


def test_two_thoughts_are_two_pieces() -> None:
    items = [{"type": "reasoning", "id": str(n), "summary": [{"text": f"{n}."}]} for n in (1, 2)]
    heard = hear(decode(done(0, **items[0]), done(1, **items[1]), COMPLETED))
    assert [each.text.strip() for each in heard.thoughts] == ["1.", "2."]
    assert [each.raw and each.raw["id"] for each in heard.thoughts] == ["1", "2"]


# ---- errors and oddities ----------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b'data: {"type":"error","message":"Upstream broke","code":null}\n\n',
        b'data: {"type":"error","error":{"type":"server_error","message":"Upstream broke"}}\n\n',
        b'data: {"error":{"message":"Upstream broke"}}\n\n',
        b'event: error\ndata: {"code":500,"message":"Upstream broke","type":"server_error"}\n\n',
        event("failed", response={"error": {"code": "server_error", "message": "Upstream broke"}}),
        event("completed", response={"error": {"message": "Upstream broke"}}),
    ],
)
def test_errors_in_every_shape(data: bytes) -> None:
    [failed] = decode(data, COMPLETED)
    assert isinstance(failed, Failed)
    assert failed.failure.reason == Unavailable.reason
    assert "Upstream broke" in failed.failure.message


@pytest.mark.parametrize("error", [None, {}, "", 7])
def test_failure_without_a_word_is_a_failure(error: Any) -> None:
    [failed] = decode(event("failed", response={"error": error}))
    assert isinstance(failed, Failed)
    assert failed.failure.message


def test_count_comes_with_a_failure_too() -> None:
    response = {"usage": {"input_tokens": 3}, "error": {"message": "Broke"}}
    assert decode(event("failed", response=response))[0] == UsageReported(Usage(3))


def test_type_may_stand_in_the_events_name() -> None:
    data = b'event: response.output_text.delta\ndata: {"delta":"Hi"}\n\n'
    assert decode(data) == [TextDelta("Hi")]


def test_unknown_events_and_items_pass_over() -> None:
    assert decode(
        event("web_search_call.searching", output_index=0), event("queued"),
        b'data: {"type":"keepalive","sequence_number":3}\n\n', b"data: [DONE]\n\n",
        event("output_item.added", output_index=0, item={"type": "web_search_call", "id": "w"}),
        done(0, type="web_search_call", id="w"), COMPLETED,
    ) == [Stopped("end"), Ended()]  # fmt: skip


def test_nothing_counts_after_the_end() -> None:
    assert decode(COMPLETED, event("output_text.delta", delta="late"))[-1] == Ended()


def test_event_that_is_no_object_is_a_bad_answer() -> None:
    [failed] = decode(b"data: {broken\n\n", COMPLETED)
    assert isinstance(failed, Failed)
    assert failed.failure.reason == BadAnswer.reason


def test_half_characters_become_the_replacement_character() -> None:
    item = {"type": "reasoning", "id": "\ud800", "summary": [{"text": "\ud800"}]}
    events = decode(event("output_text.delta", delta="a\ud83d"), done(1, **item))
    assert events[:2] == [TextDelta("a\ufffd"), ReasoningDelta("\ufffd")]
    assert isinstance(events[2], ReasoningSealed)
    json.dumps(events[2].raw, ensure_ascii=False).encode()


KINDS = ["output_item.added", "output_item.done", "output_text.delta", "refusal.delta",
         "reasoning_summary_text.delta", "reasoning_text.delta", "function_call_arguments.delta",
         "completed", "incomplete", "failed"]  # fmt: skip
KEYS = ["item", "item_id", "output_index", "summary_index", "content_index", "delta", "type", "id",
        "call_id", "name", "arguments", "content", "summary", "text", "response", "output", "usage",
        "error", "message", "code", "incomplete_details", "reason", "status"]  # fmt: skip
WORDS = ["function_call", "message", "reasoning", "incomplete", "refusal"]


FIELDS = st.dictionaries(st.sampled_from(KEYS[:6]), any_json(KEYS, WORDS))


@given(st.lists(st.tuples(st.sampled_from(KINDS), FIELDS), max_size=8), any_json(KEYS, WORDS))
def test_any_json_is_read_without_an_accident(
    events: list[tuple[str, dict[str, Any]]], response: Any
) -> None:
    assembler = Assembler("i")
    pieces = [event(kind, **fields) for kind, fields in events]
    for each in decode(*pieces, event("completed", response=response), COMPLETED):
        assembler.feed(each)
    heard = assembler.message()
    texts = [each.text for each in heard.reasoning] + [each.arguments for each in heard.calls]
    "".join([assembler.text, *texts]).encode()  # no half character anywhere
    json.dumps([each.raw and dict(each.raw) for each in heard.reasoning], allow_nan=False)
    assert assembler.ended or assembler.failure is not None
