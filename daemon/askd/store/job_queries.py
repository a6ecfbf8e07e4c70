"""What people and programs may know of background jobs. It changes none."""

import json
import sqlite3
from dataclasses import dataclass

from askd.store.cursors import decode_cursor, encode_cursor
from askd.store.refusals import job_not_found

COLUMNS = (
    "id, kind, state, conversation_id, attempt, max_attempts, run_at, created_at,"
    " started_at, finished_at, errors"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job as lists show it; times in unix seconds; `error` is the last one."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """A page of jobs, the newest first; `next_cursor` None: that was the last."""

    rows: list[JobRow]
    next_cursor: str | None


def list_jobs(connection: sqlite3.Connection, *, cursor: str | None, limit: int) -> JobPage:
    """A page of jobs; raises `RequestError` for a bad cursor."""
    place = () if cursor is None else decode_cursor(cursor)
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs {'WHERE (created_at, id) < (?, ?)' if place else ''}"
        " ORDER BY created_at DESC, id DESC LIMIT ?",
        (*place, limit + 1),
    ).fetchall()
    rows = [_row_of(*columns) for columns in found[:limit]]
    more = len(found) > limit and rows
    return JobPage(
        rows=rows, next_cursor=encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    )


def read_job(connection: sqlite3.Connection, job_id: str) -> JobRow:
    """One job; raises `NotFound`."""
    found = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if found is None:
        raise job_not_found(job_id)
    return _row_of(*found)


def count_open(connection: sqlite3.Connection) -> int:
    """Jobs that are not over."""
    (count,) = connection.execute(
        "SELECT count(*) FROM jobs WHERE state IN ('available', 'executing')"
    ).fetchone()
    return int(count)


def find_next_run(connection: sqlite3.Connection) -> float | None:
    """When the next waiting job is due, in unix seconds; None: none waits."""
    (at,) = connection.execute("SELECT min(run_at) FROM jobs WHERE state = 'available'").fetchone()
    return None if at is None else float(at)


def _row_of(
    id: str,
    kind: str,
    state: str,
    conversation_id: str | None,
    attempt: int,
    max_attempts: int,
    run_at: float,
    created_at: float,
    started_at: float | None,
    finished_at: float | None,
    errors: str,
) -> JobRow:
    kept = json.loads(errors)
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
        error=kept[-1]["error"] if kept else None,
    )
