"""One try of a job, from its claim to its end.

It ends completed with its effect in one write, or failed and put back, or given up.
A job that somebody cancelled is over already: its try is only stopped. One that
the daemon's own end cuts short is handed back, and does not count; after a crash
nobody does that, and then it does.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, assert_never

import trio

from askd.errors import AskdError, NotFound, StaleFence, StorageFailed, find_leaves
from askd.jobs.base import Applied, Effect, GaveUp, Kind, NothingToDo, Outcome
from askd.jobs.counters import Counters, End
from askd.jobs.queue import JobQueue, backoff_s
from askd.sessions.offload import offload_bodies
from askd.store.jobs.rows import LONGEST_RETRY_S
from askd.store.log import ClaimedJob, Fence, Log, Write

T = TypeVar("T")

log = logging.getLogger(__name__)

STORAGE_PAUSE_S = 5.0
"""While storage fails nothing can be claimed or ended: ask again this often."""
HAND_BACK_S = 2.0
"""At the daemon's end: storage that does not answer by then leaves the job to the next start."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """A try that did not work. `final`: another cannot either; `not_before_at`: in unix seconds."""

    error: str
    final: bool = False
    not_before_at: float = 0.0


@dataclass(frozen=True, slots=True)
class _Lost:
    """The job is no longer this try's: cancelled, or deleted with its conversation."""


class Attempts:
    """The tries that are under way. `now` in unix seconds, `chance` draws from 0..1."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        log: Log,
        kinds: Mapping[str, Kind],
        now: Callable[[], float],
        chance: Callable[[], float],
        counters: Counters,
    ) -> None:
        self._queue = queue
        self._log = log
        self._kinds = kinds
        self._now = now
        self._chance = chance
        self._counters = counters
        self._scopes: dict[Fence, trio.CancelScope] = {}

    def running(self) -> int:
        """How many tries are under way."""
        return len(self._scopes)

    def stop(self, job_id: str) -> None:
        """End the tries of a job that is over already; harmless if there are none."""
        for fence, scope in self._scopes.items():
            if fence.job_id == job_id:
                scope.cancel()

    async def run(self, job: ClaimedJob, *, started: Callable[[], None]) -> None:
        """See one try to its end; `started` is called as soon as it is counted."""
        fence = job.fence
        how: End = "stopped"
        self._counters.begin(job.kind, fence, waited_s=job.waited_s, at=trio.current_time())
        with trio.CancelScope() as scope:
            self._scopes[fence] = scope
            try:
                started()
                how = await self._try(job)
            except trio.Cancelled:
                if scope.cancel_called:
                    how = "cancelled"
                else:
                    await self._hand_back(job)
                raise
            finally:
                del self._scopes[fence]
                self._counters.end(job.kind, fence, how, at=trio.current_time())

    async def _try(self, job: ClaimedJob) -> End:
        """What the job's kind does, and what becomes of the job."""
        kind = self._kinds.get(job.kind)
        if kind is None:
            error = f"This version knows no job of kind {job.kind!r}."
            return await self._fail(job, _Failed(error, final=True), delays_s=())
        outcome = await self._ask(kind, job)
        match await self._commit(job, outcome) if isinstance(outcome, Effect) else outcome:
            case NothingToDo():
                return await self._end(job, "completed")
            case Applied():
                return await self._check_applied(job)
            case _Failed() as failed:
                return await self._fail(job, failed, delays_s=kind.delays_s)
            case _Lost():
                log.info("Job is no longer ours: kind=%s, id=%s", job.kind, job.fence.job_id)
                return "cancelled"
            case never:
                assert_never(never)

    async def _ask(self, kind: Kind, job: ClaimedJob) -> Outcome | _Failed | _Lost:
        """Let the kind work, for as long as it may."""
        outcome: Outcome | _Failed | _Lost = _Failed(f"It took longer than {kind.timeout_s:g} s.")
        with trio.move_on_after(kind.timeout_s):
            try:
                outcome = await kind.run(job)
            except GaveUp as end:
                outcome = _Failed(str(end), final=True)
            except StaleFence:
                outcome = _Lost()
            except Exception as fault:
                log.warning(
                    "Job failed: kind=%s, id=%s", job.kind, job.fence.job_id, exc_info=fault
                )
                outcome = _explain(fault)
        return outcome

    async def _commit(
        self, job: ClaimedJob, effect: Effect
    ) -> NothingToDo | Applied | _Failed | _Lost:
        """Commit effect and completion together; without an effect there is nothing to do."""
        if job.conversation_id is None or not (effect.bodies or effect.jobs):
            return NothingToDo()
        lean, blobs = offload_bodies(effect.bodies)
        write = Write(
            conversation_id=job.conversation_id,
            bodies=lean,
            jobs=effect.jobs,
            fulfils=job.fence,
            blobs=list(blobs.items()),
        )
        try:
            await self._log.append(write)
        except (NotFound, StaleFence):
            return _Lost()
        except Exception as fault:
            log.warning("Job's effect was refused: kind=%s", job.kind, exc_info=fault)
            return _explain(fault)
        return Applied()

    async def _check_applied(self, job: ClaimedJob) -> End:
        """An effect that was committed has ended the job; one that was not must not hang."""
        left = "Its effect was said to be stored, and was not."
        how = await self._end(job, "discarded", left)
        return "completed" if how == "cancelled" else how

    async def _fail(self, job: ClaimedJob, failed: _Failed, *, delays_s: Sequence[float]) -> End:
        """Put the job back for later, or give it up after its last try."""
        if failed.final or job.attempt >= job.max_attempts:
            return await self._end(job, "discarded", failed.error)
        now = self._now()
        run_at = now + backoff_s(job.attempt, self._chance(), delays_s=delays_s)
        run_at = max(run_at, min(failed.not_before_at, now + LONGEST_RETRY_S))
        return await self._end(job, "retryable", failed.error, run_at)

    async def _end(
        self,
        job: ClaimedJob,
        state: Literal["completed", "discarded", "retryable"],
        error: str | None = None,
        run_at: float | None = None,
    ) -> End:
        async def end() -> None:
            await self._queue.end_job(job.fence, state=state, error=error, run_at=run_at)

        try:
            await insist(end)
        except StaleFence:
            # Deleted with its conversation, or ended by somebody else: either way it is over.
            return "cancelled"
        return "failed" if state == "retryable" else state

    async def _hand_back(self, job: ClaimedJob) -> None:
        with trio.move_on_after(HAND_BACK_S, shield=True):
            try:
                await self._queue.end_job(job.fence, state="available")
            except StorageFailed as error:
                log.info("Job is left to the next start: kind=%s: %s", job.kind, error.message)


def _explain(fault: Exception) -> _Failed:
    """What is kept of an error: the first that a person can act on, without its wrapping."""
    leaves = list(find_leaves(fault))
    known = next((each for each in leaves if isinstance(each, AskdError)), None)
    retry_at = known.data.get("retry_at") if known is not None else None
    not_before_at = float(retry_at) if isinstance(retry_at, int | float) else 0.0
    said = known or leaves[0]
    return _Failed(str(said) or type(said).__name__, not_before_at=not_before_at)


async def insist(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until storage answers: a job that cannot be ended must not be forgotten.

    Raises:
        StaleFence: that is an answer.
    """
    while True:
        try:
            return await ask()
        except StaleFence:
            raise
        except StorageFailed as error:
            log.warning("Jobs wait for storage: %s", error.message)
            await trio.sleep(STORAGE_PAUSE_S)
