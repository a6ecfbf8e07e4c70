"""Every example of every help text, run as it stands, by a shell, on a real daemon."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ask.commands.help import Example, collect_examples
from ask.commands.root import root
from ask.connection import Client
from tests.system.world import ASK, LIMIT_S, World, open_world

EXAMPLES = [example for _, example in collect_examples(root) if not example.by_hand]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One world for all examples: each clears away what the one before has left."""
    with open_world(tmp_path_factory.mktemp("examples")) as world:
        yield world


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.line)
def test_an_example_runs_and_ends_as_it_says(shared: World, example: Example) -> None:
    clear_away(shared)
    for line in example.before:
        assert run(shared, line).returncode == 0, line
    done = run(shared, example.line)
    assert done.returncode == example.code, (example.line, done.stdout, done.stderr)


def run(world: World, line: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a line of shell in which `ask` is the one under test."""
    path = f"{Path(ASK).parent}{os.pathsep}{world.env['PATH']}"
    return subprocess.run(
        ["sh", "-c", line],
        env={**world.env, "PATH": path},
        cwd=world.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


def clear_away(world: World) -> None:
    """Delete every schedule, conversation and server, and the default model if one was set."""
    with Client.connect(world.env) as client:
        for row in client.call("schedule/list")["data"]:
            client.call("schedule/remove", {"schedule": row["id"]})
        for row in client.call("conversation/list", {"limit": 50})["data"]:
            client.call("conversation/delete", {"conversation_id": row["id"]})
        for key in ("default_model", "mcpServers"):
            client.call("config/write", {"key": key, "value": None})
