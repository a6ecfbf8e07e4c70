"""The real embedded model calls a tool: JSON that it is held to, one way of approval, one loop.

A model of 135 million parameters says what it likes; what is checked is what must hold
whatever that is. Skipped only where the `local` extra or the weights are not installed.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.servers import write_config
from tests.system.test_embedded import captured, model_pid, pytestmark, received
from tests.system.world import LIMIT_S, World, open_world

__all__ = ["pytestmark"]

SECRET = "the lighthouse keeper is called Wilhelmina"
BOUND_S = 3 * LIMIT_S
"""For a whole turn on a slow machine: at most four answers of some dozens of tokens."""


@pytest.fixture
def local_world(tmp_path: Path) -> Iterator[World]:
    """A world without any key, whose model has four answers for a turn, and a project."""
    with open_world(tmp_path, model=False) as opened:
        write_config(
            opened,
            "[tools]\nmax_completions = 4\nmax_repeats = 2\n"
            '[models."local/smollm2-135m"]\ntemperature = 0.0\nmax_output_tokens = 200\n',
        )
        project = opened.home / "project"
        project.mkdir()
        (project / "notes.txt").write_text(f"{SECRET}\n")
        yield opened


def items(world: World, kind: str) -> list[dict[str, Any]]:
    """The items of one kind in the log."""
    return [
        event["item"]
        for event in world.events("work")
        if event["type"] == "item_added" and event["item"]["type"] == kind
    ]


def test_it_reads_a_file_that_it_asked_for_itself(local_world: World, tmp_path: Path) -> None:
    world = local_world
    world.ask("-s", "other", "Say one word.")  # the model is loaded, and can be listened to
    begun = time.monotonic()
    trace = tmp_path / "trace"
    with captured(model_pid(world), trace):
        result = world.ask(
            "-T", "read_file", "-s", "work", "Read the file notes.txt.", cwd=world.home / "project"
        )
    assert time.monotonic() - begun < BOUND_S
    assert result.code in (0, 1, 9), result

    # It was the model's own call, in the log as any other's.
    first = items(world, "assistant_message")[0]
    assert (first["provider"], first["model"]) == ("local", "local/smollm2-135m")
    (call,) = first["calls"]
    assert call["name"] == "read_file"
    assert json.loads(call["arguments"])["path"] == "notes.txt"

    # Nobody had to be asked; the one tool ran, and its output is whole in the log.
    kinds = [event["type"] for event in world.events("work")]
    assert "question_asked" not in kinds
    outputs = items(world, "tool_output")
    assert outputs[0]["call_id"] == call["call_id"]
    assert SECRET in json.dumps(outputs[0])
    assert "synthetic" not in outputs[0] or outputs[0]["synthetic"] is None

    # The next request's bytes hold it, and no field that its server passes over.
    sent = received(trace).decode(errors="replace")
    assert SECRET in sent
    assert '"tools":' not in sent
    assert "[Output of the tool read_file; the user did not say this.]" in sent
    assert '"json_schema"' in sent
    assert "read_file(path: string" in sent

    # Whatever it said then: every call has one output, and the turn has one end that is true.
    said = items(world, "assistant_message")
    calls = [each["call_id"] for one in said for each in one.get("calls", ())]
    assert sorted(calls) == sorted(each["call_id"] for each in outputs)
    (end,) = [event for event in world.events("work") if event["type"] == "turn_finished"]
    assert end["code"] == result.code
    assert (end["outcome"] == "completed") == (result.code in (0, 9))
    assert result.code != 0 or result.out.strip()


def test_without_tools_asked_for_it_has_none(local_world: World) -> None:
    world = local_world
    file = world.ask_home / "config" / "config.toml"
    file.write_text(file.read_text().replace("[tools]\n", '[tools]\nenabled = ["all"]\n'))
    result = world.ask("-s", "work", "Read the file notes.txt.", cwd=world.home / "project")
    assert result.code in (0, 9), result
    assert items(world, "tool_output") == []
    assert not any(each.get("calls") for each in items(world, "assistant_message"))


def test_a_rule_that_denies_holds_for_it_too(local_world: World) -> None:
    world = local_world
    file = world.ask_home / "config" / "config.toml"
    file.write_text(file.read_text() + '[approval.tools]\nread_file = "deny"\n')
    world.ask(
        "-T", "read_file", "-s", "work", "Read the file notes.txt.", cwd=world.home / "project"
    )
    outputs = items(world, "tool_output")
    assert outputs
    assert {each["synthetic"] for each in outputs} == {"denied"}
    assert SECRET not in json.dumps(world.events("work"))
