"""The jobs of turns: rows that follow their turn's events, in the same transactions.

A projection, as `open_turns` is: nobody claims, ends or retries such a job, and it
cannot disagree with the log. It has its turn's id, which stands for both.
"""

import sqlite3
from dataclasses import dataclass
from typing import Literal, assert_never

from askd.core.events import Event, TurnFinished, TurnStarted
from askd.core.recovery import MAX_ATTEMPTS, is_by_person
from askd.store.jobs.rows import OPEN, add_error
from askd.store.log import TURN_KIND, NewJob


@dataclass(frozen=True, slots=True)
class Begun:
    """The turn runs, for the `attempt`-th time."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Over:
    """The turn has ended: as which state of its job, with which exit code, and why."""

    state: Literal["completed", "cancelled", "discarded"]
    code: int
    error: str | None


def make_turn_job(conversation_id: str, turn_id: str, *, now: float) -> NewJob:
    """The job of a turn that is accepted with it; `now` in unix seconds."""
    return NewJob(
        id=turn_id,
        kind=TURN_KIND,
        unique_key=turn_id,
        arguments={"conversation_id": conversation_id, "turn_id": turn_id},
        run_at=now,
        max_attempts=MAX_ATTEMPTS,
    )


def read_change(event: Event) -> tuple[str, Begun | Over] | None:
    """The turn whose job changes with this event, and how."""
    match event.body:
        case TurnStarted(turn_id=turn_id, attempt=attempt):
            return turn_id, Begun(attempt)
        case TurnFinished() as end:
            return end.turn_id, Over(_judge(end), end.code, _explain(end))
        case _:
            return None


def follow_turn_job(connection: sqlite3.Connection, event: Event) -> None:
    """Keep the job of the event's turn true to it, if the turn has one."""
    found = read_change(event)
    if found is None:
        return
    turn_id, change = found
    where = f"WHERE kind = '{TURN_KIND}' AND unique_key = ? AND state IN {OPEN}"
    match change:
        case Begun(attempt=attempt):
            connection.execute(
                f"UPDATE jobs SET state = 'running', attempt = ?, started_at = ? {where}",
                (attempt, event.at, turn_id),
            )
        case Over(state=state, code=code, error=error):
            row = connection.execute(f"SELECT errors, attempt FROM jobs {where}", (turn_id,))
            for errors, attempt in row.fetchall():
                kept = errors if error is None else add_error(errors, attempt, error, at=event.at)
                connection.execute(
                    f"UPDATE jobs SET state = ?, code = ?, errors = ?, finished_at = ? {where}",
                    (state, code, kept, event.at, turn_id),
                )
        case _:
            assert_never(change)


def _judge(end: TurnFinished) -> Literal["completed", "cancelled", "discarded"]:
    match end.outcome:
        case "completed":
            return "completed"
        case "failed":
            return "discarded"
        case "withdrawn":
            return "cancelled"
        case "interrupted":
            return "cancelled" if is_by_person(end) else "discarded"
        case _:
            assert_never(end.outcome)


def _explain(end: TurnFinished) -> str | None:
    """A sentence for whoever asks why; a cut answer completes the job and says so too."""
    if end.outcome == "withdrawn":
        return end.message or "The prompt was taken back."
    return end.message
