"""The worker: claims due jobs, one after the other, and sees each try to its end.

A try ends completed with its effect in one write, or failed and put back, or
given up. Being cancelled ends none: the next boot takes the job back. It knows
no kind of work; nothing that a kind does ends it.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import trio

from askd.core.events import Body, Event, TurnFinished
from askd.errors import NotFound, StaleFence, StorageFailed
from askd.jobs.queue import JobQueue, backoff_s
from askd.sessions.offload import offload_bodies
from askd.store.job_rows import JobEnd
from askd.store.log import ClaimedJob, Write

T = TypeVar("T")

log = logging.getLogger(__name__)

POLL_S = 60.0
"""Jobs are announced; this is for those that nobody announced, and for clocks that jump."""
STORAGE_PAUSE_S = 5.0
"""While storage fails nothing can be claimed or ended: ask again this often."""

Run = Callable[[ClaimedJob], Awaitable[Sequence[Body]]]
"""One try: answers with the events that are its effect, none if there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: what one try does, and how long it may take."""

    run: Run
    timeout_s: float


class Worker:
    """Runs jobs. `now` in unix seconds, `chance` draws from 0..1."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        kinds: Mapping[str, Kind],
        now: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._kinds = kinds
        self._now = now
        self._chance = chance
        self._wake = trio.Event()
        self._retries: list[float] = []

    def observe(self, events: Sequence[Event]) -> None:
        """Look for work: the end of a turn may have caused some."""
        if any(isinstance(event.body, TurnFinished) for event in events):
            self._wake.set()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take back what an earlier boot left, then run what is due, until cancelled."""
        task_status.started()  # a disk that is full now must not keep the daemon from starting
        await self._insist(self._queue.reset_orphans)
        while True:
            job = await self._insist(self._queue.claim_job)
            if job is None:
                await self._rest()
            else:
                await self._try(job)

    async def _rest(self) -> None:
        """Wait until a job may be due."""
        now = self._now()
        self._retries = [at for at in self._retries if at > now]
        next_s = min(self._retries, default=math.inf) - now
        with trio.move_on_after(min(next_s, POLL_S)):
            await self._wake.wait()
        self._wake = trio.Event()

    async def _try(self, job: ClaimedJob) -> None:
        kind = self._kinds.get(job.kind)
        if kind is None:
            await self._end(job, "discarded", f"This version knows no job of kind {job.kind!r}.")
            return
        try:
            with trio.fail_after(kind.timeout_s):
                bodies = await kind.run(job)
        except trio.TooSlowError:
            error = f"It took longer than {kind.timeout_s:g} s."
        except Exception as fault:
            log.warning("Job failed: kind=%s, id=%s", job.kind, job.fence.job_id, exc_info=fault)
            error = str(fault) or type(fault).__name__
        else:
            await self._complete(job, bodies)
            return
        await self._fail(job, error)

    async def _complete(self, job: ClaimedJob, bodies: Sequence[Body]) -> None:
        """Commit effect and completion together; without an effect, the completion alone."""
        if not bodies or job.conversation_id is None:
            await self._end(job, "completed")
            return
        lean, blobs = offload_bodies(bodies)
        write = Write(
            conversation_id=job.conversation_id,
            bodies=lean,
            fulfils=job.fence,
            blobs=list(blobs.items()),
        )
        try:
            await self._queue.append(write)
        except (NotFound, StaleFence) as gone:
            log.info("Job came too late: kind=%s: %s", job.kind, gone.message)
        except Exception as fault:
            log.warning("Job's effect was refused: kind=%s", job.kind, exc_info=fault)
            await self._fail(job, str(fault))

    async def _fail(self, job: ClaimedJob, error: str) -> None:
        """Put the job back for later, or give it up after its last try."""
        if job.attempt >= job.max_attempts:
            await self._end(job, "discarded", error)
            return
        run_at = self._now() + backoff_s(job.attempt, self._chance())
        self._retries.append(run_at)
        await self._end(job, "available", error, run_at)

    async def _end(
        self,
        job: ClaimedJob,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        async def end() -> None:
            await self._queue.end_job(job.fence, state=state, error=error, run_at=run_at)

        try:
            await self._insist(end)
        except StaleFence:
            # Deleted with its conversation, or ended by somebody else: either way it is over.
            log.info("Job is no longer ours: kind=%s, id=%s", job.kind, job.fence.job_id)

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until storage answers: a job that cannot be ended must not be forgotten."""
        while True:
            try:
                return await ask()
            except StaleFence:
                raise
            except StorageFailed as error:
                log.warning("Jobs wait for storage: %s", error.message)
                await trio.sleep(STORAGE_PAUSE_S)
