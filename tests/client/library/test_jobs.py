"""Jobs: listed, read, waited for in slices, whatever becomes of the daemon."""

import os
from pathlib import Path
from typing import Any

import pytest

import ask
from ask.library import jobs as jobs_module
from ask.library.jobs import Jobs
from ask.library.link import Link
from tests.client.library.test_link import drop_once
from tests.client.library.test_values import JOB
from tests.fakes.daemon import FakeDaemon, Refusal

Map = dict[str, Any]
OVER = {**JOB, "state": "completed", "code": 0}


def open_jobs(daemon: FakeDaemon) -> tuple[Jobs, Link]:
    link = Link(os.environ, start=False)
    return Jobs(link), link


def test_they_are_listed(lone_home: Path) -> None:
    page = {"data": [JOB, OVER], "next_cursor": None}
    with FakeDaemon(lone_home, results={"job/list": page}) as daemon:
        jobs, link = open_jobs(daemon)
        found = jobs.list(kind="turn", states=("running", "completed"))
        link.close()
    assert [job.is_over for job in found] == [False, True]
    (asked,) = daemon.asked("job/list")
    assert (asked["kind"], asked["states"]) == ("turn", ["running", "completed"])


def test_one_is_read_cancelled_and_tried_again(lone_home: Path) -> None:
    results = {f"job/{verb}": JOB for verb in ("read", "cancel", "retry")}
    with FakeDaemon(lone_home, results=results) as daemon:
        jobs, link = open_jobs(daemon)
        job = jobs.read("4aac")
        assert jobs.cancel(job) == jobs.retry(job) == job
        link.close()
    named = [params.get("job_id") for method, params in daemon.requests if method != "hello"]
    assert named == ["4aac", "j", "j"]
    assert "env" in daemon.asked("job/retry")[0]


def test_a_wait_goes_on_until_they_are_over(lone_home: Path) -> None:
    answers = [{"data": [JOB], "over": False}, {"data": [OVER], "over": True}]
    with FakeDaemon(lone_home, results={"job/wait": lambda params: answers.pop(0)}) as daemon:
        jobs, link = open_jobs(daemon)
        (job,) = jobs.wait("j", any=True)
        assert jobs.wait() == ()
        link.close()
    assert job.code == 0
    assert [each["any"] for each in daemon.asked("job/wait")] == [True, True]


def test_a_wait_has_its_limit(lone_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "WAIT_S", 10.0)
    clock = [0.0]
    monkeypatch.setattr(jobs_module, "monotonic", lambda: clock[0])

    def pass_time(params: Map) -> Map:
        clock[0] += params["timeout_s"]
        return {"data": [JOB], "over": False}

    waits: list[float] = []
    with FakeDaemon(lone_home, results={"job/wait": pass_time}) as daemon:
        jobs, link = open_jobs(daemon)
        (job,) = jobs.wait("j", timeout_s=25.0)
        waits += [each["timeout_s"] for each in daemon.asked("job/wait")]
        link.close()
    assert not job.is_over
    assert waits == [10.0, 10.0, 5.0]


def test_a_daemon_that_goes_away_is_waited_for(lone_home: Path) -> None:
    over = drop_once({"data": [OVER], "over": True})
    with FakeDaemon(lone_home, results={"job/wait": over}) as daemon:
        jobs, link = open_jobs(daemon)
        assert jobs.wait("j")[0].is_over
        link.close()
    assert len(daemon.raw) == 2


def test_one_that_is_not_there(lone_home: Path) -> None:
    missing = Refusal(3, "job_not_found", "No such job.")
    with FakeDaemon(lone_home, refuse={"job/read": [missing]}) as daemon:
        jobs, link = open_jobs(daemon)
        with pytest.raises(ask.NotFound):
            jobs.read("nothing")
        link.close()
