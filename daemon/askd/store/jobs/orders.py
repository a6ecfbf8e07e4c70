"""What people may order of a job, and what is done with jobs that are over.

A job that somebody cancelled is over at once: the fence refuses what its try still
brings. It stops no running try, and knows no kind but the turns', whose jobs only
their events change.
"""

import json
import sqlite3
from collections.abc import Collection

from askd.errors import RequestError
from askd.store.batch import Change, Done
from askd.store.jobs.queries import JobRow, read_job
from askd.store.jobs.rows import LONGEST_RETRY_S, OPEN, WAITING
from askd.store.log import TURN_KIND
from askd.store.refusals import wrong_job_state

COMPLETED_AGE_S = 24 * 3600.0
"""What went well is of interest for a day."""
FAILED_AGE_S = 7 * 24 * 3600.0
"""What did not is for a week: somebody may look after a holiday."""
REMOVAL_BATCH = 500
"""Rows removed in one transaction: some milliseconds, for which nobody else has to wait."""


def cancel_job(job_id: str) -> Change[JobRow]:
    """End a job that is not over; answers how it is then. Raises `NotFound`, `RequestError`."""

    def change(connection: sqlite3.Connection, at: float) -> Done[JobRow]:
        row = _read_own(connection, job_id)
        connection.execute(
            "UPDATE jobs SET state = 'cancelled', owner = NULL, finished_at = ?"
            f" WHERE id = ? AND state IN {OPEN}",
            (at, row.id),
        )
        return Done(read_job(connection, row.id))

    return change


def retry_job(job_id: str) -> Change[JobRow]:
    """Put a job back, to run now and with all its tries; answers how it is then.

    Raises `NotFound`; `RequestError` for one that runs, is completed, or whose like is open.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[JobRow]:
        row = _read_own(connection, job_id)
        if row.state in ("running", "completed"):
            raise wrong_job_state(row.id, row.state)
        like = connection.execute(
            "SELECT other.id FROM jobs AS other JOIN jobs AS own USING (kind, unique_key)"
            f" WHERE own.id = ? AND other.id <> own.id AND other.state IN {OPEN}",
            (row.id,),
        ).fetchone()
        if like is not None:
            raise RequestError(
                f"The job {like[0]} is to do the same and is not over: wait for that one.",
                reason="wrong_job_state",
                data={"job_id": like[0]},
            )
        connection.execute(
            "UPDATE jobs SET state = 'available', uncounted = attempt, run_at = ?,"
            " finished_at = NULL, code = NULL WHERE id = ?",
            (at, row.id),
        )
        return Done(read_job(connection, row.id))

    return change


def remove_old(connection: sqlite3.Connection, at: float) -> Done[int]:
    """Remove a batch of jobs that have been over for long; how many went."""
    removed = connection.execute(
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs"
        " WHERE (state = 'completed' AND finished_at < ?)"
        " OR (state IN ('cancelled', 'discarded') AND finished_at < ?) LIMIT ?)",
        (at - COMPLETED_AGE_S, at - FAILED_AGE_S, REMOVAL_BATCH),
    )
    return Done(removed.rowcount)


def find_next_run(*, without: Collection[str] = ()) -> Change[float | None]:
    """In how many seconds the next waiting job will be due; None: none waits.

    `without`: kinds of which enough run already.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[float | None]:
        (run_at,) = connection.execute(
            "SELECT min(CASE WHEN state = 'available' OR (state = 'retryable' AND run_at > :far)"
            f" THEN :at ELSE run_at END) FROM jobs WHERE state IN {WAITING}"
            " AND kind <> :turn AND kind NOT IN (SELECT value FROM json_each(:without))",
            {
                "at": at,
                "far": at + LONGEST_RETRY_S,
                "turn": TURN_KIND,
                "without": json.dumps([*without]),
            },
        ).fetchone()
        return Done(None if run_at is None else max(0.0, float(run_at) - at))

    return change


def _read_own(connection: sqlite3.Connection, job_id: str) -> JobRow:
    """A job that is not a turn's; raises `NotFound`, `RequestError`."""
    row = read_job(connection, job_id)
    if row.kind == TURN_KIND:
        raise wrong_job_state(row.id, "a turn")
    return row
