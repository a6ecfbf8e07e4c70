"""The shell of two pages, run as it stands: recipes that fan out, and life with systemd.

`ask` is the one under test, on a real daemon; `systemctl`, `journalctl` and `loginctl` are ours.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ask.protocol.errors import EXIT_CODES
from tests.fakes.chat_answers import TOKENS
from tests.fakes.systemctl import Systemctl
from tests.house.pages import ROOT
from tests.house.prose import FENCE
from tests.system.pages_home import write_program
from tests.system.test_detached import check_disk, open_own
from tests.system.world import ASK, LIMIT_S, World

ANSWER = "".join(TOKENS) + "\n"
HOW_TO = ROOT / "docs" / "how-to"
NOTHING_SET = {"PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "you", "SHELL": "/bin/sh"}
"""What a user's systemd sets for a service, beside `HOME`; cron sets no more."""


def read_blocks(page: str, word: str = "") -> list[str]:
    """The blocks of shell of a page in which a word stands."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return [block for language, block in FENCE.findall(text) if language == "sh" and word in block]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon knows its server itself, and has the files of the page."""
    for opened in open_own(tmp_path / "home"):
        opened.home.mkdir(exist_ok=True)
        for name in ("one", "two", "three"):
            (opened.home / f"{name}.txt").write_text(f"the text of {name}\n")
        yield opened


