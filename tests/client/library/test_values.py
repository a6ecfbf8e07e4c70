"""Values hold what the wire says, under the wire's names, and nothing is lost on the way."""

import dataclasses
import types
import typing
from typing import Any

import pytest

import ask
from ask.library.values import read_job, read_value
from ask.protocol import messages
from tests.client.library.test_events import ASKED

PAIRS: list[tuple[type, type]] = [
    (ask.Conversation, messages.ConversationSummary),
    (ask.Job, messages.JobRecord),
    (ask.JobFailure, messages.JobFailure),
    (ask.Hit, messages.SearchRecord),
    (ask.Compaction, messages.CompactResult),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda each: each.__name__)
def test_a_value_is_a_part_of_the_wire(ours: type, theirs: type) -> None:
    of_wire = typing.get_type_hints(theirs)
    defaults = {field.name: field.default for field in dataclasses.fields(theirs)}
    for field in dataclasses.fields(ours):
        assert field.default == defaults[field.name], field.name
    for name, hint in typing.get_type_hints(ours).items():
        if name not in ("errors", "question"):  # those are values of their own
            assert _plain(hint) == _plain(of_wire[name]), name


def _plain(hint: Any) -> Any:
    """A type without what we freeze: lists are tuples here."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return frozenset(_plain(each) for each in arguments)
    if origin in (list, tuple):
        return "many"
    return frozenset(arguments) if origin is typing.Literal else hint


def test_lists_become_tuples_and_what_is_new_is_left_out() -> None:
    hit = read_value(
        ask.Hit,
        {
            **dict.fromkeys(("name", "title", "item_id")),
            "conversation_id": "c",
            "seq": 1,
            "at": 1.0,
            "role": "user",
            "snippet": "a fox",
            "marks": [[2, 5]],
            "of_the_future": 1,
        },
    )
    assert hit.marks == ((2, 5),)
    assert hash(hit)


JOB = {
    "id": "j",
    "kind": "turn",
    "state": "running",
    "conversation_id": "c",
    "attempt": 1,
    "max_attempts": 5,
    "run_at": 1.0,
    "created_at": 1.0,
    "turn_id": "t",
}


def test_a_jobs_question_can_be_answered() -> None:
    asked = {name: ASKED[name] for name in ("question_id", "kind", "digest", "detail")}
    job = read_job({**JOB, "question": {**asked, "expires_at": 9.0}})
    assert job.question is not None
    assert (job.question.conversation_id, job.question.turn_id) == ("c", "t")
    assert not job.is_over


def test_a_job_has_its_failures() -> None:
    failed = {"at": 1.0, "attempt": 1, "error": "Odd."}
    job = read_job({**JOB, "state": "discarded", "errors": [failed]})
    assert job.errors == (ask.JobFailure(at=1.0, attempt=1, error="Odd."),)
    assert job.is_over
    assert read_job(JOB).errors is None
