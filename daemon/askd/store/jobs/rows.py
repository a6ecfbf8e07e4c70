"""The rows of background jobs: added, claimed, ended, taken back after a crash.

States: `available` (is to run), `scheduled` and `retryable` (wait for `run_at`),
`running`, and the ends `completed`, `cancelled`, `discarded`. It runs nothing and
decides no retry: the worker does. Every end names its attempt (the fence), so that
a stale try changes nothing.
"""

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Literal

from askd.store.batch import Change, Done
from askd.store.log import TURN_KIND, ClaimedJob, Fence, NewJob
from askd.store.refusals import stale_fence

JobEnd = Literal["completed", "cancelled", "discarded", "retryable", "available"]
"""What becomes of an attempt.

`retryable`: it failed and is tried again at `run_at`. `available`: it was cut short by no fault of
its own, and does not count.
"""

OPEN = "('available', 'scheduled', 'running', 'retryable')"
WAITING = "('available', 'scheduled', 'retryable')"

KEPT_ERRORS = 10
"""Errors a job remembers: enough to see a pattern, too few to grow."""
ERROR_LENGTH = 1000
"""Characters of one error: a page of jobs has to fit a message."""
LONGEST_RETRY_S = 86_400.0
"""No failed try waits longer for the next; one that seems to was put off by another clock."""

_DUE = (
    f"state IN {WAITING} AND kind <> '{TURN_KIND}'"
    " AND kind NOT IN (SELECT value FROM json_each(:without))"
    " AND (run_at <= :at OR state = 'available'"
    " OR (state = 'retryable' AND run_at > :at + :longest))"
)
"""What is available runs at any time, and a retry is never further off than the longest wait:
after the wall clock was set back, neither is put off for years."""


def add_jobs(
    connection: sqlite3.Connection, conversation_id: str, jobs: Sequence[NewJob], *, at: float
) -> None:
    """Insert jobs; one whose like is not over is passed over."""
    for job in jobs:
        connection.execute(
            "INSERT INTO jobs (id, kind, unique_key, conversation_id, arguments, state, run_at,"
            " max_attempts, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            f" ON CONFLICT (kind, unique_key) WHERE state IN {OPEN} DO NOTHING",
            (
                job.id,
                job.kind,
                job.unique_key,
                conversation_id,
                json.dumps(job.arguments),
                "available" if job.run_at <= at else "scheduled",
                job.run_at,
                job.max_attempts,
                at,
            ),
        )


def fulfil_job(connection: sqlite3.Connection, fence: Fence, *, at: float) -> None:
    """Complete the attempt whose effect is in this transaction; raise `StaleFence`."""
    changed = connection.execute(
        "UPDATE jobs SET state = 'completed', owner = NULL, finished_at = ?"
        " WHERE id = ? AND state = 'running' AND owner = ? AND attempt = ?",
        (at, fence.job_id, fence.boot_id, fence.attempt),
    )
    if changed.rowcount != 1:
        raise stale_fence(fence)


def claim_job(boot_id: str, *, without: Collection[str] = ()) -> Change[ClaimedJob | None]:
    """The due job that has waited longest becomes `running`; None: none is due.

    `without`: kinds of which enough run already.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[ClaimedJob | None]:
        row = connection.execute(
            "SELECT id, kind, conversation_id, arguments, attempt, uncounted, max_attempts, run_at"
            f" FROM jobs WHERE {_DUE} ORDER BY run_at, id LIMIT 1",
            {"at": at, "without": json.dumps([*without]), "longest": LONGEST_RETRY_S},
        ).fetchone()
        if row is None:
            return Done(None)
        id, kind, conversation_id, arguments, attempt, uncounted, max_attempts, run_at = row
        connection.execute(
            "UPDATE jobs SET state = 'running', attempt = ?, owner = ?, started_at = ?"
            " WHERE id = ?",
            (attempt + 1, boot_id, at, id),
        )
        claimed = ClaimedJob(
            fence=Fence(id, boot_id, attempt + 1),
            kind=kind,
            conversation_id=conversation_id,
            arguments=json.loads(arguments),
            attempt=attempt + 1 - uncounted,
            max_attempts=max_attempts,
            waited_s=max(0.0, at - run_at),
        )
        return Done(claimed)

    return change


def end_job(
    fence: Fence, *, state: JobEnd, error: str | None = None, run_at: float | None = None
) -> Change[None]:
    """End an attempt, or put the job back, for `run_at` if it failed; raise `StaleFence`."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        row = connection.execute(
            "SELECT errors FROM jobs"
            " WHERE id = ? AND state = 'running' AND owner = ? AND attempt = ?",
            (fence.job_id, fence.boot_id, fence.attempt),
        ).fetchone()
        if row is None:
            raise stale_fence(fence)
        errors = row[0] if error is None else add_error(row[0], fence.attempt, error, at=at)
        over = state not in ("available", "retryable")
        connection.execute(
            "UPDATE jobs SET state = ?, errors = ?, owner = NULL, finished_at = ?,"
            " run_at = coalesce(?, run_at), uncounted = uncounted + ? WHERE id = ?",
            (
                state,
                errors,
                at if over else None,
                (run_at or at) if state == "retryable" else None,
                state == "available",
                fence.job_id,
            ),
        )
        return Done(None)

    return change


def reset_orphans(boot_id: str) -> Change[int]:
    """Take back what another boot was running; its try counts, so a poison job ends some day.

    What becomes of turns is told by their events, and not here.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[int]:
        orphans = connection.execute(
            "SELECT id, attempt, attempt - uncounted >= max_attempts, errors FROM jobs"
            f" WHERE state = 'running' AND owner IS NOT ? AND kind <> '{TURN_KIND}'",
            (boot_id,),
        ).fetchall()
        for id, attempt, spent, errors in orphans:
            connection.execute(
                "UPDATE jobs SET state = ?, owner = NULL, errors = ?, finished_at = ? WHERE id = ?",
                (
                    "discarded" if spent else "available",
                    add_error(errors, attempt, "the daemon stopped during this try", at=at),
                    at if spent else None,
                    id,
                ),
            )
        return Done(len(orphans))

    return change


def add_error(errors: str, attempt: int, error: str, *, at: float) -> str:
    """The column `errors` with one more; the oldest leave it."""
    kept = json.loads(errors)
    kept.append({"at": at, "attempt": attempt, "error": error[:ERROR_LENGTH]})
    return json.dumps(kept[-KEPT_ERRORS:])
