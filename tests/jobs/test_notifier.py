"""The command that notifies: whatever it does it ends, and it is given no credential."""

import json
import os
from pathlib import Path

import pytest

from askd.core.events import TurnFinished
from askd.core.notifications import About, Notification, tell_end
from askd.jobs import notifier
from askd.jobs.base import GaveUp
from askd.jobs.notifier import NO_BUS, NO_PROGRAM, OFF, Notifier, NotifyRules
from tests.fakes.notifiers import write_program

SECRET = "sk-very-secret"
ABOUT = About(conversation_id="0123456789abcdef", turn_id="t", name="work")


def tell(answer: str = "yes") -> Notification:
    return tell_end(ABOUT, TurnFinished("t", "completed", 0), answer)


def make_notifier(*command: str, unset: bool = False, **environ: str) -> Notifier:
    """One with this command and environment; `PATH` is the tests' own if it is not said."""
    path = environ.pop("PATH", os.environ["PATH"])
    return Notifier(
        lambda: NotifyRules(None if unset else command),
        environ={"OPENAI_API_KEY": SECRET, **environ},
        child_env={"HOME": "/", "PATH": path},
        hide=lambda text: text.replace(SECRET, "***"),
    )


# ---- which one ------------------------------------------------------------------------------


def test_without_a_setting_a_desktop_is_looked_for(tmp_path: Path) -> None:
    nothing = make_notifier(unset=True, PATH=str(tmp_path)).find_road()
    assert (nothing.state, nothing.text, nothing.command) == ("missing", NO_PROGRAM, ())
    program = write_program(tmp_path, name="notify-send")
    runtime = tmp_path / "run"
    for environ in ({}, {"XDG_RUNTIME_DIR": str(runtime)}):
        road = make_notifier(unset=True, PATH=str(tmp_path), **environ).find_road()
        assert (road.state, road.text) == ("missing", NO_BUS)
    runtime.mkdir()
    (runtime / "bus").touch()
    for environ in (
        {"XDG_RUNTIME_DIR": str(runtime)},
        {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/somewhere"},
    ):
        road = make_notifier(unset=True, PATH=str(tmp_path), **environ).find_road()
        assert (road.state, road.text) == ("ready", f"with {program.path}")
        assert road.command == (str(program.path), "--app-name=ask", "--", "{title}", "{body}")


def test_a_command_of_ones_own_needs_no_desktop(tmp_path: Path) -> None:
    program = write_program(tmp_path)
    assert make_notifier(str(program.path)).find_road().state == "ready"
    assert make_notifier("notifier", "-x", PATH=str(tmp_path)).find_road().command == (
        str(program.path),
        "-x",
    )
    missing = make_notifier("nowhere", PATH=str(tmp_path)).find_road()
    assert (missing.state, "nowhere is no program" in missing.text) == ("missing", True)


def test_a_path_is_whole_or_begins_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert make_notifier("~/notifier").find_road().command == (str(program.path),)
    assert make_notifier("./notifier").find_road().state == "missing"


async def test_no_command_at_all_is_a_choice(tmp_path: Path) -> None:
    nobody = make_notifier()
    assert (nobody.find_road().state, nobody.find_road().text) == ("off", OFF)
    await nobody.send(tell())


# ---- how it is run --------------------------------------------------------------------------


async def test_it_is_given_words_json_and_the_way_to_the_desktop(tmp_path: Path) -> None:
    program = write_program(tmp_path)
    told = tell(f"the key is {SECRET}; $(id)")
    await make_notifier(str(program.path), "{body}", DISPLAY=":0", EDITOR="vi").send(told)
    (heard,) = program.read()
    assert heard["argv"] == [told.body.replace(SECRET, "***")]
    assert SECRET not in json.dumps(heard)
    assert json.loads(heard["said"])["body"] == heard["argv"][0]
    environ = heard["environ"]
    assert (environ["HOME"], environ["DISPLAY"]) == ("/", ":0")
    assert not environ.keys() & {"EDITOR", "OPENAI_API_KEY", "XAUTHORITY"}


async def test_one_that_does_not_listen_is_well(tmp_path: Path) -> None:
    program = write_program(tmp_path, "deaf")
    await make_notifier(str(program.path)).send(tell("x" * 100_000))
    assert len(program.read()) == 1


async def test_one_that_fails_says_why_in_a_line(tmp_path: Path) -> None:
    program = write_program(tmp_path, "fails")
    with pytest.raises(GaveUp) as caught:
        await make_notifier(str(program.path)).send(tell())
    said = str(caught.value)
    assert said == f"[notify] command: {program.path} ended with status 1: no such desktop"


async def test_one_that_says_nothing_has_its_status(tmp_path: Path) -> None:
    with pytest.raises(GaveUp, match=r"false ended with status 1\.$"):
        await make_notifier("false").send(tell())


@pytest.mark.parametrize("mode", ["hangs", "floods"])
async def test_one_without_an_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(notifier, "LIMIT_S", 0.5)
    program = write_program(tmp_path, mode)
    with pytest.raises(GaveUp, match=r"took longer than 0\.5 s"):
        await make_notifier(str(program.path)).send(tell())


async def test_one_that_leaves_a_child_behind_is_over_when_it_ends(tmp_path: Path) -> None:
    script = tmp_path / "leaves"
    script.write_text("#!/bin/sh\nsleep 600 &\n")
    script.chmod(0o755)
    await make_notifier(str(script)).send(tell())


async def test_what_cannot_be_started_is_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere/at/all\n")
    broken.chmod(0o755)
    with pytest.raises(GaveUp, match=r"^\[notify\] command: .*broken"):
        await make_notifier(str(broken)).send(tell())
