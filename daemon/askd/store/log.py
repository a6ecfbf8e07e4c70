"""What can be asked of a log: the interface that the writer and the memory log share.

A `Write` is one request: all of it is committed in one savepoint, or none of it.
Sessions and jobs know this file and not how a log is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from askd.core.events import Body, Event

TURN_KIND = "turn"
"""Jobs of this kind follow the events of their turn; no worker claims or ends them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptKey:
    """The client's key of a prompt. `digest` covers target, items and options."""

    key: str
    digest: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job that the events of a write cause. Times in unix seconds.

    One whose `run_at` has come is available, else scheduled. While one with the same `kind` and
    `unique_key` is not over, another is not added.
    """

    id: str
    kind: str
    unique_key: str
    arguments: dict[str, str]
    run_at: float
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Fence:
    """Which attempt is speaking: the daemon's boot and the attempt's number.

    The number only grows, also when a job is put back with all its tries.
    """

    job_id: str
    boot_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A job that the caller is to run now. `fence` says in whose name.

    `attempt` counts from 1 the tries that count: those since somebody asked for the job to be
    tried again, crashes among them. With `attempt == max_attempts` it is the last. `waited_s`: how
    long it was due before it was claimed, by the wall clock.
    """

    fence: Fence
    kind: str
    conversation_id: str | None
    arguments: dict[str, str]
    attempt: int
    max_attempts: int
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """The prompt is sent by a schedule, for a slot (unix seconds); None: somebody asked for it.

    `skipped`: slots before it for which nothing is sent.
    """

    schedule_id: str
    slot: float | None
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Append `bodies` to one conversation, and all that must be true with them.

    Attributes:
        create: the conversation must not exist yet (else it must).
        key: remember this prompt's key; if it is known, nothing is appended.
        terminal: make the conversation the one that this terminal used last.
        jobs: background work that the events cause.
        fulfils: the write is this job's effect and ends it; a stale fence refuses all.
        blobs: digests that the bodies name, held in memory until now; stored with them.
        times: when each body happened, in unix seconds, if that was elsewhere (an import); what
            its answers took is not counted then. None: now, here.
        firing: a schedule sends the prompt that `key` stands for; the slot is handled with it.
    """

    conversation_id: str
    bodies: Sequence[Body]
    create: bool = False
    key: PromptKey | None = None
    terminal: str | None = None
    jobs: Sequence[NewJob] = ()
    fulfils: Fence | None = None
    blobs: Sequence[tuple[str, bytes]] = ()
    times: Sequence[float] | None = None
    firing: Firing | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """What a write did. `repeated`: its key was known, this is the turn it stands for."""

    events: Sequence[Event]
    repeated: "KnownKey | None" = None


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that was accepted before. `seq` 0: its conversation has been deleted."""

    key: str
    digest: str
    conversation_id: str
    turn_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Partial:
    """The text so far of an item that is still streaming."""

    conversation_id: str
    turn_id: str
    item_id: str
    kind: str
    text: str


class Log(Protocol):
    """Where events go. Every `Event` is handed to the observer after its commit, in order."""

    async def append(self, write: Write) -> Committed:
        """Commit; raise `StorageFailed`, `NotFound`, `RequestError` (name), `StaleFence`."""
        ...

    def save_partial(self, partial: Partial) -> None:
        """Keep a running item's text soon; never waits, never fails the caller."""
        ...

    async def delete(self, conversation_id: str) -> None:
        """Remove a conversation and all that belongs to it; its keys stay."""
        ...

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        """Remove a conversation in which nothing has changed since `before_at` (unix seconds).

        Whether it was: one with a name or a pin, or at work, is not. `archive`: its rollout is
        kept; one without a whole rollout is not removed then.
        """
        ...

    async def mend_search(self) -> None:
        """Have the index of words built anew, soon; where there is none, nothing happens."""
        ...
