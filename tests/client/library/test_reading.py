"""However an answer was heard of, its pieces add up to it."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ask
from ask.feed import News
from ask.library.reading import Reader

Map = dict[str, Any]
TURN = {"conversation_id": "c", "turn_id": "t"}


def stored(type: str, seq: int = 2, **fields: Any) -> Map:
    return {**TURN, "seq": seq, "at": 1.0, "version": 1, "type": type, **fields}


def said(text: str, *, status: str = "complete", **fields: Any) -> Map:
    parts = [{"type": "text", "text": text}] if text else []
    item = {"type": "assistant_message", "id": "t.1", "parts": parts, **fields}
    return stored("item_added", item=item, status=status)


def delta(text: str, offset: int, kind: str = "text") -> News:
    fields = {"item_id": "t.1", "kind": kind, "offset": offset, "text": text}
    return News("delta", {**TURN, **fields})


def pieces(events: list[ask.Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, ask.TextDelta))


@given(st.text(), st.lists(st.integers(0, 20), max_size=5), st.data())
def test_pieces_add_up_to_the_message(text: str, cuts: list[int], data: st.DataObject) -> None:
    reader = Reader()
    events: list[ask.Event] = []
    bounds = sorted({min(cut, len(text)) for cut in cuts})
    for start, end in itertools.pairwise(bounds):
        if bounds[0] > 0:
            break  # nobody was told of the beginning
        again = data.draw(st.integers(0, start))  # what was told may be told again
        events += reader.read(delta(text[again:end], again))
    events += reader.read(News("event", said(text)))
    assert pieces(events) == text
    assert isinstance(events[-1], ask.Message)
    assert events[-1].text == text


def test_a_piece_that_comes_twice_is_one() -> None:
    reader = Reader()
    assert pieces(reader.read(delta("abc", 0))) == "abc"
    assert reader.read(delta("abc", 0)) == []
    (piece,) = reader.read(delta("bcd", 1))
    assert isinstance(piece, ask.TextDelta)
    assert (piece.text, piece.offset, piece.item_id) == ("d", 3, "t.1")


def test_what_was_changed_afterwards_is_told_by_the_message_alone() -> None:
    reader = Reader()
    reader.read(delta("the key is 123", 0))
    (message,) = reader.read(News("event", said("the key is ***")))
    assert isinstance(message, ask.Message)


def test_thoughts_come_before_the_words() -> None:
    events = Reader().read(News("event", said("Done.", reasoning=[{"text": "Let me think."}])))
    assert [type(each).__name__ for each in events] == ["ReasoningDelta", "TextDelta", "Message"]
    assert isinstance(events[2], ask.Message)
    assert events[2].reasoning == "Let me think."
    assert events[0].seq is None, "a piece is not in the log"
    assert events[2].seq == 2


def test_another_attempt_begins_anew() -> None:
    reader = Reader()
    reader.read(delta("abc", 0))
    (message,) = reader.read(News("event", said("abc", status="superseded")))
    assert isinstance(message, ask.Message)
    assert message.status == "superseded"
    (started,) = reader.read(News("event", stored("turn_started", attempt=2, model="p/m")))
    assert isinstance(started, ask.Started)
    assert (started.attempt, started.model) == (2, "p/m")
    assert pieces(reader.read(delta("ab", 0))) == "ab"


def test_calls_follow_their_message() -> None:
    calls = [{"call_id": "1", "name": "read_file", "arguments": '{"path": "x"}'}]
    _, call = Reader().read(News("event", said("", calls=calls)))
    assert isinstance(call, ask.ToolCall)
    assert (call.name, call.arguments, call.call_id) == ("read_file", '{"path": "x"}', "1")
    # What was interrupted calls nothing.
    (alone,) = Reader().read(News("event", said("", calls=calls, status="interrupted")))
    assert isinstance(alone, ask.Message)


def test_an_output_is_told() -> None:
    parts = [{"type": "text", "text": "no"}, {"type": "blob", "sha256": "x"}]
    item = {"type": "tool_output", "id": "o", "call_id": "1", "name": "bash", "parts": parts}
    told = {**item, "is_error": True, "synthetic": "denied"}
    (output,) = Reader().read_event(stored("item_added", item=told))
    assert isinstance(output, ask.ToolOutput)
    assert (output.name, output.text, output.is_error) == ("bash", "no", True)
    assert output.synthetic == "denied"


def test_a_prompt_is_its_text() -> None:
    parts = [{"type": "text", "text": "What is "}, {"type": "text", "text": "it?", "name": "x"}]
    accepted = stored("prompt_accepted", items=[{"type": "user_message", "parts": parts}])
    (event,) = Reader().read_event(accepted)
    assert isinstance(event, ask.Accepted)
    assert event.text == "What is it?"


def test_ends() -> None:
    usage = {"input_tokens": 10, "output_tokens": 20, "cost_usd": 0.5}
    ended = stored("turn_finished", outcome="completed", code=9, message="Cut.", usage=usage)
    (event,) = Reader().read_event(ended)
    assert isinstance(event, ask.Finished)
    assert (event.outcome, event.code, event.message) == ("completed", 9, "Cut.")
    assert event.usage == ask.Usage(10, 20, cost_usd=0.5)
    unsaved = {**TURN, "outcome": "completed", "code": 74, "reason": "disk full"}
    (event,) = Reader().read(News("turn_unsaved", unsaved))
    assert isinstance(event, ask.Finished)
    assert (event.code, event.seq, event.reason) == (74, None, "storage_failed")
    assert "disk full" in str(event.message)


def test_an_answer_to_a_question() -> None:
    answered = stored("question_answered", question_id="q", by="name:x", decision="no", reason="so")
    (event,) = Reader().read_event(answered)
    assert isinstance(event, ask.Answered)
    assert (event.question_id, event.by, event.decision, event.reason) == (
        "q",
        "name:x",
        "no",
        "so",
    )


@pytest.mark.parametrize(
    ("method", "fields", "kind"),
    [
        ("progress", {**TURN, "kind": "retrying", "text": "Again."}, "retrying"),
        ("compaction", {"conversation_id": "c", "state": "started", "text": "S."}, "compaction"),
    ],
)
def test_what_takes_its_time_is_told(method: str, fields: Map, kind: str) -> None:
    (event,) = Reader().read(News(method, fields))
    assert isinstance(event, ask.Progress)
    assert (event.kind, event.text) == (kind, fields["text"])


def test_what_is_new_is_something_else() -> None:
    (event,) = Reader().read_event(stored("of_the_future", what=1))
    assert isinstance(event, ask.Other)
    assert (event.type, event.raw["what"]) == ("of_the_future", 1)
    (item,) = Reader().read_event(stored("item_added", item={"type": "notice", "id": "n"}))
    assert isinstance(item, ask.Other)
    assert item.type == "notice"
    (other,) = Reader().read(News("of_the_future", {"conversation_id": "c"}))
    assert isinstance(other, ask.Other)
    assert Reader().read(News("of_the_future", {})) == []
    assert Reader().read(delta("x", 0, kind="of_the_future")) == []


def test_the_log_is_read_without_pieces() -> None:
    events = Reader(pieces=False).read_event(said("Done.", reasoning=[{"text": "So."}]))
    assert [type(each).__name__ for each in events] == ["Message"]
