"""The launcher script in an empty home: it starts the daemon, asks, and is as `ask` is."""

import subprocess
from pathlib import Path

import pytest

from tests.system.world import ASK, World


@pytest.fixture
def launcher(world: World) -> str:
    """As the README has it."""
    said = world.ok("install-launcher").out
    path = world.home / ".local" / "bin" / "ask"
    assert said.startswith(f"{path} starts ask ")
    assert world.owner() is None  # nobody had to be started for that
    return str(path)


def test_the_first_prompt_of_all_is_answered_by_a_daemon_that_it_starts(
    world: World, launcher: str
) -> None:
    result = world.ask("ECHO:hello", command=(launcher,))
    assert (result.code, result.out) == (0, "hello\n"), result
    assert world.find_daemons() == [world.daemon_pid()]
    again = world.ask("-c", "ECHO:again", command=(launcher,))
    assert (again.code, again.out) == (0, "again\n"), again


def test_it_says_what_the_other_script_says(world: World, launcher: str) -> None:
    world.ok("-s", "work", "ECHO:hello")
    for words in (
        ["list", "--json"],
        ["history", "show", "work"],
        ["models", "list"],
        ["config", "path"],
        ["prune", "nothing"],
        ["--no-such-option"],
        ["--help"],
    ):
        ours = world.ask(*words, command=(launcher,))
        assert ours == world.ask(*words, command=(ASK,)), words


def test_variables_of_python_and_modules_where_it_stands_do_not_reach_it(
    world: World, launcher: str, tmp_path: Path
) -> None:
    """A directory with a module `ask` of its own, which the other script would be led into."""
    trap = tmp_path / "trap"
    (trap / "ask").mkdir(parents=True)
    (trap / "ask" / "__init__.py").write_text("raise SystemExit('trapped')\n")
    env = {**world.env, "PYTHONPATH": str(trap)}
    for program, code in ((launcher, 0), (ASK, 1)):
        ran = subprocess.run(
            [program, "ECHO:free"], env=env, cwd=trap, capture_output=True, check=False
        )
        assert (ran.returncode, b"trapped" in ran.stderr) == (code, code == 1), program
