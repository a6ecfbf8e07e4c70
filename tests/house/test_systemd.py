"""The user units are understood by systemd, tight, and agree with the code."""

import configparser
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from ask import units as texts
from ask.paths import socket_candidates
from ask.protocol.messages import DaemonStop
from ask.units import ENV
from tests.house.floors import ROOT

UNITS = ROOT / "systemd"
ASKD = "%h/.local/bin/askd"
ASK = "%h/.local/bin/ask "
ASKD_UNITS = ("askd.service", "askd.socket")
# In tenths of systemd's own score, 100 being wide open. The service stands at 35 with systemd 252;
# the rest is for other versions, which count other options.
EXPOSURE_MAX = 40

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Copies of the units whose program exists: systemd checks that it can be run."""
    program = make_program(tmp_path / "askd")
    for unit in UNITS.iterdir():
        text = unit.read_text(encoding="utf-8")
        text = text.replace(ASKD, str(program)).replace(ASK, f"{program} ")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    return tmp_path


def make_program(path: Path) -> Path:
    """Something that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def analyze(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze on copied units; it needs no running systemd."""
    return subprocess.run(
        ["systemd-analyze", *arguments],
        cwd=directory,
        env={**os.environ, "XDG_RUNTIME_DIR": str(directory), "SYSTEMD_PAGER": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def verify(directory: Path, names: tuple[str, ...] = ASKD_UNITS) -> str:
    """What systemd has to say against the units; its exit code hides unknown keys."""
    found = analyze(directory, "verify", "--user", "--man=no", *(f"./{name}" for name in names))
    return found.stderr + ("" if found.returncode == 0 else f"exit code {found.returncode}")


class Unit(configparser.RawConfigParser):
    """A unit file: names of options keep their case; of two the last is kept."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def read_unit(name: str) -> Unit:
    """Read one of the project's units."""
    unit = Unit(strict=False)
    unit.read(UNITS / name, encoding="utf-8")
    return unit


@needs_systemd
def test_systemd_has_nothing_against_the_units(units: Path) -> None:
    assert verify(units) == ""


@needs_systemd
def test_systemd_has_nothing_against_the_example(units: Path) -> None:
    assert verify(units, ("ask-morning.service", "ask-morning.timer")) == ""
    calendar = read_unit("ask-morning.timer")["Timer"]["OnCalendar"]
    assert analyze(units, "calendar", calendar).returncode == 0
    assert analyze(units, "calendar", "Mon..Fry 08:00").returncode != 0


@needs_systemd
@pytest.mark.parametrize("name", ["plain", "5%h $HOME; #é", """it's "odd" \\n"""])
def test_systemd_has_nothing_against_what_is_installed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make_program(tmp_path / name / "askd")
    monkeypatch.setattr(texts, "find_program", lambda: [str(program)])
    environ = {"HOME": str(tmp_path), "PATH": f"/usr/bin:{program.parent}"}
    written = tmp_path / "written"
    written.mkdir()
    for home in (None, str(tmp_path / name)):
        rendered = texts.render_units(environ | ({} if home is None else {"ASK_HOME": home}))
        for unit, text in rendered.items():
            (written / unit).write_text(text, encoding="utf-8")
        assert verify(written) == ""
    named = ENV not in rendered["askd.service"]
    assert named == (not set(name) & set("'\\")), "by itself, where systemd takes such a name"
    program.unlink()
    assert ("not executable" in verify(written)) == named, "that program was looked for"


def test_the_units_are_in_the_wheel_where_they_are_looked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    package = Path(texts.__file__).parent
    assert included == {"systemd": f"{package.name}/{texts._INSTALLED.relative_to(package)}"}
    assert texts._CHECKED_OUT == UNITS


@needs_systemd
def test_planted_unknown_option_is_found(units: Path) -> None:
    with (units / "askd.service").open("a", encoding="utf-8") as unit:
        unit.write("NoNewPrivilege=yes\n")
    assert "NoNewPrivilege" in verify(units)


@needs_systemd
def test_service_is_tight(units: Path) -> None:
    command = ["security", "--user", "--offline=yes", f"--threshold={EXPOSURE_MAX}"]
    found = analyze(units, *command, "./askd.service")
    assert found.returncode == 0, found.stdout + found.stderr


@needs_systemd
def test_planted_loss_of_an_option_is_found(units: Path) -> None:
    path = units / "askd.service"
    path.write_text(path.read_text().replace("CapabilityBoundingSet=\n", ""))
    command = ["security", "--user", "--offline=yes", f"--threshold={EXPOSURE_MAX}"]
    assert analyze(units, *command, "./askd.service").returncode != 0


def test_socket_is_where_a_client_looks_first(tmp_path: Path) -> None:
    first = socket_candidates({"XDG_RUNTIME_DIR": str(tmp_path)})[0]
    stream = read_unit("askd.socket")["Socket"]["ListenStream"]
    assert stream.replace("%t", str(tmp_path)) == str(first)


def test_systemd_waits_longer_than_a_drain() -> None:
    patience = float(read_unit("askd.service")["Service"]["TimeoutStopSec"])
    assert patience > DaemonStop().wait_s + 10


def test_service_may_confine_commands() -> None:
    """With systemd 252, what is for services in general leaves these out."""
    text = (UNITS / "askd.service").read_text(encoding="utf-8")
    allowed = [
        line.partition("=")[2].split()
        for line in text.splitlines()
        if line.startswith("SystemCallFilter=") and "~" not in line
    ]
    calls = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"}
    assert calls <= {call for each in allowed for call in each}


def test_service_runs_the_program_that_the_test_replaces() -> None:
    assert read_unit("askd.service")["Service"]["ExecStart"].split()[0] == ASKD
