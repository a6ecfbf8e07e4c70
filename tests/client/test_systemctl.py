"""Asking a user's systemd: it is there or not, acts or refuses, and hangs nobody."""

from pathlib import Path

import pytest

from ask import systemctl
from ask.exits import Failed
from tests.fakes.systemctl import Systemctl


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    """One that answers."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    fake = Systemctl(tmp_path / "systemd")
    fake.place()
    monkeypatch.setenv("PATH", str(fake.path))
    return fake


def write(fake: Systemctl, text: str) -> None:
    (fake.path / "systemctl").write_text(f"#!/bin/sh\n{text}\n")


def test_it_is_there_or_it_is_said_why_not(fake: Systemctl) -> None:
    assert systemctl.find_trouble() is None
    write(fake, "echo Failed to connect to bus: No medium found >&2; exit 1")
    assert systemctl.find_trouble() == "Failed to connect to bus: No medium found"
    write(fake, "exit 3")
    assert systemctl.find_trouble() == "code 3"
    (fake.path / "systemctl").write_text("no program")
    assert "cannot be run" in str(systemctl.find_trouble())
    (fake.path / "systemctl").unlink()
    assert systemctl.find_trouble() == "there is no systemctl here"


def test_one_that_hangs_is_not_waited_for(fake: Systemctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemctl, "ASK_LIMIT_S", 0.05)
    monkeypatch.setattr(systemctl, "ACT_LIMIT_S", 0.05)
    write(fake, "exec /bin/sleep 20")
    assert systemctl.find_trouble() == "it does not answer"
    assert systemctl.find_main_pid("askd.service") is None
    with pytest.raises(Failed) as caught:
        systemctl.act("daemon-reload")
    assert caught.value.code == 124
    assert caught.value.hint == "See more: systemctl --user status", "it is about no unit"


def test_what_it_refuses_is_told(fake: Systemctl) -> None:
    systemctl.act("daemon-reload")
    assert fake.calls() == ["daemon-reload"]
    with pytest.raises(
        Failed, match=r"enable --now askd\.socket ended with code 1: Unit"
    ) as caught:
        systemctl.act("enable", "--now", "askd.socket")
    assert caught.value.hint == "See more: systemctl --user status askd.socket"


def test_who_runs_is_known(fake: Systemctl) -> None:
    assert systemctl.find_main_pid("askd.service") is None
    fake.runs_as(77)
    assert systemctl.find_main_pid("askd.service") == 77
    write(fake, "echo nonsense")
    assert systemctl.find_main_pid("askd.service") is None
