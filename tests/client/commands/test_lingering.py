"""Linger is told where systemd runs and somebody relies on it, and nowhere else."""

import json
import os
from pathlib import Path

import pytest

from ask.commands import lingering
from ask.commands.findings import Finding
from ask.commands.lingering import check_linger, does_linger
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_schedules import schedule

LIMIT_S = 60.0
"""A shell on a busy machine is not always there within the 5 s that people are kept waiting."""


@pytest.fixture
def booted(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with systemd, whose loginctl says what a test wants; nobody lingers."""
    for name in ("BOOTED", "LINGERS"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(lingering, name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(lingering, "LOGINCTL_LIMIT_S", LIMIT_S)
    return tmp_path


def say(room: Path, text: str, code: int = 0) -> None:
    program = room / "bin" / "loginctl"
    program.write_text(f"#!/bin/sh\n{text}\nexit {code}\n")
    program.chmod(0o700)


def find(*, schedules: int = 0) -> list[Finding]:
    rows = [schedule(str(number)) for number in range(schedules)]
    return list(check_linger(os.environ, rows))


def test_nothing_is_said_where_nobody_relies_on_it(booted: Path) -> None:
    say(booted, "echo no")
    assert find() == []


def test_without_systemd_nothing_is_said(booted: Path) -> None:
    (booted / "BOOTED").rmdir()
    assert find(schedules=1) == []


def test_whoever_relies_on_it_is_named(booted: Path, units: Path) -> None:
    say(booted, "echo no")
    (off,) = find(schedules=2)
    assert (off.check, off.state, off.hint) == ("linger", "warn", "loginctl enable-linger")
    assert "(2 schedules)" in off.text
    units.mkdir(parents=True)
    (units / "askd.socket").write_text("[Socket]\n")
    (off,) = find()
    assert "(the user unit)" in off.text
    say(booted, "echo yes")
    (on,) = find(schedules=1)
    assert (on.state, on.hint) == ("ok", "")
    assert "(1 schedule and the user unit)" in on.text


def test_where_loginctl_does_not_know_the_file_decides(
    booted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda uid: type("User", (), {"pw_name": "me"}))
    assert not does_linger(), "there is no loginctl"
    for text, code, limit_s in (
        ("", 1, LIMIT_S),
        ("", 0, LIMIT_S),
        ("exec /bin/sleep 20", 0, 0.05),
    ):
        monkeypatch.setattr(lingering, "LOGINCTL_LIMIT_S", limit_s)
        say(booted, text, code)
        assert not does_linger()
        (booted / "LINGERS" / "me").touch()
        assert does_linger()
        (booted / "LINGERS" / "me").unlink()
    monkeypatch.setattr(lingering, "LOGINCTL_LIMIT_S", LIMIT_S)
    say(booted, "echo no")
    (booted / "LINGERS" / "me").touch()
    assert not does_linger(), "loginctl knows better"


def test_doctor_counts_the_schedules_that_are_not_paused(
    booted: Path, daemon: FakeDaemon, ask: Ask
) -> None:
    say(booted, "echo no")
    daemon.schedules = [schedule("aaaa1"), schedule("aaaa2", paused_at=1.0)]
    found = {each["check"]: each for each in json.loads(ask("doctor", "--json").out)}
    assert "(1 schedule)" in found["linger"]["text"]
    daemon.schedules = []
    assert "linger" not in {each["check"] for each in json.loads(ask("doctor", "--json").out)}
