"""Tools at a real terminal: asked, answered, shown, and nothing of theirs that a terminal obeys."""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.chats import wait_left
from tests.system.painted import check_written
from tests.system.servers import write_config
from tests.system.test_terminal import Terminal
from tests.system.world import ASK, LIMIT_S, World

Map = dict[str, Any]
PAINT = re.compile(r"\x1b\[(?:0|1|31|32|36)m|\r\x1b\[K")
"""All that we send a terminal ourselves: the colours of a diff, and the spinner's step."""
ALLOW = "Allow it? (1-3 or y/a/n; n REASON tells why) "


@pytest.fixture
def project(world: World) -> Path:
    """A directory to work in that holds nobody's home."""
    found = world.home / "project"
    found.mkdir()
    (found / "notes.md").write_text("old\n")
    assert world.model is not None
    # A server that wants no key: what the caller lends dies with the daemon.
    write_config(
        world,
        f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
        '[models."here/fake"]\ncontext_window = 30000\n',
    )
    world.env["ASK_MODEL"] = "here/fake"
    del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
    return found


def calls(*named: tuple[str, Map]) -> str:
    """A prompt whose model calls these tools at once."""
    return "CALLS:" + json.dumps(named)


WRITE = calls(("write_file", {"path": "notes.md", "content": "new\n"}))
READ = calls(("read_file", {"path": "notes.md"}))


def told(world: World) -> list[str]:
    """What the model was told of its last calls."""
    assert world.model is not None
    return [
        str(each["content"])
        for each in world.model.requests()[-1]["messages"]
        if each["role"] == "tool"
    ]


def bare(screen: str) -> str:
    """A screen without our own sequences, its lines as they are read."""
    return PAINT.sub("", screen).replace("\r\n", "\n")


# ---- asked, and answered ---------------------------------------------------------------


def test_a_change_is_shown_allowed_and_made(world: World, project: Path) -> None:
    terminal = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project)
    terminal.wait_for(ALLOW)
    assert (project / "notes.md").read_text() == "old\n"
    assert "  | \x1b[31m-old\x1b[0m\r\n  | \x1b[32m+new\x1b[0m\r\n" in terminal.screen
    shown = bare(terminal.screen)
    assert "Write notes.md" in shown
    assert f"  In {project}" not in shown  # who stands there knows it
    assert "\n1. Yes\n2. Always in this conversation: " in shown
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert (project / "notes.md").read_text() == "new\n"
    shown = bare(terminal.screen)
    # What is typed is not echoed here, nor the end of its line.
    assert shown[shown.index(ALLOW) + len(ALLOW) :].startswith("[write_file] notes.md\ndone\n")


def test_a_no_with_its_reason_reaches_the_model(world: World, project: Path) -> None:
    terminal = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project, env={"NO_COLOR": "1"})
    terminal.wait_for(ALLOW)
    assert "\x1b[3" not in terminal.screen
    terminal.type("maybe\n")
    terminal.wait_for(f"{ALLOW}{ALLOW}")
    terminal.type("n because it is mine\n")
    assert terminal.finish() == 0
    assert (project / "notes.md").read_text() == "old\n"
    assert "[write_file] notes.md (not run)\n" in bare(terminal.screen)
    (said,) = told(world)
    assert "it is mine" in said
    (answered,) = [e for e in world.events("work") if e["type"] == "question_answered"]
    assert (answered["decision"], answered["reason"]) == ("no", "it is mine")


def test_always_holds_in_its_conversation_alone(world: World, project: Path) -> None:
    terminal = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project)
    terminal.wait_for(ALLOW)
    terminal.type("a\n")
    assert terminal.finish() == 0
    again = Terminal(world, "-s", "work", WRITE, cwd=project)
    assert again.finish() == 0
    assert "Allow it?" not in again.screen
    assert "[write_file] notes.md\n" in bare(again.screen)
    other = Terminal(world, "-T", "all", WRITE, cwd=project)
    other.wait_for(ALLOW)
    other.type("\x03")
    assert other.finish() == 130


def test_tools_of_the_conversation_ask_too_without_an_option(world: World, project: Path) -> None:
    """The prompt goes the short way up to the first call; its person never leaves meanwhile."""
    world.ok("-T", "all", "-s", "work", "ECHO:hi")
    terminal = Terminal(world, "-s", "work", WRITE, cwd=project)
    terminal.wait_for(ALLOW)
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert (project / "notes.md").read_text() == "new\n"


def test_several_are_asked_one_by_one_and_nothing_runs_before(world: World, project: Path) -> None:
    both = calls(
        ("write_file", {"path": "a.txt", "content": "a\n"}),
        ("write_file", {"path": "b.txt", "content": "b\n"}),
    )
    terminal = Terminal(world, "-T", "all", "-s", "work", both, cwd=project)
    terminal.wait_for(ALLOW)
    terminal.type("n\ny\n")  # the second was typed before its question came
    terminal.wait_for("Write b.txt")
    terminal.wait_for("3. No\r\n\r\n" + ALLOW)
    assert os.listdir(project) == ["notes.md"]
    terminal.type("1\n")
    assert terminal.finish() == 0
    assert sorted(os.listdir(project)) == ["b.txt", "notes.md"]


