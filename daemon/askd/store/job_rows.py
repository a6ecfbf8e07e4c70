"""The rows of background jobs: added, claimed, ended, taken back after a crash.

States: `available` (waits for `run_at`), `executing`, and the ends `completed`,
`cancelled`, `discarded`. It runs nothing and decides no retry: the worker does.
Every end names its attempt (the fence), so that a stale try changes nothing.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Literal

from askd.store.batch import Change, Done
from askd.store.log import ClaimedJob, Fence, NewJob
from askd.store.refusals import stale_fence

JobEnd = Literal["completed", "cancelled", "discarded", "available"]
"""What becomes of an attempt; `available`: it is tried again at `run_at`."""

KEPT_ERRORS = 10
"""Errors a job remembers: enough to see a pattern, too few to grow."""


def add_jobs(
    connection: sqlite3.Connection, conversation_id: str, jobs: Sequence[NewJob], *, at: float
) -> None:
    """Insert jobs; one whose like is not over is passed over."""
    for job in jobs:
        connection.execute(
            "INSERT INTO jobs (id, kind, unique_key, conversation_id, arguments, state, run_at,"
            " max_attempts, created_at) VALUES (?, ?, ?, ?, ?, 'available', ?, ?, ?)"
            " ON CONFLICT (kind, unique_key) WHERE state IN ('available', 'executing') DO NOTHING",
            (
                job.id,
                job.kind,
                job.unique_key,
                conversation_id,
                json.dumps(job.arguments),
                job.run_at,
                job.max_attempts,
                at,
            ),
        )


def fulfil_job(connection: sqlite3.Connection, fence: Fence, *, at: float) -> None:
    """Complete the attempt whose effect is in this transaction; raise `StaleFence`."""
    changed = connection.execute(
        "UPDATE jobs SET state = 'completed', finished_at = ?"
        " WHERE id = ? AND state = 'executing' AND owner = ? AND attempt = ?",
        (at, fence.job_id, fence.boot_id, fence.attempt),
    )
    if changed.rowcount != 1:
        raise stale_fence(fence)


def claim_job(boot_id: str) -> Change[ClaimedJob | None]:
    """The due job that has waited longest becomes `executing`; None: none is due."""

    def change(connection: sqlite3.Connection, at: float) -> Done[ClaimedJob | None]:
        row = connection.execute(
            "SELECT id, kind, conversation_id, arguments, attempt, max_attempts FROM jobs"
            " WHERE state = 'available' AND run_at <= ? ORDER BY run_at, id LIMIT 1",
            (at,),
        ).fetchone()
        if row is None:
            return Done(None)
        id, kind, conversation_id, arguments, attempt, max_attempts = row
        connection.execute(
            "UPDATE jobs SET state = 'executing', attempt = ?, owner = ?, started_at = ?"
            " WHERE id = ?",
            (attempt + 1, boot_id, at, id),
        )
        claimed = ClaimedJob(
            fence=Fence(id, boot_id, attempt + 1),
            kind=kind,
            conversation_id=conversation_id,
            arguments=json.loads(arguments),
            attempt=attempt + 1,
            max_attempts=max_attempts,
        )
        return Done(claimed)

    return change


def end_job(
    fence: Fence, *, state: JobEnd, error: str | None = None, run_at: float | None = None
) -> Change[None]:
    """End an attempt, or put it back for `run_at`; raise `StaleFence`."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        row = connection.execute(
            "SELECT errors FROM jobs"
            " WHERE id = ? AND state = 'executing' AND owner = ? AND attempt = ?",
            (fence.job_id, fence.boot_id, fence.attempt),
        ).fetchone()
        if row is None:
            raise stale_fence(fence)
        errors = row[0] if error is None else _add_error(row[0], fence.attempt, error, at=at)
        over = state != "available"
        connection.execute(
            "UPDATE jobs SET state = ?, errors = ?, owner = NULL, finished_at = ?,"
            " run_at = coalesce(?, run_at) WHERE id = ?",
            (state, errors, at if over else None, None if over else (run_at or at), fence.job_id),
        )
        return Done(None)

    return change


def reset_orphans(boot_id: str) -> Change[int]:
    """Take back what another boot was running; its try counts, so a poison job ends some day."""

    def change(connection: sqlite3.Connection, at: float) -> Done[int]:
        orphans = connection.execute(
            "SELECT id, attempt, max_attempts, errors FROM jobs"
            " WHERE state = 'executing' AND owner IS NOT ?",
            (boot_id,),
        ).fetchall()
        for id, attempt, max_attempts, errors in orphans:
            spent = attempt >= max_attempts
            connection.execute(
                "UPDATE jobs SET state = ?, owner = NULL, errors = ?, finished_at = ? WHERE id = ?",
                (
                    "discarded" if spent else "available",
                    _add_error(errors, attempt, "the daemon stopped during this try", at=at),
                    at if spent else None,
                    id,
                ),
            )
        return Done(len(orphans))

    return change


def _add_error(errors: str, attempt: int, error: str, *, at: float) -> str:
    kept = json.loads(errors)
    kept.append({"at": at, "attempt": attempt, "error": error})
    return json.dumps(kept[-KEPT_ERRORS:])
