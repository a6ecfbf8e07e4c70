"""Where jobs are kept, and when one that failed is tried again.

The table is the store's; here is only what the worker needs of it, and the one
pure decision about time.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from askd.store.jobs.queries import JobRow
from askd.store.jobs.rows import LONGEST_RETRY_S, JobEnd
from askd.store.log import ClaimedJob, Fence

BACKOFF_MAX_S = 600.0
"""Ten minutes: what is still broken then is not helped by asking more often."""
JITTER = 0.2
"""A fifth either way, so that jobs that failed together do not come back together."""


class JobQueue(Protocol):
    """The table of jobs; `store.jobs.table.JobTable` is it. All of it raises `StorageFailed`."""

    async def claim_job(self, *, without: Collection[str] = ()) -> ClaimedJob | None:
        """Make the due job that waited longest this boot's to run; None: none is due.

        `without`: kinds of which enough run already.
        """
        ...

    async def end_job(
        self,
        fence: Fence,
        *,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        """End an attempt; `retryable` puts the job back for `run_at`; raise `StaleFence`."""
        ...

    async def reset_orphans(self) -> int:
        """Take back the jobs that another boot was running; answer how many."""
        ...

    async def find_next_run(self, *, without: Collection[str] = ()) -> float | None:
        """In how many seconds the next waiting job will be due; None: none waits."""
        ...

    async def cancel_job(self, job_id: str) -> JobRow:
        """End a job that is not over; raise `NotFound`, `RequestError`."""
        ...

    async def retry_job(self, job_id: str) -> JobRow:
        """Put a job back, with all its tries; raise `NotFound`, `RequestError`."""
        ...

    async def remove_old(self) -> int:
        """Remove a batch of jobs that have been over for long; answer how many."""
        ...


def backoff_s(attempt: int, chance: float, *, delays_s: Sequence[float] = ()) -> float:
    """Seconds until the try after `attempt` (1 is the first); `chance` in 0..1 spreads them.

    `delays_s`: a kind's own, for the first try's failure, the second's, ...; the last repeats.
    """
    if delays_s:
        base = delays_s[min(attempt, len(delays_s)) - 1]
    else:
        # 2^64 would be more seconds than there are; the cap is reached long before.
        base = min(2.0 ** min(attempt, 64), BACKOFF_MAX_S)
    return min(base * (1 - JITTER + 2 * JITTER * chance), LONGEST_RETRY_S)
