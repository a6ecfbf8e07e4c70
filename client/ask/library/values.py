"""What the library answers with: conversations, jobs, hits, tokens; frozen values.

Their fields are those of the wire, by the same names; a test holds the two
together. What a newer daemon says beside them is in what `Client.call` answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from ask.library.events import Question, read_question

V = TypeVar("V")

JobState = Literal[
    "available", "scheduled", "running", "retryable", "completed", "cancelled", "discarded"
]
"""`retryable`: it failed and is tried again; the last three are ends."""
END_STATES: tuple[JobState, ...] = ("completed", "cancelled", "discarded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as it was when it was asked for. Times are unix seconds."""

    id: str
    name: str | None
    title: str | None
    model: str | None
    state: Literal["needs_you", "working", "idle", "stored"]
    message_count: int
    last_seq: int
    created_at: float
    updated_at: float
    queued: int = 0
    ephemeral: bool = False
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailure:
    """A try that failed."""

    at: float
    attempt: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of background work. `question`, `errors` and `seq` are known after `jobs.read`."""

    id: str
    kind: str
    state: JobState
    conversation_id: str | None
    attempt: int
    max_attempts: int
    run_at: float
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    error: str | None = None
    code: int | None = None
    turn_id: str | None = None
    errors: tuple[JobFailure, ...] | None = None
    seq: int | None = None
    question: Question | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has come to an end, a good one or a bad one."""
        return self.state in END_STATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One message in which everything was found. `marks`: [start, end) in the snippet."""

    conversation_id: str
    name: str | None
    title: str | None
    seq: int
    at: float
    role: Literal["user", "assistant", "tool", "summary"]
    item_id: str | None
    snippet: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What became of a compaction. `idle`: there was nothing to do; `failed`: all is as it was."""

    conversation_id: str
    state: Literal["finished", "idle", "failed", "pending"]
    text: str
    tokens_before: int | None = None
    tokens_after: int | None = None
    why: str | None = None


def read_value(kind: type[V], record: Mapping[str, Any]) -> V:
    """A value from a map of the wire; what it has no field for is left out."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # V is a dataclass
    return kind(**{name: _freeze(each) for name, each in record.items() if name in known})


def read_job(record: Mapping[str, Any]) -> Job:
    """A job; its question can be handed to `Client.answer`."""
    asked, failures = record.get("question"), record.get("errors")
    where = {"conversation_id": record.get("conversation_id"), "turn_id": record.get("turn_id")}
    return read_value(
        Job,
        {
            **record,
            "question": None if asked is None else read_question({**where, **asked}),
            "errors": None
            if failures is None
            else tuple(read_value(JobFailure, each) for each in failures),
        },
    )


def _freeze(value: Any) -> Any:
    return tuple(_freeze(each) for each in value) if isinstance(value, list) else value
