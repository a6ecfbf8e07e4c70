"""Waiting for jobs ends with their code, and outlives a daemon that goes away."""

import json
import signal
import socket

import pytest

from ask.commands import job_waiting
from ask.commands.job_waiting import LOST_LIMIT, find_code
from tests.client.commands.conftest import Ask, Run
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.job_records import job


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        ("completed", None, 0),
        ("discarded", None, 1),
        ("cancelled", None, 1),
        ("completed", 0, 0),
        ("discarded", 7, 7),
        ("cancelled", 0, 0),
    ],
)
def test_the_code_of_a_job(state: str, code: int | None, expected: int) -> None:
    assert find_code(job("j", state, code=code)) == expected


def test_the_first_code_that_is_not_0_counts(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [
        job("aaaa", "completed"),
        job("bbbb", "discarded", code=7),
        job("cccc", "cancelled"),
    ]
    result = ask("jobs", "wait", "aaaa", "bbbb", "cccc")
    assert result.code == 7
    assert result.out == "aaaa  completed\nbbbb  discarded\ncccc  cancelled\n"
    assert ask("jobs", "wait", "cccc", "bbbb").code == 1
    assert ask("jobs", "wait", "aaaa").code == 0


def test_any_ends_with_the_one_that_is_over(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa", "running"), job("bbbb", "discarded", code=5)]
    result = ask("jobs", "wait", "aaaa", "bbbb", "--any")
    assert (result.code, result.out) == (5, "bbbb  discarded\n")


def test_it_asks_until_they_are_over(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa", "running")]

    def end(number: int) -> None:
        if number == 3:
            daemon.jobs[0].update(state="completed", finished_at=1.0)

    daemon.waiting = end
    result = ask("jobs", "wait", "aaaa", "--json")
    assert (result.code, json.loads(result.out)[0]["state"]) == (0, "completed")
    assert daemon.job_waits == 3


def test_a_time_limit_is_kept(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaabbbbcccc", "running"), job("dddd", "completed")]
    result = ask("jobs", "wait", "aaaa", "dddd", "--timeout", "0")
    assert (result.code, result.out) == (124, "")
    assert result.err == "Not over after 0 s: aaaabbbb.\nThey go on. See them: ask jobs list\n"
    assert ask("jobs", "wait", "aaaa", "--timeout", "-1").code == 2


def hang_up(daemon: FakeDaemon) -> None:
    for connection in daemon.connections:
        connection.shutdown(socket.SHUT_RDWR)


def test_a_daemon_that_goes_away_is_looked_for_again(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_waiting, "PAUSE_S", 0.0)
    daemon.jobs = [job("aaaa", "running")]

    def leave_once(number: int) -> None:
        if number == 1:
            hang_up(daemon)
        else:
            daemon.jobs[0].update(state="completed", finished_at=1.0)

    daemon.waiting = leave_once
    assert ask("jobs", "wait", "aaaa").code == 0
    assert daemon.job_waits == 2


def test_daemons_that_go_away_again_and_again_are_given_up(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_waiting, "PAUSE_S", 0.0)
    daemon.jobs = [job("aaaa", "running")]
    daemon.waiting = lambda number: hang_up(daemon)
    assert ask("jobs", "wait", "aaaa").code == 69
    assert daemon.job_waits == LOST_LIMIT


def test_ctrl_c_ends_the_waiting_alone(daemon: FakeDaemon, run: Run) -> None:
    daemon.jobs = [job("aaaa", "running")]
    waiting = run("jobs", "wait", "aaaa")
    daemon.waiting = lambda number: waiting.process.send_signal(signal.SIGINT)
    assert waiting.end()[0] == 130
    assert daemon.called("job/cancel") == []