def run(world: World, block: str, *places: Path) -> "subprocess.CompletedProcess[str]":
    """Run a block in one shell that stops at the first failure."""
    path = os.pathsep.join(map(str, [*places, Path(ASK).parent, world.env["PATH"]]))
    done = subprocess.run(
        ["sh", "-eu", "-c", block],
        env={**world.env, "PATH": path},
        cwd=world.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, (block, done.stdout, done.stderr)
    return done


def place_ask(world: World) -> Path:
    """Put `ask` where the pages have it; it knows the home under test, though nothing says so."""
    program = world.home / ".local" / "bin" / "ask"
    write_program(program, f'ASK_HOME="{world.ask_home}" exec "{ASK}" "$@"')
    return program


def run_bare(
    world: World, words: list[str], cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a program without a terminal, and where hardly anything is set."""
    return subprocess.run(
        words,
        env={**NOTHING_SET, "HOME": str(world.home)},
        cwd=cwd or world.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        start_new_session=True,
    )


def run_service(world: World, unit: str) -> "subprocess.CompletedProcess[str]":
    """Run a unit's command as systemd does: by no shell, with what is meant by `%`."""
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    filled = command.replace("%h", str(world.home)).replace("%%", "%")
    return run_bare(world, shlex.split(filled))


def test_recipes_that_fan_out_collect_every_answer(own: World) -> None:
    blocks = read_blocks("scripts.md", "jobs wait")
    assert len(blocks) == 4
    assert own.model is not None
    plain, each_file, keyed, first = blocks
    assert run(own, plain).stdout.endswith(f"completed\n{ANSWER}")
    run(own, each_file)
    for name in ("one", "two", "three"):
        assert (own.home / "answers" / f"{name}.txt").read_text() == ANSWER
    requests = len(own.model.requests())
    run(own, keyed)
    jobs = (own.home / "jobs").read_text()
    assert len(own.model.requests()) == requests + 3
    own.kill_daemon()
    run(own, keyed)
    assert (own.home / "jobs").read_text() == jobs, "what was sent is not sent twice"
    assert len(own.model.requests()) == requests + 3
    assert json.loads((own.home / "failed.json").read_text()) == []
    run(own, first)
    assert json.loads((own.home / "first.json").read_text())["kind"] == "turn"
    check_disk(own)


def check_units(world: World, units: Path, copies: Path, unit: str) -> None:
    """Systemd understands what the page has written, where it can be asked."""
    copies.mkdir()
    for name in (f"{unit}.service", f"{unit}.timer"):
        text = (units / name).read_text().replace("%h/.local/bin/ask", ASK)
        (copies / name).write_text(text.replace("%h", str(world.home)))
    if shutil.which("systemd-analyze") is not None:
        done = subprocess.run(
            [
                "systemd-analyze",
                "verify",
                "--user",
                "--man=no",
                *sorted(map(str, copies.iterdir())),
            ],
            env={**world.env, "XDG_RUNTIME_DIR": str(world.home)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_life_with_systemd_as_the_page_has_it(own: World, tmp_path: Path) -> None:
    systemd = Systemctl(tmp_path / "systemd")
    systemd.place()
    write_program(systemd.path / "journalctl", "")
    write_program(systemd.path / "loginctl", f'echo "$@" > "{tmp_path}/login"')
    place_ask(own)
    own.env["XDG_CONFIG_HOME"] = str(own.home / ".config")
    install, edit, uninstall, linger, look, logs, timer = read_blocks("systemd.md")
    own.ok("daemon", "start")
    pid = own.daemon_pid()
    units = own.home / ".config" / "systemd" / "user"
    shown = run(own, install, systemd.path)
    assert f"askd stopped (pid {pid})" in shown.stderr
    assert systemd.calls() == ["daemon-reload", "enable --now askd.socket"]
    text = (units / "askd.service").read_text()
    assert text in shown.stdout, "what was shown is what was written"
    assert f'Environment="ASK_HOME={own.ask_home}"' in text
    run(own, edit, systemd.path)
    run(own, install, systemd.path)
    (added,) = (units / "askd.service.d").iterdir()
    assert added.read_text(), "it stays when the unit is written anew"
    run(own, linger, systemd.path)
    assert (tmp_path / "login").read_text() == "enable-linger\n"
    own.ok("ECHO:somebody has come")  # in a world without systemd it starts one
    run(own, look, systemd.path)
    said = run(own, logs, systemd.path)
    assert "journalctl --user -u askd" in said.stderr
    assert json.loads(said.stdout.splitlines()[-1])["level"] == "info"
    run(own, timer, systemd.path)
    check_units(own, units, tmp_path / "copies", "ask-report")
    sent = run_service(own, (units / "ask-report.service").read_text())
    assert (sent.returncode, sent.stderr) == (0, ""), sent
    assert "tok19" in (own.home / "report.md").read_text()
    run(own, uninstall, systemd.path)
    assert not (units / "askd.service").exists()
    own.ok("history", "list")


def test_what_cron_and_a_timer_run_does_as_the_page_has_it(own: World, tmp_path: Path) -> None:
    systemd = Systemctl(tmp_path / "systemd")
    systemd.place()
    own.env["XDG_CONFIG_HOME"] = str(own.home / ".config")
    ask = place_ask(own)
    (script,) = read_blocks("cron.md", "case $code")
    (timer,) = read_blocks("cron.md", "ask-evening.timer")
    assert own.model is not None
    run(own, script)  # its last line runs it
    for _ in range(2):
        assert run(own, "~/bin/report").stderr == ""
    assert len(own.model.requests()) == 1, "one day, one question"
    (key,) = (own.home / ".cache").iterdir()
    for code, ends, keeps in ((69, 75, True), (74, 75, True), (5, 75, False), (4, 4, False)):
        key.write_text("a-key")
        ask.unlink()
        ask.write_text(f"#!/bin/sh\nexit {code}\n")
        ask.chmod(0o700)
        run(own, f"~/bin/report || test $? = {ends}")
        assert key.exists() is keeps, code
    run(own, timer, systemd.path)
    units = own.home / ".config" / "systemd" / "user"
    check_units(own, units, tmp_path / "copies", "ask-evening")
    place_ask(own)
    sent = run_service(own, (units / "ask-evening.service").read_text())
    assert (sent.returncode, sent.stdout, sent.stderr) == (0, "", ""), sent
    assert len(own.model.requests()) == 2, "the key had been thrown away"


def test_the_timer_that_comes_with_it_sends_its_prompt(own: World) -> None:
    place_ask(own)
    sent = run_service(own, (ROOT / "systemd" / "ask-morning.service").read_text())
    assert (sent.returncode, sent.stderr) == (0, ""), sent
    assert "tok19" in sent.stdout
    assert "tok19" in own.ok("history", "show", "morning").out


def test_codes_are_the_same_where_nothing_is_set(own: World) -> None:
    """Nothing waits for a person, nothing for a terminal, and the same key is the same turn."""
    ask = str(place_ask(own))
    assert own.model is not None
    call = "CALLS:" + json.dumps([["run_command", {"command": "true"}]])
    for code, *words in (
        (1, "FAIL 400"),
        (2, "-m", "no/such", "Hello"),
        (3, "-c", "Hello"),
        (6, "-T", "run_command", "--approve", "ask", call),
        (9, "LENGTH"),
        (124, "--timeout", "1", "HOLD"),
    ):
        ended = run_bare(own, [ask, "-q", "--no-stdin", "--json", *words])
        assert ended.returncode == code, ended
        last = json.loads(ended.stdout.splitlines()[-1])
        assert last["code"] == code, last
    before = len(own.model.requests())
    keyed = [ask, "-q", "--no-stdin", "--timeout", "60", "--key", "a-day", "ECHO:once"]
    for _ in range(2):
        ended = run_bare(own, keyed)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "once\n", "")
    assert len(own.model.requests()) == before + 1


def test_what_to_do_is_said_for_every_code_that_cron_can_see() -> None:
    text = (HOW_TO / "cron.md").read_text(encoding="utf-8")
    at_terminals = {130, 141}  # Ctrl-C, and a pipe that somebody has left
    assert {int(each) for each in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == (
        set(EXIT_CODES) - at_terminals
    )
