"""The job of a turn is what the turn's events say, in the same transaction, and nobody else's."""

import json
import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import (
    Body,
    Event,
    ItemAdded,
    PromptAccepted,
    PromptWithdrawn,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Blob, Notice, Text, UserMessage
from askd.core.outcome import CUT, DONE, FAILED, OVERFLOW, STORAGE, TIME_LIMIT, Outcome
from askd.core.recovery import DOUBT, MAX_ATTEMPTS, STOPPED
from askd.errors import AskdError
from askd.store.batch import Done, commit_batch
from askd.store.changes import append, delete
from askd.store.jobs.queries import JobRow, read_job
from askd.store.jobs.rows import claim_job, reset_orphans
from askd.store.jobs.turns import Begun, Over, make_turn_job, read_change
from askd.store.log import TURN_KIND, Write
from tests.store.builders import create

UNSENT = ItemAdded("t", AssistantMessage("t.1", (Blob("0" * 64, 1, "text/plain"),)), 1)
"""It names a blob which nobody has sent: its write is refused."""
ACCEPTED = PromptAccepted("t", "k", (UserMessage("t.0", (Text("hi"),)),))


def write(connection: sqlite3.Connection, *bodies: Body, at: float = 10.0, **more: Any) -> None:
    change = append(Write(conversation_id="c", bodies=bodies, **more))
    (outcome,) = commit_batch(connection, [change], at=at)
    if not isinstance(outcome, Done):
        raise outcome


@pytest.fixture
def accepted(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A conversation with a turn that has just been accepted, with its job."""
    write(connection, *create("c").bodies, create=True)
    write(connection, ACCEPTED, at=5.0, jobs=[make_turn_job("c", "t", now=5.0)])
    return connection


def row(connection: sqlite3.Connection) -> JobRow:
    return read_job(connection, "t")


def test_it_has_the_turns_id_and_is_available_from_the_start(accepted: sqlite3.Connection) -> None:
    job = row(accepted)
    assert (job.id, job.kind, job.turn_id, job.conversation_id) == ("t", TURN_KIND, "t", "c")
    assert (job.state, job.attempt, job.max_attempts) == ("available", 0, MAX_ATTEMPTS)
    assert (job.created_at, job.started_at, job.finished_at) == (5.0, None, None)


def test_no_worker_has_it_and_no_boot_takes_it_back(accepted: sqlite3.Connection) -> None:
    for boot in ("one", "two"):
        (claimed,) = commit_batch(accepted, [claim_job(boot)], at=9e9)
        assert isinstance(claimed, Done)
        assert claimed.value is None
        write(accepted, TurnStarted("t", 1))
        commit_batch(accepted, [reset_orphans(boot)], at=11.0)
        assert row(accepted).state == "running"


def test_it_runs_as_often_as_its_turn_starts(accepted: sqlite3.Connection) -> None:
    write(accepted, TurnStarted("t", 1), at=11.0)
    assert (row(accepted).attempt, row(accepted).started_at) == (1, 11.0)
    write(accepted, ItemAdded("t", Notice("n", "x")), TurnStarted("t", 2), at=12.0)
    assert (row(accepted).state, row(accepted).attempt, row(accepted).started_at) == (
        "running",
        2,
        12.0,
    )


@pytest.mark.parametrize(
    ("end", "state", "error"),
    [
        (TurnFinished("t", "completed", DONE), "completed", None),
        (TurnFinished("t", "completed", CUT, message="Cut."), "completed", "Cut."),
        (TurnFinished("t", "failed", OVERFLOW, message="Too large."), "discarded", "Too large."),
        (TurnFinished("t", "failed", FAILED), "discarded", None),
        (TurnFinished("t", "withdrawn", FAILED), "cancelled", "The prompt was taken back."),
        (TurnFinished("t", "interrupted", FAILED, message="By x."), "cancelled", "By x."),
        (TurnFinished("t", "interrupted", FAILED, message=STOPPED), "discarded", STOPPED),
        (TurnFinished("t", "interrupted", FAILED, message=DOUBT), "discarded", DOUBT),
        (TurnFinished("t", "interrupted", TIME_LIMIT, message="90 s."), "discarded", "90 s."),
        (TurnFinished("t", "interrupted", STORAGE, message="Full."), "discarded", "Full."),
    ],
)
def test_it_ends_as_its_turn_does(
    accepted: sqlite3.Connection, end: TurnFinished, state: str, error: str | None
) -> None:
    write(accepted, TurnStarted("t", 1))
    write(accepted, end, at=20.0)
    job = row(accepted)
    assert (job.state, job.code, job.finished_at, job.error) == (state, end.code, 20.0, error)
    assert [each.attempt for each in job.errors] == ([] if error is None else [1])
    # What comes after an end changes nothing.
    write(accepted, TurnStarted("t", 2), TurnFinished("t", "completed", DONE), at=30.0)
    assert row(accepted) == job


def test_a_prompt_that_is_taken_back_cancels_it(accepted: sqlite3.Connection) -> None:
    write(accepted, PromptWithdrawn("t"), TurnFinished("t", "withdrawn", FAILED))
    assert (row(accepted).state, row(accepted).attempt) == ("cancelled", 0)


def test_it_follows_only_what_is_committed(accepted: sqlite3.Connection) -> None:
    with pytest.raises(AskdError, match="Content not found"):
        write(accepted, TurnStarted("t", 1), UNSENT)
    assert row(accepted).state == "available"


def test_a_turn_without_a_job_makes_none(connection: sqlite3.Connection) -> None:
    write(connection, *create("c").bodies, create=True)
    write(connection, ACCEPTED)
    write(connection, TurnStarted("t", 1), TurnFinished("t", "completed", DONE))
    assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


def test_it_goes_with_its_conversation(accepted: sqlite3.Connection) -> None:
    commit_batch(accepted, [delete("c")], at=11.0)
    assert accepted.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


@given(st.sampled_from(["completed", "failed", "interrupted", "withdrawn"]), st.integers(0, 255))
def test_every_end_of_a_turn_is_an_end_of_its_job(outcome: Outcome, code: int) -> None:
    found = read_change(Event("c", 1, 1.0, TurnFinished("t", outcome, code)))
    assert found is not None
    turn_id, change = found
    assert turn_id == "t"
    assert isinstance(change, Over)
    assert change.code == code
    assert (change.state == "completed") == (outcome == "completed")


def test_other_events_change_no_job() -> None:
    assert read_change(Event("c", 1, 1.0, ACCEPTED)) is None
    assert read_change(Event("c", 1, 1.0, TurnStarted("t", 3))) == ("t", Begun(3))


def test_its_arguments_are_the_ids() -> None:
    job = make_turn_job("c", "t", now=1.0)
    assert json.dumps(job.arguments) == '{"conversation_id": "c", "turn_id": "t"}'
    assert job.unique_key == "t"
