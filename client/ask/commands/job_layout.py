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

OPEN_STATES = ("running", "available", "retryable", "scheduled")
END_STATES = ("completed", "cancelled", "discarded")

NONE_OPEN = "No job is at work or waits.\nThose that are over: ask jobs list --all"
NO_JOBS = "No background jobs are kept.\nMost come by themselves: a title after a first answer."

Record = Mapping[str, Any]


def sort_jobs(jobs: Iterable[Record]) -> list[Record]:
    """Those that are not over first; within both the newest first."""
    return sorted(jobs, key=lambda job: (job["state"] in END_STATES, -job["created_at"]))


def lay_out_jobs(jobs: Sequence[Record], columns: int | None) -> list[str]:
    """One job a line: short id, state, kind, made at, tries, conversation, last error."""
    cells = [
        (
            str(job["id"])[:SHORT_ID],
            str(job["state"]),
            str(job["kind"]),
            _tell_time(job["created_at"]),
            _count_tries(job),
            str(job.get("conversation_id") or "-")[:SHORT_ID],
        )
        for job in jobs
    ]
    widths = [max((find_width(row[at]) for row in cells), default=0) for at in range(6)]
    lines = []
    for job, row in zip(jobs, cells, strict=True):
        line = "  ".join(fit(cell, width) for cell, width in zip(row, widths, strict=True))
        # An error that a later try has made good is no news.
        error = "" if job["state"] == "completed" else " ".join(str(job.get("error") or "").split())
        if error and columns is not None:
            error = fit(error, max(NARROW_COLUMNS, columns - find_width(line) - 2))
        lines.append(f"{line}  {error}".rstrip())
    return lines


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
    """The state, and for one that waits until when."""
    state = str(job["state"])
    if state in ("retryable", "scheduled"):
        what = "next try" if state == "retryable" else "due"
        return f"{state} ({what} {_tell_time(job['run_at'])})"
    return state


def _count_tries(job: Record) -> str:
    return f"{job['attempt']} of {job['max_attempts']}"


def _tell_time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
