"""What people and programs may know of background jobs. It changes none."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from askd.store.cursors import decode_cursor, encode_cursor
from askd.store.jobs.rows import OPEN
from askd.store.refusals import job_ambiguous, job_not_found

COLUMNS = (
    "id, kind, state, conversation_id, arguments, attempt - uncounted, max_attempts, run_at,"
    " created_at, started_at, finished_at, errors, code"
)
PREFIX_LENGTH = 4
"""As of conversations: fewer characters of an id are more likely a slip than a choice."""
NAMED_CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class JobFailure:
    """A try that failed; `attempt` counts all that there ever were."""

    at: float
    attempt: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job; times in unix seconds.

    Attributes:
        attempt: tries that count.
        error: the last of `errors`, which are the last ten.
        code: the exit code of what it did, of a kind that has one.
        turn_id: the turn that it is, or is for.
    """

    id: str
    kind: str
    state: str
    conversation_id: str | None
    attempt: int
    max_attempts: int
    run_at: float
    created_at: float
    started_at: float | None
    finished_at: float | None
    error: str | None
    errors: tuple[JobFailure, ...] = ()
    code: int | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """A page of jobs, the newest first; `next_cursor` None: that was the last."""

    rows: list[JobRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs are meant; None and empty: any."""

    kind: str | None = None
    states: Sequence[str] = ()
    conversation_id: str | None = None


EVERY = JobFilter()


def list_jobs(
    connection: sqlite3.Connection, *, cursor: str | None, limit: int, which: JobFilter = EVERY
) -> JobPage:
    """A page of jobs; raises `RequestError` for a bad cursor."""
    place = (None, None) if cursor is None else decode_cursor(cursor)
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs"
        " WHERE (:time IS NULL OR (created_at, id) < (:time, :id))"
        " AND (:kind IS NULL OR kind = :kind)"
        " AND (:conversation IS NULL OR conversation_id = :conversation)"
        " AND (:states = '[]' OR state IN (SELECT value FROM json_each(:states)))"
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        {
            "time": place[0],
            "id": place[1],
            "kind": which.kind,
            "conversation": which.conversation_id,
            "states": json.dumps([*which.states]),
            "limit": limit + 1,
        },
    ).fetchall()
    rows = [_row_of(*columns) for columns in found[:limit]]
    more = len(found) > limit and rows
    return JobPage(
        rows=rows, next_cursor=encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    )


def read_job(connection: sqlite3.Connection, job_id: str) -> JobRow:
    """One job, by its id or the beginning of it; raises `NotFound`."""
    found = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchall()
    if not found and len(job_id) >= PREFIX_LENGTH:
        # A range, so that the key answers; above every character that an id can have.
        found = connection.execute(
            f"SELECT {COLUMNS} FROM jobs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            (job_id.lower(), f"{job_id.lower()}\U0010ffff", NAMED_CANDIDATES),
        ).fetchall()
    if not found:
        raise job_not_found(job_id)
    if len(found) > 1:
        raise job_ambiguous(job_id, [str(columns[0]) for columns in found])
    return _row_of(*found[0])


def read_jobs(connection: sqlite3.Connection, job_ids: Sequence[str]) -> list[JobRow]:
    """As `read_job`, of one moment, in the order that was asked for."""
    return [read_job(connection, each) for each in job_ids]


def count_open(connection: sqlite3.Connection) -> int:
    """Jobs that are not over."""
    (count,) = connection.execute(f"SELECT count(*) FROM jobs WHERE state IN {OPEN}").fetchone()
    return int(count)


def count_states(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """How many jobs of each kind are in each state: kind, state, number."""
    return connection.execute(
        "SELECT kind, state, count(*) FROM jobs GROUP BY kind, state ORDER BY kind, state"
    ).fetchall()


def _row_of(
    id: str,
    kind: str,
    state: str,
    conversation_id: str | None,
    arguments: str,
    attempt: int,
    max_attempts: int,
    run_at: float,
    created_at: float,
    started_at: float | None,
    finished_at: float | None,
    errors: str,
    code: int | None,
) -> JobRow:
    failures = tuple(
        JobFailure(each["at"], each["attempt"], each["error"]) for each in json.loads(errors)
    )
    return JobRow(
        id=id,
        kind=kind,
        state=state,
        conversation_id=conversation_id,
        attempt=attempt,
        max_attempts=max_attempts,
        run_at=run_at,
        created_at=created_at,
        started_at=started_at,
        finished_at=finished_at,
        error=failures[-1].error if failures else None,
        errors=failures,
        code=code,
        turn_id=json.loads(arguments).get("turn_id"),
    )
