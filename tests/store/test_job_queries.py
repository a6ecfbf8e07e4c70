"""What is said of jobs: pages that neither repeat nor hide, and the last error."""

import sqlite3

import pytest

from askd.errors import NotFound, RequestError
from askd.store.batch import commit_batch
from askd.store.changes import append
from askd.store.job_queries import JobRow, count_open, find_next_run, list_jobs, read_job
from askd.store.job_rows import claim_job, end_job
from askd.store.log import Fence, Write
from tests.store.builders import create, job


def add_jobs(connection: sqlite3.Connection, *ids: str, at: float) -> None:
    jobs = [job(id, id, run_at=at) for id in ids]
    write = Write(conversation_id="c", bodies=[], jobs=jobs)
    commit_batch(connection, [append(write)], at=at)


@pytest.fixture
def jobs(connection: sqlite3.Connection) -> sqlite3.Connection:
    commit_batch(connection, [append(create("c"))], at=1.0)
    add_jobs(connection, "a", "b", "c", at=10.0)
    add_jobs(connection, "d", at=20.0)
    return connection


def test_pages_are_newest_first_and_stable(jobs: sqlite3.Connection) -> None:
    first = list_jobs(jobs, cursor=None, limit=2)
    assert [row.id for row in first.rows] == ["d", "c"]
    add_jobs(jobs, "e", at=30.0)
    second = list_jobs(jobs, cursor=first.next_cursor, limit=2)
    assert [row.id for row in second.rows] == ["b", "a"]
    assert second.next_cursor is None
    assert list_jobs(jobs, cursor=None, limit=9).rows[0].id == "e"
    with pytest.raises(RequestError):
        list_jobs(jobs, cursor="x", limit=2)


def test_one_job(jobs: sqlite3.Connection) -> None:
    commit_batch(jobs, [claim_job("boot")], at=15.0)
    put_back = end_job(Fence("a", "boot", 1), state="available", error="no model", run_at=40.0)
    commit_batch(jobs, [put_back], at=16.0)
    assert read_job(jobs, "a") == JobRow(
        id="a",
        kind="title",
        state="available",
        conversation_id="c",
        attempt=1,
        max_attempts=3,
        run_at=40.0,
        created_at=10.0,
        started_at=15.0,
        finished_at=None,
        error="no model",
    )
    with pytest.raises(NotFound) as caught:
        read_job(jobs, "z")
    assert caught.value.reason == "job_not_found"


def test_counts_and_the_next_time(jobs: sqlite3.Connection) -> None:
    assert (count_open(jobs), find_next_run(jobs)) == (4, 10.0)
    for _ in range(3):
        commit_batch(jobs, [claim_job("boot")], at=15.0)
    assert (count_open(jobs), find_next_run(jobs)) == (4, 20.0)
    commit_batch(jobs, [end_job(Fence("a", "boot", 1), state="completed")], at=16.0)
    assert count_open(jobs) == 3
    commit_batch(jobs, [claim_job("boot")], at=25.0)
    assert find_next_run(jobs) is None
