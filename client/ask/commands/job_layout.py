"""How background jobs are laid out as text: a row each, or all about one.

Values in, lines out; the caller strips control sequences.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ask.graphemes import find_width, fit
from ask.hits import INDENT, SHORT_ID

NARROW_COLUMNS = 12
"""What an error keeps on a narrow terminal; with less it says nothing."""

GAP = "  "
LEAVING = (4, 3)
"""The columns that leave first where it is narrow: tries, made at."""
NEEDS_YOU = "needs you"
"""Shown of a job that runs and waits for a person: nothing goes on until somebody decides."""

OPEN_STATES = ("running", "available", "retryable", "scheduled")
END_STATES = ("completed", "cancelled", "discarded")

NONE_OPEN = "No job is at work or waits.\nThose that are over: ask jobs list --all"
NO_JOBS = "No background jobs are kept.\nMost come by themselves: a title after a first answer."

Record = Mapping[str, Any]


def sort_jobs(jobs: Iterable[Record]) -> list[Record]:
    """Those that are not over first; within both the newest first."""
    return sorted(jobs, key=lambda job: (job["state"] in END_STATES, -job["created_at"]))


def lay_out_jobs(jobs: Sequence[Record], columns: int | None) -> list[str]:
    """One job a line: short id, state, kind, made at, tries, conversation, last error.

    Where that does not fit `columns`, tries and times are left out, then errors.
    """
    errors = [_tell_error(job) for job in jobs]
    cells: list[tuple[str, ...]] = [
        (
            str(job["id"])[:SHORT_ID],
            NEEDS_YOU if job.get("needs_you") else str(job["state"]),
            str(job["kind"]),
            _tell_time(job["created_at"]),
            _count_tries(job),
            str(job.get("conversation_id") or "-")[:SHORT_ID],
        )
        for job in jobs
    ]
    widths = [max((find_width(row[at]) for row in cells), default=0) for at in range(6)]
    least = len(GAP) + NARROW_COLUMNS if any(errors) else 0
    for at in LEAVING:
        if columns is not None and sum(widths) + len(GAP) * (len(widths) - 1) + least > columns:
            widths.pop(at)
            cells = [(*row[:at], *row[at + 1 :]) for row in cells]
    lines = []
    for error, row in zip(errors, cells, strict=True):
        line = GAP.join(fit(cell, width) for cell, width in zip(row, widths, strict=True))
        room = None if columns is None else columns - find_width(line) - len(GAP)
        shown = error if room is None else fit(error, room) if room >= NARROW_COLUMNS else ""
        lines.append(f"{line}{GAP}{shown}".rstrip())
    return lines


def _tell_error(job: Record) -> str:
    """The last error on one line; one that a later try has made good is no news."""
    return "" if job["state"] == "completed" else " ".join(str(job.get("error") or "").split())


def lay_out_job(job: Record) -> list[str]:
    """All about one job."""
    lines = [
        f"Job: {job['id']}",
        f"Kind: {job['kind']}",
        f"State: {tell_state(job)}",
        f"Conversation: {job.get('conversation_id') or 'none'}",
        f"Tries: {_count_tries(job)}",
        f"Made: {_tell_time(job['created_at'])}",
    ]
    if job.get("turn_id"):
        lines.insert(4, f"Turn: {job['turn_id']}")
    if job.get("started_at") is not None:
        lines.append(f"Last begun: {_tell_time(job['started_at'])}")
    if job.get("finished_at") is not None:
        lines.append(f"Ended: {_tell_time(job['finished_at'])}")
    if job.get("code") is not None:
        lines.append(f"Exit code: {job['code']}")
    question = job.get("question")
    if question:
        lines += [
            f"Question: {question['kind']}, open until {_tell_time(question['expires_at'])}",
            f"Take part: ask attach {str(job['conversation_id'])[:SHORT_ID]}",
        ]
    if job.get("errors"):
        lines += ["Errors:", *(f"{INDENT}{line}" for line in lay_out_errors(job))]
    return lines


def lay_out_errors(job: Record) -> list[str]:
    """The failures of a job, the oldest first: when, in which try, what."""
    lines = []
    for failure in job.get("errors") or ():
        first, *rest = str(failure["error"]).splitlines() or [""]
        lines.append(f"{_tell_time(failure['at'])}  try {failure['attempt']}: {first}")
        lines += [f"{INDENT}{line}" for line in rest]
    return lines


def tell_state(job: Record) -> str:
    """The state, and of one that waits for whom, or until when."""
    state = str(job["state"])
    if job.get("needs_you"):
        return f"{state} ({NEEDS_YOU})"
    if state in ("retryable", "scheduled"):
        what = "next try" if state == "retryable" else "due"
        return f"{state} ({what} {_tell_time(job['run_at'])})"
    return state


def _count_tries(job: Record) -> str:
    return f"{job['attempt']} of {job['max_attempts']}"


def _tell_time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
