"""The units on the disk and systemd told, once, whoever ran before; and all of it taken back."""

import json
import os
from pathlib import Path

import pytest

from ask.commands import daemon_install as command
from ask.units import MARK, UNITS, render_units
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.fakes.systemctl import WANTS, Systemctl

TOLD = ["daemon-reload", "enable --now askd.socket"]


@pytest.fixture
def systemd(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    """A systemd that answers."""
    fake = Systemctl(tmp_path / "systemd")
    fake.place()
    monkeypatch.setenv("PATH", f"{fake.path}:/usr/bin:/bin")
    return fake


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each daemon that was stopped had."""
    found: list[float] = []

    def stop(wait_s: float) -> int:
        found.append(wait_s)
        return 77

    monkeypatch.setattr(command, "stop_daemon", stop)
    return found


def own(home: Path, daemon: FakeDaemon) -> None:
    (home / "data").mkdir(mode=0o700)
    owner = {"socket": str(daemon.path), "pid": os.getpid(), "boot_id": daemon.boot_id}
    (home / "data" / "owner.json").write_text(json.dumps(owner))


def read(units: Path) -> dict[str, str]:
    return {name: (units / name).read_text() for name in UNITS}


def test_install_writes_the_units_and_tells_systemd(
    ask: Ask, systemd: Systemctl, units: Path
) -> None:
    result = ask("daemon", "install")
    assert (result.code, result.out) == (0, "")
    assert "journalctl --user -u askd" in result.err
    assert read(units) == render_units(os.environ)
    assert systemd.calls() == TOLD
    assert (units / WANTS / "askd.socket").exists()
    assert sorted(each.name for each in units.iterdir()) == sorted([*UNITS, WANTS])


def test_again_it_changes_nothing(ask: Ask, systemd: Systemctl, units: Path) -> None:
    ask("daemon", "install")
    before = {name: (units / name).stat().st_mtime_ns for name in UNITS}
    systemd.calls()
    again = ask("daemon", "install")
    assert (again.code, systemd.calls()) == (0, TOLD)
    assert "was installed already" in again.err
    assert {name: (units / name).stat().st_mtime_ns for name in UNITS} == before


def test_a_socket_that_moved_is_listened_at_anew(
    ask: Ask, systemd: Systemctl, units: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ask("daemon", "install")
    systemd.calls()
    monkeypatch.setenv("ASK_SOCKET", str(tmp_path / "other.sock"))
    assert ask("daemon", "install").code == 0
    assert systemd.calls() == [*TOLD, "restart askd.socket"]
    assert f"ListenStream={tmp_path}/other.sock\n" in read(units)["askd.socket"]


def test_a_daemon_by_hand_makes_way(
    daemon: FakeDaemon, home: Path, ask: Ask, systemd: Systemctl, stopped: list[float]
) -> None:
    own(home, daemon)
    result = ask("daemon", "install", "--wait", "3")
    assert result.code == 0
    assert stopped == [3.0]
    assert "askd stopped (pid 77)" in result.err
    ask("daemon", "install")
    assert len(stopped) == 2, "it still is nobody whom systemd knows"


def test_a_daemon_of_the_same_unit_goes_on(
    daemon: FakeDaemon,
    home: Path,
    ask: Ask,
    systemd: Systemctl,
    stopped: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own(home, daemon)
    ask("daemon", "install")
    stopped.clear()
    systemd.runs_as(os.getpid())
    ask("daemon", "install")
    assert stopped == []
    monkeypatch.setenv("LANG", "C")
    ask("daemon", "install")
    assert stopped == [20.0], "its unit is another"


def test_a_dry_run_does_nothing(ask: Ask, systemd: Systemctl, units: Path) -> None:
    result = ask("daemon", "install", "--dry-run")
    assert result.code == 0
    for name, text in render_units(os.environ).items():
        assert f"# {units / name}\n{text}" in result.out
    assert result.out.endswith("# systemctl --user enable --now askd.socket\n")
    assert systemd.calls() == []
    assert not units.exists()


def test_without_systemd_nothing_is_written(
    ask: Ask, home: Path, units: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = ask("daemon", "install")
    assert result.code == 1
    assert "No systemd of yours answers" in result.err
    assert "ask daemon start" in result.err
    assert not units.exists()


def test_somebody_elses_unit_is_left_alone(ask: Ask, systemd: Systemctl, units: Path) -> None:
    units.mkdir(parents=True)
    (units / "askd.socket").write_text("[Socket]\nListenStream=/mine\n")
    for words in (("install",), ("uninstall",)):
        result = ask("daemon", *words)
        assert result.code == 1
        assert f"rm {units / 'askd.socket'}" in result.err
    assert (units / "askd.socket").read_text() == "[Socket]\nListenStream=/mine\n"
    assert systemd.calls() == []
    assert not (units / "askd.service").exists()


def test_what_systemd_refuses_is_said(ask: Ask, systemd: Systemctl) -> None:
    systemd.fail("enable")
    result = ask("daemon", "install")
    assert result.code == 1
    assert "No medium found" in result.err


def test_units_that_cannot_be_written_are_74(ask: Ask, systemd: Systemctl, units: Path) -> None:
    units.parent.mkdir(parents=True)
    units.write_text("a file")
    result = ask("daemon", "install")
    assert result.code == 74
    assert str(units / "askd.service") in result.err


def test_a_unit_of_ours_that_is_damaged_is_written_anew(
    ask: Ask, systemd: Systemctl, units: Path
) -> None:
    units.mkdir(parents=True)
    (units / UNITS[0]).write_bytes(MARK.encode() + b"\n\xff\n")
    assert ask("daemon", "install").code == 0
    assert read(units) == render_units(os.environ)


def test_a_file_in_the_place_of_the_directory_is_said_once(
    ask: Ask, systemd: Systemctl, units: Path
) -> None:
    units.parent.mkdir(parents=True)
    units.touch()
    refused = ask("daemon", "install")
    assert refused.code == 74
    assert refused.err.startswith(f"{units / UNITS[0]} cannot be read: Not a directory.\n")


def test_uninstall_takes_all_of_it_back_and_nothing_else(
    ask: Ask, systemd: Systemctl, units: Path, home: Path
) -> None:
    ask("daemon", "install")
    (home / "data").mkdir(parents=True)
    (home / "data" / "ask.db").write_text("kept")
    (units / "other.service").write_text("kept")
    systemd.calls()
    result = ask("daemon", "uninstall")
    assert result.code == 0
    assert systemd.calls() == ["disable --now askd.socket", "stop askd.service", "daemon-reload"]
    assert [each.name for each in units.iterdir() if each.name != WANTS] == ["other.service"]
    assert list((units / WANTS).iterdir()) == []
    assert (home / "data" / "ask.db").read_text() == "kept"
    again = ask("daemon", "uninstall")
    assert (again.code, systemd.calls()) == (0, [])
    assert "Nothing is installed" in again.err


def test_uninstall_needs_no_systemd(
    ask: Ask, systemd: Systemctl, units: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ask("daemon", "install")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = ask("daemon", "uninstall")
    assert result.code == 0
    assert "systemd was not told" in result.err
    assert list((units / WANTS).iterdir()) == []
    assert not any((units / name).exists() for name in UNITS)


def test_the_mark_is_what_we_know_ours_by(units: Path, home: Path) -> None:
    assert all(text.startswith(f"{MARK}\n") for text in render_units(os.environ).values())
