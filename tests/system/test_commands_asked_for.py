"""Commands that a model asks for, from its answer to the next request, through the real daemon."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.servers import write_config
from tests.system.test_run_command import find_marked
from tests.system.world import ASK, LIMIT_S, Result, Running, World, open_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as opened:
        yield opened


def configure(world: World, tools: str) -> Path:
    """A directory to work in, a server that wants no key, and `[tools]`."""
    assert world.model is not None
    project = world.home / "project"
    project.mkdir()
    write_config(
        world,
        f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
        f'[models."here/fake"]\ncontext_window = 100000\n[tools]\n{tools}\n',
    )
    world.env["ASK_MODEL"] = "here/fake"
    del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
    return project


def start_in(world: World, directory: Path, *arguments: str) -> Running:
    """`ask` with every tool, where somebody else stands."""
    options = ("-T", "all", "--approve", "auto", "-s", "work")
    return world.start(*options, *arguments, command=("env", "-C", str(directory), ASK))


def ask_in(world: World, directory: Path, *arguments: str) -> Result:
    return start_in(world, directory, *arguments).finish()


def calls(*commands: str) -> str:
    """A prompt whose model runs these at once."""
    return "CALLS:" + json.dumps([["run_command", {"command": each}] for each in commands])


def told(world: World) -> list[str]:
    """What the model was told of its last calls."""
    assert world.model is not None
    messages = world.model.requests()[-1]["messages"]
    return [str(each["content"]) for each in messages if each["role"] == "tool"]


def ends(world: World) -> list[tuple[str, int]]:
    found = [each for each in world.events("work") if each["type"] == "turn_finished"]
    return [(each["outcome"], each["code"]) for each in found]


@pytest.mark.parametrize("sandbox", ["auto", "landlock"])
def test_commands_run_at_once_and_are_answered_together(world: World, sandbox: str) -> None:
    project = configure(world, f'sandbox = "{sandbox}"')
    result = ask_in(world, project, calls("echo one > a; cat a", "exit 3", "pwd"))
    assert (result.code, result.out) == (0, "done\n"), result
    expected = ["one\n[exit code 0]", "[exit code 3]", f"{project}\n[exit code 0]"]
    assert sorted(told(world)) == sorted(expected)
    assert (project / "a").read_text() == "one\n"


def test_without_a_sandbox_nothing_runs_that_nobody_was_asked_about(world: World) -> None:
    project = configure(world, 'sandbox = "none"')
    result = ask_in(world, project, calls("touch a"))
    assert result.code == 0, result
    assert not (project / "a").exists()
    assert "exit code" not in told(world)[0]


def test_in_the_home_directory_nothing_is_written(world: World) -> None:
    configure(world, "")
    ask_in(world, world.home, calls("touch here || echo no; ls -d ask project; cat ask/data/*"))
    (text,) = told(world)
    assert not (world.home / "here").exists()
    assert "Read-only file system" in text or "Permission denied" in text
    assert "project" in text
    assert "SQLite" not in text


def test_a_gigabyte_and_what_is_meant_for_a_terminal(world: World) -> None:
    project = configure(world, "")
    result = ask_in(
        world,
        project,
        calls("head -c 1073741824 /dev/zero | tr '\\0' x; printf '\\033]52;c;c2VjcmV0\\007end\\n'"),
    )
    assert (result.code, result.out) == (0, "done\n"), result
    assert "\x1b" not in result.err
    (text,) = told(world)
    assert len(text.encode()) <= 32_768
    assert text.startswith("xxx")
    assert "end\n[exit code 0]" in text
    assert "read_output" in text
    assert "\x1b" not in text
    assert "c2VjcmV0" not in text
    rss = json.loads(world.ok("daemon", "status", "--json").out)["rss_bytes"]
    assert rss < 200 << 20
    assert ends(world) == [("completed", 0)]


def test_five_megabytes_of_arguments(world: World) -> None:
    project = configure(world, "")
    result = ask_in(world, project, "HUGE:5000000")
    assert (result.code, result.out) == (0, "done\n"), result
    assert "write_file with 5,000,000 bytes of arguments" in result.err
    (text,) = told(world)
    assert "5,000,000 bytes" in text
    assert list(project.iterdir()) == []
    assert not any("left_out" in json.dumps(each) for each in world.events("work"))
    assert ask_in(world, project, "ECHO:fine").out == "fine\n"
    assert sum(each.stat().st_size for each in (world.ask_home / "data").glob("ask.db*")) < 4 << 20


def test_a_time_limit_of_the_turn_ends_the_command_too(world: World) -> None:
    project = configure(world, "")
    assert ask_in(world, project, "ECHO:the daemon is there").code == 0
    result = ask_in(world, project, "--timeout", "2", calls("setsid sleep 7123 & sleep 7123"))
    assert result.code == 124, result
    assert wait_gone("7123")
    assert ends(world) == [("completed", 0), ("interrupted", 124)]


def test_who_stops_the_turn_stops_the_command(world: World) -> None:
    project = configure(world, "")
    running = start_in(world, project, calls("echo begun > begun; trap '' TERM; sleep 7124"))
    wait_for(project / "begun")
    running.signal(signal.SIGINT)
    assert running.finish().code == 130
    assert wait_gone("7124")
    outputs = [
        each["item"]
        for each in world.events("work")
        if each["type"] == "item_added" and each["item"]["type"] == "tool_output"
    ]
    assert [each["synthetic"] for each in outputs] == ["interrupted"]


def test_a_daemon_that_is_killed_leaves_no_command(world: World) -> None:
    project = configure(world, "")
    running = start_in(world, project, calls("echo begun > begun; setsid sleep 7125 & sleep 7125"))
    wait_for(project / "begun")
    world.kill_daemon()
    assert wait_gone("7125")
    running.finish()
    assert [outcome for outcome, _ in ends(world)] == ["interrupted"]


def test_the_same_call_again_and_again_is_refused(world: World) -> None:
    configure(world, "max_repeats = 2\nmax_completions = 4")
    project = world.home / "project"
    assert world.model is not None
    prompt = "CALLS:" + json.dumps([["run_command", {"command": "echo x >> count"}]] * 3)
    assert ask_in(world, project, prompt).code == 0
    assert (project / "count").read_text() == "x\nx\n"
    assert sum("was not run" in each for each in told(world)) == 1


def wait_for(path: Path) -> None:
    until = time.monotonic() + LIMIT_S
    while not path.exists():
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.02)


def wait_gone(mark: str) -> bool:
    """Whether within three seconds nobody with that word on the command line is left."""
    until = time.monotonic() + 3.0
    while find_marked(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
