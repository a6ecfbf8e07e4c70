"""A machine on which nothing can be confined: every command is asked about, or does not run.

The daemon is the real one, and its settings say nothing: the kernel answers it as one without
Landlock, and without namespaces for bubblewrap.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import unconfinable
from tests.system.servers import write_config
from tests.system.test_approvals import answer, wait_asked
from tests.system.test_detached import wait
from tests.system.test_terminal import Terminal
from tests.system.test_tools_at_a_terminal import bare, calls, told
from tests.system.world import World

COULD = "could reach this daemon's socket and answer its own questions."
RUN = calls(("run_command", {"command": "echo x >> made; cat made"}))

CONFIG = """\
[providers.here]
dialect = "openai-chat"
base_url = "{base_url}"
[models."here/fake"]
context_window = 30000
[approval]
policy = "auto"
[approval.tools]
run_command = "auto"
[approval.commands]
"echo" = "auto"
"""
"""All that could spare a command the question."""


@pytest.fixture
def project(world: World) -> Iterator[Path]:
    found = world.home / "project"
    found.mkdir()
    assert world.model is not None
    write_config(world, CONFIG.format(base_url=world.model.base_url))
    world.env["ASK_MODEL"] = "here/fake"
    del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
    daemon = (sys.executable, unconfinable.__file__, sys.executable, "-m", "askd", "run")
    world.start(command=daemon).wait_for("Ready", where="err")
    pid = world.daemon_pid()
    yield found
    assert world.daemon_pid() == pid, "another daemon has answered"


def test_the_doctor_says_that_there_is_no_confinement(world: World, project: Path) -> None:
    (line,) = [each for each in world.ok("doctor").out.splitlines() if "confinement" in each]
    assert "confinement: none" in " ".join(line.split()), line
    found = json.loads(world.ok("doctor", "--json").out)
    (one,) = [each for each in found if each["check"] == "confinement"]
    assert one["state"] == "warn"
    assert "refused where nobody can be asked" in one["text"]
    assert "Linux 6.12" in one["hint"]


@pytest.mark.parametrize("words", [(), ("--approve", "auto")])
def test_without_a_terminal_no_command_runs(
    world: World, project: Path, words: tuple[str, ...]
) -> None:
    result = world.ask("-T", "all", *words, RUN, cwd=project)
    assert (result.code, result.out) == (0, "done\n")
    assert result.err.startswith("Denied: run_command: Run: echo x"), result.err
    assert list(project.iterdir()) == []
    (said,) = told(world)
    assert "not" in said
    asked = world.ask("-T", "all", "--approve", "ask", RUN, cwd=project)
    assert asked.code == 6
    assert list(project.iterdir()) == []


def test_at_a_terminal_every_command_asks_each_time(world: World, project: Path) -> None:
    options = ("-T", "all", "--approve", "auto", "-s", "work")
    for made in ("x\n", "x\nx\n"):
        terminal = Terminal(world, *options, RUN, cwd=project)
        terminal.wait_for("Allow it? ")
        terminal.wait_for("tells why) ")
        assert COULD in " ".join(bare(terminal.screen).split())
        terminal.type("y\n")
        assert terminal.finish() == 0
        assert (project / "made").read_text() == made
        assert told(world)[-1].endswith("[exit code 0]")


def test_what_is_left_to_itself_waits_for_a_person(world: World, project: Path) -> None:
    job = world.ask("--detach", "-T", "all", "--approve", "ask", RUN, cwd=project).out.strip()
    wait_asked(world, job, 1)
    assert COULD in " ".join(world.ok("jobs", "show", job).out.split())
    assert list(project.iterdir()) == []
    answer(world, job, "yes")
    assert wait(world, job).code == 0
    assert (project / "made").read_text() == "x\n"


def test_files_need_no_sandbox(world: World, project: Path) -> None:
    """Their paths are held by the kernel, whoever confines commands."""
    write = calls(("write_file", {"path": "new", "content": "y\n"}))
    assert world.ask("-T", "all", "--approve", "auto", write, cwd=project).code == 0
    assert (project / "new").read_text() == "y\n"
