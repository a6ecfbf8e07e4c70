"""Where jobs are kept, and when one that failed is tried again.

The queue itself is the writer's; here is only what the worker needs of it, and
the one pure decision about time.
"""

from typing import Protocol

from askd.store.job_rows import JobEnd
from askd.store.log import ClaimedJob, Fence, Log

BACKOFF_MAX_S = 600.0
"""Ten minutes: what is still broken then is not helped by asking more often."""
JITTER = 0.2
"""A fifth either way, so that jobs that failed together do not come back together."""


class JobQueue(Log, Protocol):
    """The rows of jobs beside the log, on the same connection and in its transactions."""

    async def claim_job(self) -> ClaimedJob | None:
        """Make the due job that waited longest this boot's to run; None: none is due."""
        ...

    async def end_job(
        self,
        fence: Fence,
        *,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        """End an attempt; `available` puts it back for `run_at`; raise `StaleFence`."""
        ...

    async def reset_orphans(self) -> int:
        """Take back the jobs that another boot was running; answer how many."""
        ...


def backoff_s(attempt: int, chance: float) -> float:
    """Seconds until the try after `attempt` (1 is the first); `chance` in 0..1 spreads them."""
    # 2^64 would be more seconds than there are; the cap is reached long before.
    base = min(2.0 ** min(attempt, 64), BACKOFF_MAX_S)
    return base * (1 - JITTER + 2 * JITTER * chance)
