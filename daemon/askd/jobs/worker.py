"""The worker: claims due jobs, a few of each kind at once, and sees each try to its end.

What a try comes to is decided in `attempt`; here is which job begins when, and that
none holds up those of another kind. It knows no kind of work, and nothing that a
kind does ends it. Due is a matter of the wall clock, waiting of the monotonic one.
"""

import functools
import logging
from collections.abc import Callable, Mapping, Sequence

import trio

from askd.core.events import Event, TurnFinished
from askd.errors import StorageFailed
from askd.jobs.attempt import Attempts, insist
from askd.jobs.base import Kind
from askd.jobs.bell import Bell
from askd.jobs.counters import Counters, KindCount
from askd.jobs.queue import JobQueue
from askd.store.jobs.orders import REMOVAL_BATCH
from askd.store.log import ClaimedJob, Log

log = logging.getLogger(__name__)

POLL_S = 60.0
"""Jobs are announced; this is for those that nobody announced."""
CLOCK_LOOK_S = 5.0
"""While a job waits for its time: how soon a wall clock that was set is noticed."""
JUMP_S = 1.0
"""What the two clocks may differ by after such a look; a clock that is being slewed stays below."""
SHORTEST_REST_S = 0.01
"""The clocks are not equally fine: a job that is due in no time must not be asked for in a loop."""
SWEEP_S = 3600.0
"""Between two looks for jobs that have been over for long."""


class Worker:
    """Runs jobs. `now` in unix seconds, `chance` draws from 0..1."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        log: Log,
        kinds: Mapping[str, Kind],
        now: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._kinds = kinds
        self._now = now
        self._counters = Counters()
        self._attempts = Attempts(
            queue, log=log, kinds=kinds, now=now, chance=chance, counters=self._counters
        )
        self._sweep_at = 0.0
        self.ends = Bell()
        """Rings when a job may be over, a turn's too: for whoever waits for one."""
        self.bell = Bell(also=self.ends)
        """Rings when there may be a job to run, or room for one: the worker looks."""

    def observe(self, events: Sequence[Event]) -> None:
        """Hear of a turn's end, which may have been a job's; what it causes rings by itself."""
        if any(isinstance(event.body, TurnFinished) for event in events):
            self.ends.ring()

    def stop(self, job_id: str) -> None:
        """End the try of a job that is cancelled already; harmless if there is none."""
        self._attempts.stop(job_id)

    def count(self) -> Sequence[KindCount]:
        """What was done since the start, by kind."""
        return self._counters.read(at=trio.current_time())

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take back what an earlier boot left, then run what is due, until cancelled."""
        task_status.started()  # a disk that is full now must not keep the daemon from starting
        self._sweep_at = trio.current_time()
        await insist(self._queue.reset_orphans)
        # In it: every try under way; a cancelled worker hands their jobs back.
        async with trio.open_nursery() as tries:
            while True:
                heard = self.bell.listen()
                full = self._find_full()
                job = await insist(functools.partial(self._queue.claim_job, without=full))
                if job is None:
                    await self._rest(heard, full)
                else:
                    await tries.start(self._see_through, job)

    async def _see_through(
        self, job: ClaimedJob, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """One try; it is counted before the next job is claimed."""
        await self._attempts.run(job, started=task_status.started)
        self.bell.ring()

    def _find_full(self) -> list[str]:
        """The kinds of which as many run as may."""
        return [
            name for name, kind in self._kinds.items() if self._counters.running(name) >= kind.limit
        ]

    async def _rest(self, heard: trio.Event, full: Sequence[str]) -> None:
        """Wait until a job may be due; with nothing at all to do, clear away old ones."""
        if not self._attempts.running() and await self._sweep():
            return
        try:
            due_s = await self._queue.find_next_run(without=full)
        except StorageFailed:
            due_s = None  # asked again soon enough
        if due_s is None:
            with trio.move_on_after(POLL_S):
                await heard.wait()
        else:
            await self._wait_until_due(heard, max(SHORTEST_REST_S, min(due_s, POLL_S)))

    async def _wait_until_due(self, heard: trio.Event, wait_s: float) -> None:
        """Wait on the monotonic clock, and look up when the wall clock has been set."""
        began = trio.current_time()
        apart = self._now() - began
        while (left_s := began + wait_s - trio.current_time()) > 0 and not heard.is_set():
            with trio.move_on_after(min(left_s, CLOCK_LOOK_S)):
                await heard.wait()
            if abs(self._now() - trio.current_time() - apart) > JUMP_S:
                log.info("The clock was set: looking for jobs that are due now.")
                return

    async def _sweep(self) -> bool:
        """Remove a batch of old jobs if it is time to; True: there may be more."""
        if trio.current_time() < self._sweep_at:
            return False
        self._sweep_at = trio.current_time() + SWEEP_S
        try:
            removed = await self._queue.remove_old()
        except StorageFailed as error:
            log.warning("Old jobs cannot be removed now: %s", error.message)
            return False
        if removed < REMOVAL_BATCH:
            return False
        self._sweep_at = trio.current_time()
        return True
