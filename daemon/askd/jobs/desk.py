"""Where people and programs ask for jobs: found, waited for, cancelled, tried again.

A kind that the worker does not run brings its own way of being cancelled and tried
again; for all others the table knows.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from askd.jobs.counters import KindCount
from askd.jobs.queue import JobQueue
from askd.jobs.worker import Worker
from askd.providers.base import Caller
from askd.store.jobs.queries import JobRow

LOOK_S = 5.0
"""A job may go with its conversation, which rings no bell: so long until who waits hears of it."""
ENDS = ("completed", "cancelled", "discarded")


class JobReader(Protocol):
    """Reads the committed table; `store.queries.Reader` does."""

    async def find_jobs(self, job_ids: Sequence[str]) -> list[JobRow]:
        """Jobs by their ids or beginnings of these; raise `NotFound`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """How jobs of one kind are cancelled and tried again; both raise `AskdError` to refuse.

    `retry` answers with the id of the job that does it now, and may use what the caller lends.
    """

    cancel: Callable[[JobRow], Awaitable[None]]
    retry: Callable[[JobRow, Caller], Awaitable[str]]


class JobDesk:
    """Orders for jobs; an id may be the beginning of one, 4 characters at least."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        reader: JobReader,
        worker: Worker,
        steering: Mapping[str, Steering] | None = None,
    ) -> None:
        self._queue = queue
        self._reader = reader
        self._worker = worker
        self._steering = steering or {}

    async def find(self, job_id: str) -> JobRow:
        """One job; raises `NotFound`."""
        (row,) = await self._reader.find_jobs([job_id])
        return row

    async def cancel(self, job_id: str) -> JobRow:
        """End a job now, whatever it is at; one that is over stays as it is. Raises `NotFound`."""
        row = await self.find(job_id)
        steering = self._steering.get(row.kind)
        if steering is not None:
            await steering.cancel(row)
            return await self.find(row.id)
        row = await self._queue.cancel_job(row.id)
        if row.state == "cancelled":
            self._worker.stop(row.id)  # whatever it still brings, the fence refuses
        self._worker.bell.ring()
        return row

    async def retry(self, job_id: str, caller: Caller) -> JobRow:
        """Put a job back, to run now and with all its tries; a turn's comes as another job.

        Raises:
            NotFound: there is none.
            RequestError: it runs, or is completed, or another is to do the same.
        """
        row = await self.find(job_id)
        steering = self._steering.get(row.kind)
        if steering is not None:
            return await self.find(await steering.retry(row, caller))
        row = await self._queue.retry_job(row.id)
        self._worker.bell.ring()
        return row

    async def wait(
        self, job_ids: Sequence[str], *, only_one: bool, timeout_s: float
    ) -> tuple[list[JobRow], bool]:
        """The jobs when all of them, or `only_one` of them, are over; False: the time was.

        Raises:
            NotFound: one is not there, or has gone with its conversation meanwhile.
        """
        ids = [row.id for row in await self._reader.find_jobs(job_ids)]
        deadline = trio.current_time() + timeout_s
        while True:
            heard = self._worker.ends.listen()
            rows = await self._reader.find_jobs(ids)
            over = [row.state in ENDS for row in rows]
            if (any if only_one else all)(over):
                return rows, True
            left_s = deadline - trio.current_time()
            if left_s <= 0:
                return rows, False
            with trio.move_on_after(min(left_s, LOOK_S)):
                await heard.wait()

    def count(self) -> Sequence[KindCount]:
        """What the worker did since the start of the daemon, by kind."""
        return self._worker.count()
