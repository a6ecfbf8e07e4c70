"""Background jobs of the fake daemon: rows that a test has made, which end as they are told to."""

from collections.abc import Callable
from typing import Any

from tests.client.commands.fake_log import NOW, Refusal

Map = dict[str, Any]


class FakeJobs:
    """The background jobs of one daemon.

    Attributes:
        jobs: the rows of `job/list`; `job_page`, how many a page has at the most.
        waiting: called with the number of each `job/wait` before it is answered.
        notifier: what `notify/test` answers; `sending`, if one is to be sent.
    """

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Map] = []
        self.job_page = 200
        self.job_waits = 0
        self.notifier: Map = {"state": "ready", "text": "with /usr/bin/notify-send"}
        self.sending: Map | None = None
        self.waiting: Callable[[int], None] = lambda number: None

    def _find_job(self, params: Map) -> Map:
        found = [job for job in self.jobs if job["id"].startswith(params["job_id"])]
        if len(found) != 1:
            text = f"Job not found: id={params['job_id']}\nList them: ask jobs list"
            raise Refusal("job_not_found", text)
        return found[0]

    def _notify_test(self, params: Map) -> Map:
        return self.sending or self.notifier if params.get("send") else self.notifier

    def _job_list(self, params: Map) -> Map:
        kind, states = params.get("kind"), params.get("states")
        rows = [
            job
            for job in self.jobs
            if kind in (None, job["kind"]) and (not states or job["state"] in states)
        ]
        first = int(params.get("cursor") or 0)
        last = first + min(params["limit"], self.job_page)
        return {"data": rows[first:last], "next_cursor": str(last) if last < len(rows) else None}

    def _job_read(self, params: Map) -> Map:
        return self._find_job(params)

    def _job_cancel(self, params: Map) -> Map:
        job = self._find_job(params)
        if job["finished_at"] is None:
            job.update(state="cancelled", finished_at=NOW)
        return job

    def _job_retry(self, params: Map) -> Map:
        job = self._find_job(params)
        if job["state"] == "completed":
            raise Refusal("wrong_job_state", f"The job {job['id']} is completed.")
        job.update(state="available", attempt=0, finished_at=None)
        return job

    def _job_wait(self, params: Map) -> Map:
        self.job_waits += 1
        self.waiting(self.job_waits)
        rows = [self._find_job({"job_id": id}) for id in params["job_ids"]]
        over = [job["finished_at"] is not None for job in rows]
        return {"data": rows, "over": any(over) if params.get("any") else all(over)}
