"""`client.jobs`: background work, listed, waited for, cancelled, tried again."""

from time import monotonic
from typing import Any

from ask.library.link import Link
from ask.library.values import Job, JobState, read_job

WAIT_S = 60.0
"""How long the daemon is asked to wait at once; it takes 300 s at the most."""


class Jobs:
    """The jobs of a daemon.

    Where a method takes a job it takes the value, an id, or the beginning of one
    (4 characters or more). One that is not there is `NotFound`.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    def list(
        self,
        *,
        kind: str | None = None,
        states: tuple[JobState, ...] | None = None,
        limit: int | None = 50,
    ) -> tuple[Job, ...]:
        """Jobs, the newest first, at most `limit`; only of this kind, only in these states."""
        asked = {"kind": kind, "states": None if states is None else [*states]}
        rows = self._link.list_rows("job/list", asked, limit=limit)
        return tuple(read_job(row) for row in rows)

    def read(self, job: Job | str) -> Job:
        """A job as it is now, with its failures and its question."""
        return read_job(self._link.call("job/read", {"job_id": find_id(job)}))

    def wait(
        self, *jobs: Job | str, any: bool = False, timeout_s: float | None = None
    ) -> tuple[Job, ...]:
        """The jobs when they are over, in their order, each with its `code`.

        A daemon that goes away meanwhile is waited for: jobs outlive daemons.

        Args:
            any: as soon as one of them is over.
            timeout_s: wait no longer; then some of them are not over (`Job.is_over`).
        """
        deadline = None if timeout_s is None else monotonic() + timeout_s
        asked: dict[str, Any] = {"job_ids": [find_id(each) for each in jobs], "any": any}
        while jobs:
            left = WAIT_S if deadline is None else max(deadline - monotonic(), 0.0)
            answer = self._link.call("job/wait", {**asked, "timeout_s": min(left, WAIT_S)})
            if answer["over"] or (deadline is not None and left <= WAIT_S):
                return tuple(read_job(row) for row in answer["data"])
        return ()

    def cancel(self, job: Job | str) -> Job:
        """End it; what it was about to do is not done."""
        return read_job(self._link.call("job/cancel", {"job_id": find_id(job)}))

    def retry(self, job: Job | str) -> Job:
        """Try it again now, with all its tries; of a turn the answer is another job."""
        asked = {"job_id": find_id(job), **self._link.describe_caller()}
        return read_job(self._link.call("job/retry", asked))


def find_id(job: Job | str) -> str:
    """What names a job on the wire."""
    return job.id if isinstance(job, Job) else job
