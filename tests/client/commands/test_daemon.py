"""The daemon's life by hand: what is said, and that the end is waited for."""

import json
import os

import pytest

from ask.commands import daemon as command
from ask.fast import status
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


@pytest.fixture
def no_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake lives in this process, whose end nobody wants to wait for."""

    def refuse(pid: int) -> int:
        raise OSError("not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)


def test_status_is_one_fact_a_line_or_one_object(daemon: FakeDaemon, ask: Ask) -> None:
    lines = ask("daemon", "status").out.splitlines()
    assert f"pid: {os.getpid()}" in lines
    record = json.loads(ask("daemon", "status", "--json").out)
    for name in ("pid", "version", "protocol", "boot_id", "uptime_s", "rss_bytes"):
        assert name in record
    assert {"sessions", "jobs"} <= set(record)


def test_both_ways_print_the_same_status(daemon: FakeDaemon, ask: Ask) -> None:
    answer = daemon._daemon_status({})
    assert ask("daemon", "status").out == status.lay_out_status(answer)
    assert ask("daemon", "status", "--json").out == status.encode_status(answer)


def test_status_without_a_daemon_is_69(ask: Ask) -> None:
    result = ask("daemon", "status")
    assert (result.code, result.out) == (69, "")
    assert "No daemon is running." in result.err
    assert "ask daemon start" in result.err
    assert json.loads(ask("daemon", "status", "--json").out)["code"] == 69


def test_start_says_when_it_runs_already(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("daemon", "start")
    assert (result.code, result.out) == (0, "")
    assert "runs already" in result.err
    assert json.loads(ask("daemon", "start", "--json").out)["pid"] == os.getpid()


@pytest.mark.usefixtures("no_pidfd")
def test_stop_waits_until_it_is_gone(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("daemon", "stop", "--wait", "1", "--json")
    assert result.code == 0
    assert json.loads(result.out) == {"stopped": os.getpid()}
    assert daemon.called("daemon/stop") == [{"wait_s": 1.0}]
    again = ask("daemon", "stop")
    assert (again.code, again.err) == (0, "No daemon is running.\n")


@pytest.mark.usefixtures("no_pidfd")
def test_a_daemon_that_does_not_end_is_said(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "STOP_SLACK_S", 0.05)
    monkeypatch.setattr(command, "is_running", lambda: True)
    result = ask("daemon", "stop", "--wait", "0")
    assert result.code == 124
    assert "did not stop" in result.err


def test_the_end_of_a_process_is_seen_by_its_descriptor() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    try:
        assert command._wait_for_end(os.pidfd_open(pid), 10)
    finally:
        os.waitpid(pid, 0)


def test_restart_stops_and_starts(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[float] = []
    monkeypatch.setattr(command, "stop_daemon", stopped.append)
    result = ask("daemon", "restart", "--json")
    assert result.code == 0
    assert stopped == [command.STOP_WAIT_S]
    assert json.loads(result.out)["pid"] == os.getpid()
