"""Jobs by name: listed, shown, and what went wrong in them."""

import json

import pytest

from ask.commands.job_layout import NO_JOBS, NONE_OPEN
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.job_records import job


def test_what_is_not_over_is_listed(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa-1", "completed"), job("bbbb-2", "running"), job("cccc-3")]
    lines = ask("jobs", "list").out.splitlines()
    assert [line.split()[:2] for line in lines] == [["bbbb-2", "running"], ["cccc-3", "available"]]
    assert [each["id"] for each in json.loads(ask("jobs", "list", "--all", "--json").out)] == [
        "bbbb-2",
        "cccc-3",
        "aaaa-1",
    ]


def test_at_a_terminal_it_is_said_how_to_answer(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.jobs = [job("aaaa-1", "running", needs_you=True), job("bbbb-2", "running")]
    assert ask("jobs", "list").err == ""
    monkeypatch.setattr("ask.commands.jobs.find_columns", lambda: 80)
    result = ask("jobs", "list")
    assert result.out.startswith("aaaa-1  needs you  title")
    assert result.err == "\nTo answer: ask attach 0c0ffee0\n"
    daemon.jobs.pop(0)
    assert ask("jobs", "list").err == ""


def test_all_pages_are_read(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.job_page = 2
    daemon.jobs = [job(f"job-{number}") for number in range(5)]
    assert len(json.loads(ask("jobs", "list", "--json").out)) == 5


def test_only_some(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("a", "discarded"), job("b", "completed", kind="compact"), job("c")]

    def ids(*options: str) -> list[str]:
        return [each["id"] for each in json.loads(ask("jobs", "list", "--json", *options).out)]

    assert ids("--state", "discarded") == ["a"]
    assert ids("--state", "discarded", "--state", "available") == ["c", "a"]
    assert ids("--kind", "compact") == []
    assert ids("--kind", "compact", "--all") == ["b"]
    assert ask("jobs", "list", "--state", "executing").code == 2


def test_nothing_to_list_is_said_with_what_to_do(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("jobs", "list").out == f"{NO_JOBS}\n"
    assert ask("jobs", "list", "--json").out == "[]\n"
    daemon.jobs = [job("a", "completed")]
    assert ask("jobs", "list").out == f"{NONE_OPEN}\n"
    assert ask("jobs", "list", "--kind", "compact").out.startswith("No such job is kept.")


def test_one_is_shown_by_the_beginning_of_its_id(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa-1", "retryable", errors=[{"at": 0.0, "attempt": 1, "error": "No."}])]
    out = ask("jobs", "show", "aaaa").out
    assert out.startswith("Job: aaaa-1\nKind: title\nState: retryable (next try ")
    assert out.endswith("Errors:\n    1970-01-01 00:00:00  try 1: No.\n")
    assert json.loads(ask("jobs", "show", "aaaa", "--json").out)["id"] == "aaaa-1"


def test_a_job_that_is_not_there(daemon: FakeDaemon, ask: Ask) -> None:
    for command in ("show", "logs", "cancel", "retry", "wait"):
        result = ask("jobs", command, "nobody")
        assert (result.code, result.out) == (3, "")
        assert result.err == "Job not found: id=nobody\nList them: ask jobs list\n"


def test_logs_are_the_errors(daemon: FakeDaemon, ask: Ask) -> None:
    errors = [{"at": 0.0, "attempt": 1, "error": "\x1b[31mNo.\nReally."}]
    daemon.jobs = [job("aaaa", "retryable", errors=errors), job("bbbb", "completed", errors=[])]
    assert ask("jobs", "logs", "aaaa").out == "1970-01-01 00:00:00  try 1: No.\n    Really.\n"
    quiet = ask("jobs", "logs", "bbbb")
    assert (quiet.code, quiet.out) == (0, "")
    assert quiet.err == "Nothing went wrong: the job is completed.\n"
