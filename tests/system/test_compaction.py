"""Long conversations with the real daemon: compacted, seen by who is there, taken back."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.system.test_terminal import Terminal
from tests.system.world import World

FILL = "so it goes on and on " * 60
"""Three hundred tokens and a few."""


@pytest.fixture
def small(world: World) -> World:
    """A window of 1,600 tokens, 1,400 of them for requests."""
    file = world.ask_home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[models."openai/fake"]\ncontext_window = 1600\nmax_output_tokens = 200\n')
    world.env["ASK_MODEL"] = "openai/fake"
    return world


def talk(world: World, turns: int, *, size: str = FILL) -> None:
    for n in range(turns):
        assert world.ok("-s", "work", f"FACT-{n} {size} ECHO:ok{n}").out == f"ok{n}\n"


def wait(world: World, found: Callable[[], bool]) -> None:
    """Wait for a background job of the conversation to be over, and check what came of it."""
    page = json.loads(world.ok("jobs", "list", "--all", "--json").out)
    open_jobs = [job["id"] for job in page if job["kind"] in ("compact", "prune")]
    if open_jobs:
        world.ask("jobs", "wait", *open_jobs)
    assert found()


def changes(world: World) -> list[dict[str, Any]]:
    return [event for event in world.events("work") if event["type"] == "view_changed"]


def context(world: World) -> str:
    return world.ok("history", "show", "work", "--context").out


def test_it_is_compacted_by_itself_and_the_next_turn_goes_on(small: World) -> None:
    talk(small, 4)
    wait(small, lambda: [each["kind"] for each in changes(small)] == ["compact"])
    (change,) = changes(small)
    assert change["reason"] == "threshold"
    assert change["model"] == "openai/fake"
    assert change["tokens_after"] <= 0.8 * change["tokens_before"]
    shown = context(small)
    assert "Another language model started to solve this problem" in shown
    assert small.ok("-s", "work", "ECHO:on").out == "on\n"
    usage = json.loads(small.ok("usage", "--json").out)
    assert sum(row["answers"] for row in usage) == 6, "five answers and a summary"


def test_by_hand_what_is_shown_before_and_after_and_taken_back(small: World) -> None:
    talk(small, 3)
    before = context(small)
    assert before.count("FACT-") == 3
    done = small.ok("compact", "work")
    assert done.err.startswith("work: Compacted: ")
    after = context(small)
    assert "[1] USER" in after
    assert "tok0 tok1" in after
    assert after.count("ASSISTANT") < before.count("ASSISTANT")
    history = small.ok("history", "show", "work").out
    assert "Messages: 6 total" in history
    assert "[~] SUMMARY (" in history
    assert "by openai/fake)\n    Content: tok0 tok1" in history
    assert "Taken back: the compaction" in small.ok("compact", "work", "--undo").err
    assert context(small) == before
    assert small.ok("prune", "work").err == "work: There is nothing to prune.\n"


def test_another_model_and_a_conversation_that_is_not_there(small: World) -> None:
    assert small.model is not None
    talk(small, 3)
    small.ok("compact", "work", "-m", "openai/fake-large")
    assert small.model.requests()[-1]["model"] == "fake-large"
    assert "Write a concise summary" in small.model.requests()[-1]["messages"][-1]["content"]
    missing = small.ask("compact", "nobody")
    assert (missing.code, "Conversation not found: id=nobody" in missing.err) == (3, True)


def test_in_memory_only_too(small: World) -> None:
    assert small.model is not None
    first = small.ok("--ephemeral", f"{FILL} FACT-0 ECHO:ok")
    id = first.short_id
    for n in range(1, 3):
        small.ok("--ephemeral", "-s", id, f"{FILL} FACT-{n} ECHO:ok")
    assert "Compacted: " in small.ok("compact", id).err
    assert json.loads(small.ok("jobs", "list", "--all", "--json").out) == []


def test_every_terminal_that_watches_sees_it_and_no_pipe_does(small: World) -> None:
    talk(small, 3)
    terminal = Terminal(small, "attach", "work", env={"TERM": "dumb"})
    piped = small.start("attach", "work", "--no-input")
    terminal.wait_for("ok2\r\n")  # both have read what was said, and follow
    piped.wait_for("ok2\n")
    small.ok("compact", "work")
    terminal.wait_for("Compacting conversation history...")
    terminal.wait_for("Compacted: ")
    terminal.wait_for(" tokens.")
    small.ok("-s", "work", "ECHO:and-on")
    piped.wait_for("and-on")
    assert "Compact" not in piped.out + piped.err
    terminal.hang_up()
    terminal.finish()


def test_a_provider_that_fails_leaves_the_history_as_it_was(small: World) -> None:
    talk(small, 3)
    before = context(small)
    result = small.ask("compact", "work", "-m", "openai/missing-one")
    assert result.code in (1, 2)
    assert context(small) == before
    assert small.ok("-s", "work", "ECHO:on").out == "on\n"
