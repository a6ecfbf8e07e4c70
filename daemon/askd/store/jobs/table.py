"""The table of jobs as the worker asks it: every change goes through the one writer.

Whatever is said of a failure is kept without known credentials: an error may quote
anything. It decides nothing; what a change does is in `rows` and `orders`.
"""

from collections.abc import Callable, Collection

from askd.store.jobs import orders as job_orders
from askd.store.jobs import rows as job_rows
from askd.store.jobs.queries import JobRow
from askd.store.jobs.rows import JobEnd
from askd.store.log import ClaimedJob, Fence
from askd.store.writer import Writer

Hide = Callable[[str], str]


class JobTable:
    """Jobs beside the log. `find_hide` answers how to hide credentials now; None: none is hidden.

    Every method raises `StorageFailed`.
    """

    def __init__(self, writer: Writer, *, find_hide: Callable[[], Hide | None]) -> None:
        self._writer = writer
        self._find_hide = find_hide

    async def claim_job(self, *, without: Collection[str] = ()) -> ClaimedJob | None:
        """Make the due job that waited longest this boot's to run; None: none is due."""
        return await self._writer.apply(job_rows.claim_job(self._writer.boot_id, without=without))

    async def end_job(
        self,
        fence: Fence,
        *,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        """End an attempt, or put the job back; raises `StaleFence`."""
        hide = self._find_hide()
        if hide is not None and error is not None:
            error = hide(error)
        change = job_rows.end_job(fence, state=state, error=error, run_at=run_at)
        await self._writer.apply(change)

    async def reset_orphans(self) -> int:
        """Take back the jobs that another boot was running; answers how many."""
        return await self._writer.apply(job_rows.reset_orphans(self._writer.boot_id))

    async def find_next_run(self, *, without: Collection[str] = ()) -> float | None:
        """In how many seconds the next waiting job will be due; None: none waits."""
        return await self._writer.apply(job_orders.find_next_run(without=without))

    async def cancel_job(self, job_id: str) -> JobRow:
        """End a job that is not over; raises `NotFound`, `RequestError`."""
        return await self._writer.apply(job_orders.cancel_job(job_id))

    async def retry_job(self, job_id: str) -> JobRow:
        """Put a job back, with all its tries; raises `NotFound`, `RequestError`."""
        return await self._writer.apply(job_orders.retry_job(job_id))

    async def remove_old(self) -> int:
        """Remove a batch of jobs that have been over for long; answers how many."""
        return await self._writer.apply(job_orders.remove_old)
