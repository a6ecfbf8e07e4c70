"""What is ordered of a job holds at once, and what is long over goes in batches."""

import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from askd.core.events import Titled
from askd.errors import NotFound, RequestError, StaleFence
from askd.store.batch import Change, Done, commit_batch
from askd.store.changes import append
from askd.store.jobs.orders import (
    COMPLETED_AGE_S,
    FAILED_AGE_S,
    REMOVAL_BATCH,
    cancel_job,
    find_next_run,
    remove_old,
    retry_job,
)
from askd.store.jobs.rows import LONGEST_RETRY_S, claim_job, end_job
from askd.store.log import TURN_KIND, NewJob, Write
from tests.store.builders import create, job


def do(connection: sqlite3.Connection, change: Change[Any], *, at: float = 10.0) -> Any:
    (outcome,) = commit_batch(connection, [change], at=at)
    if isinstance(outcome, Done):
        return outcome.value
    raise outcome


def add(connection: sqlite3.Connection, *jobs: NewJob, at: float = 10.0) -> None:
    do(connection, append(Write(conversation_id="c", bodies=[], jobs=jobs)), at=at)


@pytest.fixture
def jobs(connection: sqlite3.Connection) -> sqlite3.Connection:
    do(connection, append(create("c")))
    add(connection, job("j"))
    return connection


def test_what_waits_is_cancelled_and_stays_so(jobs: sqlite3.Connection) -> None:
    row = do(jobs, cancel_job("j"), at=12.0)
    assert (row.state, row.finished_at) == ("cancelled", 12.0)
    assert do(jobs, claim_job("boot")) is None
    assert do(jobs, cancel_job("j"), at=13.0).finished_at == 12.0
    with pytest.raises(NotFound):
        do(jobs, cancel_job("k"))


def test_what_runs_is_cancelled_and_its_effect_refused(jobs: sqlite3.Connection) -> None:
    claimed = do(jobs, claim_job("boot"))
    assert do(jobs, cancel_job("j")).state == "cancelled"
    late = Write(conversation_id="c", bodies=[Titled("late")], fulfils=claimed.fence)
    with pytest.raises(StaleFence):
        do(jobs, append(late))
    with pytest.raises(StaleFence):
        do(jobs, end_job(claimed.fence, state="retryable"))


def test_what_was_given_up_is_tried_again_with_all_its_tries(jobs: sqlite3.Connection) -> None:
    fences = []
    for _ in range(2):
        for attempt in (1, 2, 3):
            claimed = do(jobs, claim_job("boot"))
            assert claimed.attempt == attempt
            fences.append(claimed.fence)
            end: Any = "discarded" if attempt == 3 else "retryable"
            do(jobs, end_job(claimed.fence, state=end, run_at=10.0))
        row = do(jobs, retry_job("j"))
        assert (row.state, row.attempt, row.finished_at) == ("available", 0, None)
    assert len(set(fences)) == 6, "no two tries have one fence, or a late one could take effect"


def test_a_stale_try_of_before_a_retry_changes_nothing(jobs: sqlite3.Connection) -> None:
    stale = do(jobs, claim_job("boot")).fence
    do(jobs, cancel_job("j"))
    do(jobs, retry_job("j"))
    current = do(jobs, claim_job("boot")).fence
    with pytest.raises(StaleFence):
        do(jobs, append(Write(conversation_id="c", bodies=[Titled("x")], fulfils=stale)))
    do(jobs, append(Write(conversation_id="c", bodies=[Titled("x")], fulfils=current)))


def test_what_waits_for_its_next_try_is_tried_now(jobs: sqlite3.Connection) -> None:
    claimed = do(jobs, claim_job("boot"))
    do(jobs, end_job(claimed.fence, state="retryable", run_at=500.0))
    assert do(jobs, claim_job("boot")) is None
    do(jobs, retry_job("j"))
    assert do(jobs, claim_job("boot")).attempt == 1


def test_what_cannot_be_tried_again(jobs: sqlite3.Connection) -> None:
    claimed = do(jobs, claim_job("boot"))
    with pytest.raises(RequestError) as running:
        do(jobs, retry_job("j"))
    assert "is running" in running.value.message
    do(jobs, end_job(claimed.fence, state="completed"))
    with pytest.raises(RequestError) as completed:
        do(jobs, retry_job("j"))
    assert "is completed" in completed.value.message
    with pytest.raises(NotFound):
        do(jobs, retry_job("k"))


def test_one_whose_like_is_open_is_not_tried_beside_it(jobs: sqlite3.Connection) -> None:
    do(jobs, cancel_job("j"))
    add(jobs, job("k"))
    with pytest.raises(RequestError) as caught:
        do(jobs, retry_job("j"))
    assert (caught.value.reason, caught.value.data) == ("wrong_job_state", {"job_id": "k"})
    do(jobs, cancel_job("k"))
    assert do(jobs, retry_job("j")).state == "available"


def test_the_job_of_a_turn_is_left_to_its_events(jobs: sqlite3.Connection) -> None:
    add(jobs, replace(job("t", "turn"), kind=TURN_KIND))
    for order in (cancel_job, retry_job):
        with pytest.raises(RequestError):
            do(jobs, order("t"))
    assert do(jobs, find_next_run()) == 0.0
    assert do(jobs, find_next_run(without=["title"])) is None


def test_when_the_next_is_due(jobs: sqlite3.Connection) -> None:
    assert do(jobs, find_next_run()) == 0.0
    claimed = do(jobs, claim_job("boot"))
    assert do(jobs, find_next_run()) is None
    add(jobs, job("k", "k", run_at=70.0))
    assert do(jobs, find_next_run()) == 60.0
    do(jobs, end_job(claimed.fence, state="retryable", run_at=30.0))
    assert do(jobs, find_next_run()) == 20.0
    assert do(jobs, find_next_run(), at=100.0) == 0.0
    # The clock was set back: no back-off put the retry so far away.
    assert do(jobs, find_next_run(), at=-LONGEST_RETRY_S) == 0.0


def test_what_is_long_over_is_removed(jobs: sqlite3.Connection) -> None:
    add(jobs, job("k", "k"), job("open", "o"))
    claimed = do(jobs, claim_job("boot"))
    do(jobs, end_job(claimed.fence, state="completed"), at=10.0)
    do(jobs, cancel_job("k"), at=10.0)
    assert do(jobs, remove_old, at=10.0 + COMPLETED_AGE_S) == 0
    assert do(jobs, remove_old, at=10.1 + COMPLETED_AGE_S) == 1
    assert do(jobs, remove_old, at=10.0 + FAILED_AGE_S) == 0
    assert do(jobs, remove_old, at=10.1 + FAILED_AGE_S) == 1
    assert do(jobs, remove_old, at=1e12) == 0
    assert [id for (id,) in jobs.execute("SELECT id FROM jobs")] == ["open"]


def test_many_are_removed_in_batches(jobs: sqlite3.Connection) -> None:
    add(jobs, *(job(f"k{number}", f"k{number}") for number in range(REMOVAL_BATCH + 5)))
    jobs.execute("UPDATE jobs SET state = 'completed', finished_at = 1.0")
    assert do(jobs, remove_old, at=1e9) == REMOVAL_BATCH
    assert do(jobs, remove_old, at=1e9) == 6
