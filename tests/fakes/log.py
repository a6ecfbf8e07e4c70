"""A store in memory with a switch for every disaster, for sessions and jobs.

It is the log and its reader in one, so that a daemon can be "killed" and another
be started on what was committed. The rules of the log itself are those of
`MemoryLog`; jobs and their fences are kept here.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import trio

from askd.core.calibration import Rates
from askd.core.events import Event, ItemAdded, PromptSteered, TurnFinished
from askd.core.items import UserMessage
from askd.errors import NotFound, RequestError, StaleFence, StorageFailed
from askd.jobs.desk import ENDS
from askd.store.jobs.orders import COMPLETED_AGE_S, REMOVAL_BATCH
from askd.store.jobs.queries import JobFailure, JobRow
from askd.store.jobs.rows import JobEnd
from askd.store.jobs.turns import Begun, Over, read_change
from askd.store.log import (
    TURN_KIND,
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
    uncounted: int = 0
    run_at: float = 0.0
    owner: str | None = None
    errors: list[str] = field(default_factory=list)
    finished_at: float | None = None
    code: int | None = None


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
        removed: how many old jobs each look for them has removed.
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
        self.removed: list[int] = []
        self._unheard: dict[tuple[str, str], list[str]] = {}
        self._heard: set[tuple[str, str]] = set()
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
        if write.bodies:
            return await self._log.append(write)  # a crash in its checkpoint: it was committed
        committed = await self._log.append(write)
        self._commit(())
        if write.jobs:
            self.observe(())  # whoever runs jobs hears of them
        return committed

    def _commit(self, events: Sequence[Event]) -> None:
        """Keep what belongs to a write in the moment in which its events are there."""
        write, self._committing = self._committing, None
        if write is not None:
            self._keep(write, events)
        self._check_steering(events)
        if events:
            self.observe(events)

    def _check_steering(self, events: Sequence[Event]) -> None:
        """What is accepted into a turn joins it, once, and before its end."""
        for event in events:
            id = event.conversation_id
            match event.body:
                case PromptSteered(turn_id=turn_id, items=items):
                    unheard = self._unheard.setdefault((id, turn_id), [])
                    unheard += [item.id for item in items]
                case ItemAdded(turn_id=str(turn_id), item=UserMessage(id=item_id)):
                    assert (id, item_id) not in self._heard, f"{item_id} joined {turn_id} twice"
                    if item_id in self._unheard.get((id, turn_id), ()):
                        self._unheard[id, turn_id].remove(item_id)
                        self._heard.add((id, item_id))
                case TurnFinished(turn_id=turn_id):
                    unheard = self._unheard.pop((id, turn_id), [])
                    assert not unheard, f"{turn_id} ended, and {unheard} never joined it"
                case _:
                    pass

    def _keep(self, write: Write, events: Sequence[Event]) -> None:
        self.writes.append(write)
        if write.fulfils is not None:
            done = self.jobs[write.fulfils.job_id]
            done.state, done.finished_at = "completed", self.now()
        if write.terminal is not None:
            self.terminals[write.terminal] = write.conversation_id
        for job in write.jobs:
            if not any(self._is_like(each, job) for each in self.jobs.values()):
                state = "available" if job.run_at <= self.now() else "scheduled"
                self.jobs[job.id] = JobState(job, write.conversation_id, state, run_at=job.run_at)
        self._follow_turns(events)

    def _follow_turns(self, events: Sequence[Event]) -> None:
        """A turn's job, if it has one, is what the turn's events say."""
        for event in events:
            turn_id, change = read_change(event) or ("", None)
            job = self.jobs.get(turn_id)
            if job is None or job.finished_at is not None:
                continue
            if isinstance(change, Begun):
                job.state, job.attempt = "running", change.attempt
            elif isinstance(change, Over):
                job.state, job.code, job.finished_at = change.state, change.code, self.now()
                job.errors += [] if change.error is None else [change.error]

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

    async def claim_job(self, *, without: Collection[str] = ()) -> ClaimedJob | None:
        await self._reach_jobs()
        due = [job for job in self._waiting(without) if self._due_s(job) <= 0]
        if not due:
            return None
        job = min(due, key=lambda each: each.run_at)
        job.state, job.owner, job.attempt = "running", self.boot_id, job.attempt + 1
        return ClaimedJob(
            fence=Fence(job.job.id, self.boot_id, job.attempt),
            kind=job.job.kind,
            conversation_id=job.conversation_id,
            arguments=job.job.arguments,
            attempt=job.attempt - job.uncounted,
            max_attempts=job.job.max_attempts,
            waited_s=max(0.0, self.now() - job.run_at),
        )

    async def end_job(
        self,
        fence: Fence,
        *,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        await self._reach_jobs()
        self._check_fence(fence)
        job = self.jobs[fence.job_id]
        job.state = state
        job.uncounted += state == "available"
        job.finished_at = self.now() if state in ENDS else None
        if error is not None:
            job.errors.append(error)
        if run_at is not None:
            job.run_at = run_at

    async def reset_orphans(self) -> int:
        await self._reach_jobs()
        orphans = [
            job
            for job in self.jobs.values()
            if job.state == "running" and job.owner != self.boot_id and job.job.kind != TURN_KIND
        ]
        for job in orphans:
            spent = job.attempt - job.uncounted >= job.job.max_attempts
            job.state = "discarded" if spent else "available"
        return len(orphans)

    async def find_next_run(self, *, without: Collection[str] = ()) -> float | None:
        await self._reach_jobs()
        return min((self._due_s(job) for job in self._waiting(without)), default=None)

    async def cancel_job(self, job_id: str) -> JobRow:
        await self._reach_jobs()
        job = self.jobs[job_id]
        if job.state not in ENDS:
            job.state, job.finished_at = "cancelled", self.now()
        return self._describe(job)

    async def retry_job(self, job_id: str) -> JobRow:
        await self._reach_jobs()
        job = self.jobs[job_id]
        if job.state in ("running", "completed"):
            raise RequestError("It cannot be tried again now.", reason="wrong_job_state")
        job.state, job.uncounted, job.run_at = "available", job.attempt, self.now()
        job.finished_at = None
        return self._describe(job)

    async def remove_old(self) -> int:
        await self._reach_jobs()
        old = [
            id
            for id, job in self.jobs.items()
            if job.finished_at is not None and job.finished_at < self.now() - COMPLETED_AGE_S
        ][:REMOVAL_BATCH]
        for id in old:
            del self.jobs[id]
        self.removed.append(len(old))
        return len(old)

    async def find_jobs(self, job_ids: Sequence[str]) -> list[JobRow]:
        await trio.lowlevel.checkpoint()
        if any(id not in self.jobs for id in job_ids):
            raise NotFound("Job not found", reason="job_not_found")
        return [self._describe(self.jobs[id]) for id in job_ids]

    async def _reach_jobs(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.failing:
            raise StorageFailed("The disk is full.")

    def _waiting(self, without: Collection[str]) -> list[JobState]:
        return [
            job
            for job in self.jobs.values()
            if job.state in ("available", "scheduled", "retryable")
            and job.job.kind not in (*without, TURN_KIND)
        ]

    def _due_s(self, job: JobState) -> float:
        return 0.0 if job.state == "available" else max(0.0, job.run_at - self.now())

    def _describe(self, job: JobState) -> JobRow:
        return JobRow(
            id=job.job.id,
            kind=job.job.kind,
            state=job.state,
            conversation_id=job.conversation_id,
            attempt=job.attempt - job.uncounted,
            max_attempts=job.job.max_attempts,
            run_at=job.run_at,
            created_at=0.0,
            started_at=None,
            finished_at=job.finished_at,
            error=job.errors[-1] if job.errors else None,
            errors=tuple(JobFailure(0.0, 1, error) for error in job.errors),
            code=job.code,
            turn_id=job.job.arguments.get("turn_id"),
        )

    def _check_fence(self, fence: Fence) -> None:
        job = self.jobs.get(fence.job_id)
        if (
            job is None
            or job.state != "running"
            or (job.owner, job.attempt) != (fence.boot_id, fence.attempt)
        ):
            raise StaleFence("This attempt is no longer the current one.")

    @staticmethod
    def _is_like(each: JobState, job: NewJob) -> bool:
        return each.state not in ENDS and (
            each.job.kind,
            each.job.unique_key,
        ) == (job.kind, job.unique_key)
