"""Jobs are cancelled and tried again, all that were named or none."""

import json

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.job_records import job


def test_jobs_are_cancelled(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa-1"), job("bbbb-2", "running"), job("cccc-3", "completed")]
    result = ask("jobs", "cancel", "aaaa", "bbbb", "aaaa-1")
    assert (result.code, result.out) == (0, "")
    assert result.err == "Cancelled: aaaa-1\nCancelled: bbbb-2\n"
    assert [each["state"] for each in daemon.jobs] == ["cancelled", "cancelled", "completed"]


def test_what_was_over_already_is_said(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa-1", "completed"), job("bbbb-2")]
    result = ask("jobs", "cancel", "aaaa", "bbbb", "--json")
    assert result.code == 1
    assert [each["state"] for each in json.loads(result.out)] == ["completed", "cancelled"]
    assert result.err.startswith("The job aaaa-1 was over already: completed.\n")


def test_nothing_is_changed_when_one_is_not_there(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa-1", "discarded")]
    for command in ("cancel", "retry"):
        assert ask("jobs", command, "aaaa", "nobody").code == 3
        assert ask("jobs", command).code == 2
    assert daemon.jobs[0]["state"] == "discarded"


def test_jobs_are_tried_again(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa-1", "discarded"), job("bbbb-2", "completed")]
    assert ask("jobs", "retry", "aaaa").out == "aaaa-1\n"
    assert daemon.jobs[0]["state"] == "available"
    assert json.loads(ask("jobs", "retry", "aaaa", "--json").out)[0]["attempt"] == 0
    refused = ask("jobs", "retry", "bbbb")
    assert (refused.code, refused.err) == (2, "The job bbbb-2 is completed.\n")
