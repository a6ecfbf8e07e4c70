"""What is said of jobs: pages that neither repeat nor hide, and the last error."""

import sqlite3

import pytest

from askd.errors import NotFound, RequestError
from askd.store.batch import commit_batch
from askd.store.changes import append
from askd.store.jobs.orders import cancel_job
from askd.store.jobs.queries import (
    JobFailure,
    JobFilter,
    JobRow,
    count_open,
    count_states,
    list_jobs,
    read_job,
    read_jobs,
)
from askd.store.jobs.rows import claim_job, end_job
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
    put_back = end_job(Fence("a", "boot", 1), state="retryable", error="no model", run_at=40.0)
    commit_batch(jobs, [put_back], at=16.0)
    assert read_job(jobs, "a") == JobRow(
        id="a",
        kind="title",
        state="retryable",
        conversation_id="c",
        attempt=1,
        max_attempts=3,
        run_at=40.0,
        created_at=10.0,
        started_at=15.0,
        finished_at=None,
        error="no model",
        errors=(JobFailure(16.0, 1, "no model"),),
    )
    with pytest.raises(NotFound) as caught:
        read_job(jobs, "z")
    assert caught.value.reason == "job_not_found"


def test_a_job_is_found_by_the_beginning_of_its_id(jobs: sqlite3.Connection) -> None:
    add_jobs(jobs, "abcd-1", "abcd-2", "abce-3", at=30.0)
    assert read_job(jobs, "abce").id == "abce-3"
    assert read_job(jobs, "ABCE-").id == "abce-3"
    assert [row.id for row in read_jobs(jobs, ["abcd-2", "a"])] == ["abcd-2", "a"]
    with pytest.raises(NotFound) as caught:
        read_job(jobs, "abcd")
    assert caught.value.reason == "job_ambiguous"
    assert caught.value.data == {"candidates": ["abcd-1", "abcd-2"]}
    for text in ("abc", "abc%", "____"):
        with pytest.raises(NotFound) as caught:
            read_job(jobs, text)
        assert caught.value.message.endswith("List them: ask jobs list")
    with pytest.raises(NotFound, match="its id is empty"):
        read_job(jobs, "")


def test_only_some_are_listed(jobs: sqlite3.Connection) -> None:
    commit_batch(jobs, [cancel_job("b")], at=15.0)

    def ids(which: JobFilter) -> list[str]:
        return [row.id for row in list_jobs(jobs, cursor=None, limit=9, which=which).rows]

    assert ids(JobFilter(states=["cancelled"])) == ["b"]
    assert ids(JobFilter(states=["cancelled", "available"])) == ["d", "c", "b", "a"]
    assert ids(JobFilter(kind="title", conversation_id="c")) == ["d", "c", "b", "a"]
    assert ids(JobFilter(kind="compact")) == ids(JobFilter(conversation_id="x")) == []


def test_a_filter_and_a_page_go_together(jobs: sqlite3.Connection) -> None:
    commit_batch(jobs, [cancel_job("b")], at=15.0)
    which = JobFilter(states=["available"])
    first = list_jobs(jobs, cursor=None, limit=2, which=which)
    rest = list_jobs(jobs, cursor=first.next_cursor, limit=2, which=which)
    assert [row.id for row in (*first.rows, *rest.rows)] == ["d", "c", "a"]


def test_counts(jobs: sqlite3.Connection) -> None:
    assert (count_open(jobs), count_states(jobs)) == (4, [("title", "available", 4)])
    for _ in range(3):
        commit_batch(jobs, [claim_job("boot")], at=15.0)
    assert count_open(jobs) == 4
    commit_batch(jobs, [end_job(Fence("a", "boot", 1), state="completed")], at=16.0)
    assert count_open(jobs) == 3
    assert count_states(jobs) == [
        ("title", "available", 1),
        ("title", "completed", 1),
        ("title", "running", 2),
    ]