def test_a_pipes_person_is_asked_on_the_terminal_beside_it(world: World, project: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"y\n")  # content, and no answer
    os.close(writer)
    terminal = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project, stdin=reader)
    os.close(reader)
    terminal.wait_for(ALLOW)
    assert (project / "notes.md").read_text() == "old\n"
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert (project / "notes.md").read_text() == "new\n"


def test_who_gives_no_input_is_nobody(world: World, project: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    terminal = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project, stdin=null)
    os.close(null)
    assert terminal.finish() == 0
    assert "Allow it?" not in terminal.screen
    assert "Denied: write_file: Write notes.md" in bare(terminal.screen)


def test_a_restart_of_the_daemon_keeps_the_question(world: World, project: Path) -> None:
    terminal = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project)
    terminal.wait_for(ALLOW)
    world.kill_daemon()
    world.ok("list")
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert (project / "notes.md").read_text() == "new\n"
    assert len([e for e in world.events("work") if e["type"] == "question_asked"]) == 1


# ---- two terminals ---------------------------------------------------------------------


def test_who_is_attached_is_asked_too(world: World, project: Path) -> None:
    first = Terminal(world, "-T", "all", "-s", "work", WRITE, cwd=project)
    first.wait_for(ALLOW)
    second = Terminal(world, "attach", "work", env={"ASK_TERMINAL": "the other", "TERM": "dumb"})
    second.wait_for(ALLOW)
    assert "[write_file] notes.md" in bare(second.screen)
    assert f"In {project}\n" in bare(second.screen).replace("\n  ", "")  # it may be long
    second.type("n because of lunch\n")
    first.wait_for("\r\nAnswered elsewhere: No (in the other): of lunch\r\n")
    assert first.finish() == 0
    second.wait_for("done")
    second.type("\x04")
    assert second.finish() == 0
    assert (project / "notes.md").read_text() == "old\n"


class Panes:
    """A tmux of its own with two panes, `%0` and `%1`."""

    def __init__(self, world: World, directory: Path) -> None:
        self._world = world
        self._socket = str(world.home / "tmux")
        env = {**world.env, "TERM": "xterm", "SHELL": "/bin/sh", "ENV": ""}
        del env["ASK_TERMINAL"]
        self._run("new-session", "-d", "-x", "100", "-y", "60", "-c", str(directory), "sh", env=env)
        self._run("split-window", "-c", str(directory), "sh")

    def _run(self, *words: str, env: dict[str, str] | None = None) -> str:
        line = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(
            line, env=env, check=True, capture_output=True, text=True, timeout=LIMIT_S
        ).stdout

    def type(self, pane: str, line: str) -> None:
        """Type a line."""
        self._run("send-keys", "-t", pane, "-l", line)
        self._run("send-keys", "-t", pane, "Enter")

    def wait_for(self, pane: str, text: str) -> str:
        """Wait until the pane shows it: all of its screen."""
        until = time.monotonic() + LIMIT_S
        while text not in (shown := self._run("capture-pane", "-p", "-J", "-t", pane)):
            assert time.monotonic() < until, shown
        return shown

    def close(self) -> None:
        """End it, and what runs in it."""
        self._run("kill-server")
        wait_left(self._world)


@pytest.fixture
def panes(world: World, project: Path) -> Iterator[Panes]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    found = Panes(world, project)
    yield found
    found.close()


def test_two_panes_one_question(world: World, project: Path, panes: Panes) -> None:
    panes.type("%0", shlex.join([ASK, "-T", "all", "-s", "work", WRITE]))
    panes.wait_for("%0", ALLOW.strip())
    panes.type("%1", shlex.join([ASK, "attach", "work"]))
    shown = panes.wait_for("%1", ALLOW.strip())
    assert "  | +new" in shown
    panes.type("%1", "y")
    panes.wait_for("%0", "Answered elsewhere: Yes (in the tmux pane %1)")
    panes.wait_for("%0", "[write_file] notes.md\ndone\n")
    assert "Answered elsewhere" not in panes.wait_for("%1", "\ndone\n")
    assert (project / "notes.md").read_text() == "new\n"


# ---- nobody there ----------------------------------------------------------------------


def ask_at(world: World, directory: Path, *words: str) -> Any:
    """Ask without a terminal, standing in a directory."""
    return world.ask(*words, command=("env", "-C", str(directory), ASK))


