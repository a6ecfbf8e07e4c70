"""Events are values that can be matched, compared and held."""

import dataclasses
import typing
from typing import Any

import pytest

import ask
from ask.library.events import encode_answer, locate, read_question, read_usage

Map = dict[str, Any]

ASKED: Map = {
    "conversation_id": "c",
    "seq": 4,
    "at": 1.5,
    "type": "question_asked",
    "turn_id": "t",
    "question_id": "q",
    "kind": "approval",
    "digest": "d",
    "expires_at": 9.0,
    "detail": {
        "text": "May it?",
        "choices": [{"decision": "yes", "label": "Yes"}, {"decision": "no"}, "odd", {"label": "x"}],
    },
}


def test_a_question_has_its_choices() -> None:
    question = read_question(ASKED)
    assert question.choices == (ask.Choice("yes", "Yes"), ask.Choice("no", "no"))
    assert (question.text, question.kind, question.expires_at) == ("May it?", "approval", 9.0)
    assert (question.conversation_id, question.turn_id, question.seq) == ("c", "t", 4)
    bare = read_question({**ASKED, "detail": None})
    assert (bare.text, bare.choices, bare.detail) == ("", (), {})


def test_an_answer_is_bound_to_what_was_shown() -> None:
    question = read_question(ASKED)
    assert encode_answer(question, "no", reason="Not now.") == {
        "conversation_id": "c",
        "question_id": "q",
        "digest": "d",
        "decision": "no",
        "reason": "Not now.",
    }
    assert encode_answer(question, "accept", content={"a": 1})["content"] == {"a": 1}


def test_usage_is_what_was_counted() -> None:
    assert read_usage(None) is None
    assert read_usage({"input_tokens": 3, "of_the_future": 1}) == ask.Usage(input_tokens=3)


def test_every_event_is_frozen_and_says_where_it_was() -> None:
    where = locate(ASKED)
    event = ask.Started(1, "p/m", **where)
    assert event.raw["digest"] == "d"
    assert event == ask.Started(1, "p/m", **{**where, "raw": {}})
    assert "digest" not in repr(event)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.attempt = 2  # type: ignore[misc]  # that is what is tested
    for kind in typing.get_args(ask.Event):
        assert {f.name for f in dataclasses.fields(kind)} >= {"conversation_id", "turn_id", "seq"}
        assert kind.__name__ in ask.__all__


def test_an_event_is_matched_by_what_matters() -> None:
    match ask.TextDelta("hi", item_id="i", offset=0, conversation_id="c"):
        case ask.TextDelta(text):
            assert text == "hi"
