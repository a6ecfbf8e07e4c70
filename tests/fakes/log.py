"""A store in memory with a switch for every disaster, for sessions and jobs.

It is the log and its reader in one, so that a daemon can be "killed" and another
be started on what was committed. The rules of the log itself are those of
`MemoryLog`; jobs and their fences are kept here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import trio

from askd.core.calibration import Rates
from askd.core.events import Event
from askd.errors import NotFound, StaleFence, StorageFailed
from askd.store.job_rows import JobEnd
from askd.store.log import (
    ClaimedJob,
    Committed,
    Fence,
    KnownKey,
    Log,
    NewJob,
    Partial,
    Write,
)
from askd.store.memory import MemoryLog
from askd.store.projection import ConversationRow


@dataclass
class JobState:
    """A job as a row would hold it."""

    job: NewJob
    conversation_id: str
    state: str = "available"
    attempt: int = 0
    run_at: float = 0.0
    owner: str | None = None
    errors: list[str] = field(default_factory=list)


class FakeStore(Log):
    """Conversations and jobs in memory.

    Attributes:
        failing: every append is refused with `StorageFailed`, and nothing is committed.
        slow: appends that hold such a body wait for its event before they are committed.
        unreadable: every load is refused.
        observe: who hears of commits; the daemon that is running.
        boot_id: that daemon's.
        writes: every write that was committed.
        rates: what is kept of each model's counting.
        mended: how often the index of words was to be built anew.
        expired: what was removed for its age, and whether to the archive.
    """

    def __init__(self, now: Callable[[], float] = lambda: 1000.0) -> None:
        self.failing = False
        self.fail_if: Callable[[Write], bool] = lambda write: False
        self.slow: dict[type, trio.Event] = {}
        self.unreadable = False
        self.observe: Callable[[Sequence[Event]], None] = lambda events: None
        self.boot_id = "boot-1"
        self.now = now
        self.writes: list[Write] = []
        self.jobs: dict[str, JobState] = {}
        self.terminals: dict[str, str] = {}
        self.saved: list[Partial] = []
        self.rates: dict[str, Rates] = {}
        self.mended = 0
        self.expired: list[tuple[str, bool]] = []
        self._committing: Write | None = None
        self._log = MemoryLog(observe=self._commit, now=lambda: self.now())

    # ---- the log ---------------------------------------------------------------

    async def append(self, write: Write) -> Committed:
        await trio.lowlevel.checkpoint()  # a crash here: nothing was committed
        for body in write.bodies:
            if type(body) in self.slow:
                await self.slow[type(body)].wait()
        if self.failing or self.fail_if(write):
            raise StorageFailed("The disk is full.")
        if write.fulfils is not None:
            self._check_fence(write.fulfils)
        self._committing = write
        return await self._log.append(write)  # a crash in its checkpoint: it was committed

    def _commit(self, events: Sequence[Event]) -> None:
        """Keep what belongs to a write in the moment in which its events are there."""
        write, self._committing = self._committing, None
        if write is not None:
            self._keep(write)
        if events:
            self.observe(events)

    def _keep(self, write: Write) -> None:
        self.writes.append(write)
        if write.fulfils is not None:
            self.jobs[write.fulfils.job_id].state = "completed"
        if write.terminal is not None:
            self.terminals[write.terminal] = write.conversation_id
        for job in write.jobs:
            if not any(self._is_like(each, job) for each in self.jobs.values()):
                self.jobs[job.id] = JobState(job, write.conversation_id, run_at=job.run_at)

    def save_partial(self, partial: Partial) -> None:
        self.saved.append(partial)
        self._log.save_partial(partial)

    async def delete(self, conversation_id: str) -> None:
        await self._log.delete(conversation_id)
        self.jobs = {
            id: job for id, job in self.jobs.items() if job.conversation_id != conversation_id
        }

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        row = await self._log.get(conversation_id)
        if row is None or row.name or row.pinned or row.updated_at >= before_at:
            return False
        if self._log._open_turns.get(conversation_id):
            return False
        self.expired.append((conversation_id, archive))
        await self.delete(conversation_id)
        return True

    async def mend_search(self) -> None:
        self.mended += 1

    # ---- its reader ------------------------------------------------------------

    async def get(self, conversation_id: str) -> ConversationRow | None:
        return await self._log.get(conversation_id)

    async def load(self, conversation_id: str) -> list[Event]:
        if self.unreadable:
            raise StorageFailed("Failed to load conversation: the disk is gone")
        events = await self._log.load(conversation_id)
        await trio.lowlevel.checkpoint()  # what is committed now is not in `events`
        return events

    async def find(self, text: str) -> ConversationRow:
        rows = self.rows()
        for row in rows:
            if text in (row.id, row.name):
                return row
        found = [row for row in rows if len(text) >= 4 and row.id.startswith(text.lower())]
        if len(found) == 1:
            return found[0]
        raise NotFound(
            f"Conversation not found: id={text}",
            reason="conversation_ambiguous" if found else "conversation_not_found",
        )

    async def find_terminal(self, terminal: str) -> ConversationRow | None:
        return await self._log.get(self.terminals.get(terminal, ""))

    async def find_key(self, key: str) -> KnownKey | None:
        return await self._log.find_key(key)

    async def partials(self, conversation_id: str) -> list[Partial]:
        return await self._log.partials(conversation_id)

    async def read_blob(self, sha256: str) -> bytes:
        return await self._log.read_blob(sha256)

    async def token_rates(self) -> dict[str, Rates]:
        return dict(self.rates)

    async def unfinished(self) -> list[str]:
        return [id for id, turns in self._log._open_turns.items() if turns]

    def rows(self) -> list[ConversationRow]:
        return list(self._log._rows.values())

    # ---- jobs ------------------------------------------------------------------

    async def claim_job(self) -> ClaimedJob | None:
        await trio.lowlevel.checkpoint()
        if self.failing:
            raise StorageFailed("The disk is full.")
        due = [j for j in self.jobs.values() if j.state == "available" and j.run_at <= self.now()]
        if not due:
            return None
        job = min(due, key=lambda each: each.run_at)
        job.state, job.owner, job.attempt = "executing", self.boot_id, job.attempt + 1
        return ClaimedJob(
            fence=Fence(job.job.id, self.boot_id, job.attempt),
            kind=job.job.kind,
            conversation_id=job.conversation_id,
            arguments=job.job.arguments,
            attempt=job.attempt,
            max_attempts=job.job.max_attempts,
        )

    async def end_job(
        self,
        fence: Fence,
        *,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        await trio.lowlevel.checkpoint()
        if self.failing:
            raise StorageFailed("The disk is full.")
        self._check_fence(fence)
        job = self.jobs[fence.job_id]
        job.state = state
        if error is not None:
            job.errors.append(error)
        if run_at is not None:
            job.run_at = run_at

    async def reset_orphans(self) -> int:
        await trio.lowlevel.checkpoint()
        orphans = [
            job
            for job in self.jobs.values()
            if job.state == "executing" and job.owner != self.boot_id
        ]
        for job in orphans:
            job.state = "discarded" if job.attempt >= job.job.max_attempts else "available"
        return len(orphans)

    def _check_fence(self, fence: Fence) -> None:
        job = self.jobs.get(fence.job_id)
        if (
            job is None
            or job.state != "executing"
            or (job.owner, job.attempt) != (fence.boot_id, fence.attempt)
        ):
            raise StaleFence("This attempt is no longer the current one.")

    @staticmethod
    def _is_like(each: JobState, job: NewJob) -> bool:
        return each.state in ("available", "executing") and (
            each.job.kind,
            each.job.unique_key,
        ) == (job.kind, job.unique_key)