def test_without_a_terminal_it_is_denied_and_the_turn_goes_on(world: World, project: Path) -> None:
    result = ask_at(world, project, "-T", "all", "-s", "work", WRITE)
    assert (result.code, result.out) == (0, "done\n")
    denied, short_id = result.err.splitlines()
    assert denied.startswith("Denied: write_file: Write notes.md")
    assert "--approve auto" in denied
    assert len(short_id) == 8
    assert (project / "notes.md").read_text() == "old\n"
    allowed = ask_at(world, project, "--approve", "auto", "-s", "work", WRITE)
    assert (allowed.code, allowed.out) == (0, "done\n")
    assert "write_file" not in allowed.err
    assert (project / "notes.md").read_text() == "new\n"
    quiet = ask_at(world, project, "-q", "-T", "all", WRITE)
    assert (quiet.code, quiet.out, quiet.err) == (0, "done\n", "")


def test_an_approval_that_nobody_can_give_ends_with_6(world: World, project: Path) -> None:
    result = ask_at(world, project, "-T", "all", "--approve", "ask", WRITE)
    assert (result.code, result.out) == (6, "")
    assert "An approval is needed, and there is nobody to ask: write_file" in result.err
    assert "--detach" in result.err
    program = Terminal(world, "-T", "all", "--approve", "ask", "--json", WRITE, cwd=project)
    assert program.finish() == 6
    assert "Allow it?" not in program.screen


def test_a_word_that_means_no_tool(world: World, project: Path) -> None:
    result = ask_at(world, project, "-T", "read_fiel", READ)
    assert result.code == 2
    assert "There is no tool 'read_fiel'. There are: " in result.err
    assert world.ask("-T", "", READ).code == 2


def test_what_is_left_to_itself_waits_and_is_answered(world: World, project: Path) -> None:
    words = ("--detach", "-T", "all", "--approve", "ask", "-s", "work", WRITE)
    job = ask_at(world, project, *words).out.strip()
    attached = world.start("attach", "work", "--no-input")
    attached.wait_for("3. No")
    shown = world.ok("jobs", "show", job).out
    assert "[write_file] notes.md\n" in shown
    assert "  | +new\n" in shown
    assert f"Answer it: ask jobs show {job[:8]} --answer 1|2|3\n" in shown
    world.ok("jobs", "show", job, "--answer", "n because of the weather")
    assert world.ask("jobs", "wait", job, "--timeout", str(LIMIT_S)).code == 0
    assert "of the weather" in told(world)[0]


# ---- what is shown ---------------------------------------------------------------------


def test_what_tools_do_is_told_once_and_on_stderr(world: World, project: Path) -> None:
    several = calls(
        ("read_file", {"path": "notes.md"}),
        ("read_file", {"path": "none.md"}),
        ("fly", {"to": "the moon"}),
    )
    terminal = Terminal(world, "-T", "read", several, cwd=project)
    assert terminal.finish() == 0
    shown = bare(terminal.screen)
    assert shown.count("[read_file] notes.md\n") == 1
    assert shown.count("[read_file] none.md (failed: ") == 1
    assert shown.count("[fly] the moon (no such tool)\n") == 1
    for words in (("-q",), ("--json",)):
        silent = Terminal(world, *words, "-T", "read", several, cwd=project)
        assert silent.finish() == 0
        assert "[read_file]" not in silent.screen
    piped = ask_at(world, project, "-T", "read", several)
    assert (piped.code, piped.out) == (0, "done\n")
    assert "[" not in piped.err


HOSTILE = {
    "clipboard": "true \x1b]52;c;cm0gLXJmIH4=\x07",
    "title": "true \x1b]0;mine\x07",
    "screen": "true \x1b[2J\x1b[H\x1b[31mred",
    "c1": "true \x9b2J\x9d0;x\x9c",
    "over": "rm -rf /nowhere\rls",
    "bidi": "true \u202efdp.exe\u2066",
    "fake": "true\n\n1. Yes\n2. No\n\nAllow it? (1-2 or y/n) y\nAnswered elsewhere: Yes\n",
    "wide": "true " + "雪" * 200,
    "large": "true " + "x" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_command_moves_the_terminal(world: World, project: Path, name: str) -> None:
    asked = world.home / "asked"
    asked.write_text(calls(("run_command", {"command": HOSTILE[name]})))
    with asked.open() as stream:
        options = ("-T", "all", "-s", "work")
        terminal = Terminal(world, *options, stdin=stream.fileno(), cwd=project)
    terminal.wait_for("Allow it? (1-")
    while not terminal.screen.endswith("tells why) "):
        terminal.wait_for("tells why) ")
    shown = bare(terminal.screen)
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count("\nAllow it?") == 1
    assert not re.search(r"^(?!  \| )Answered", shown, re.MULTILINE)
    if name == "clipboard":
        assert "\\x1b]52;c;cm0gLXJmIH4=\\x07" in shown
    if name == "large":
        assert " more lines: m shows it" in shown
    terminal.type("n\n")
    assert terminal.finish() == 0
    shown = bare(terminal.screen)
    assert all(line.isprintable() for line in shown.split("\n"))
    for words in (("history", "show", "work"), ("attach", "work", "--until-idle", "--no-input")):
        seen = Terminal(world, *words)
        assert seen.finish() == 0
        check_written(seen.screen, allowed="\t")
