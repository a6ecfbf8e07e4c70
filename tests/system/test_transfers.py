"""Conversations as files with the real daemon: in from Codex, on with a model, out, in again."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.rollouts import GENUINE, assistant, call, name_of, output, pack, user
from tests.system.world import World


def roles(request: dict[str, Any]) -> list[str]:
    return [message["role"] for message in request["messages"]]


@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_a_rollout_of_codex_is_imported_shown_and_continued(world: World, path: Path) -> None:
    assert world.model is not None
    before = path.read_bytes()
    imported = world.ok("history", "import", str(path))
    conversation = imported.out.strip()
    assert "Imported: " in imported.err
    assert "hello there" in world.ok("history", "list").out
    shown = json.loads(world.ok("history", "show", conversation, "--raw").out)
    assert [each["content"] for each in shown["messages"][:2]] == [
        "hello there",
        "Hello from fake server, reply 1.",
    ]
    calls = [each for each in shown["messages"] if "tool_calls" in each]
    assert len(calls) == 1
    assert world.ok("-s", conversation, "ECHO:and on").out == "and on\n"
    request = world.model.requests(at_least=1)[0]
    if b'"type":"compacted"' in before:
        # A model sees what Codex itself would go on with.
        first, answer, after = request["messages"][:3]
        assert first["role"] == "user"
        assert first["content"].startswith("hello there\n\nRUN: echo hi-from-shell")
        assert "\n\nAnother language model started to solve this problem" in first["content"]
        assert answer["role"] == "assistant"
        assert after == {"role": "user", "content": "after compaction"}
        assert "tool" not in roles(request)
    else:
        assert roles(request)[:5] == ["user", "assistant", "user", "assistant", "tool"]
    assert request["messages"][-1]["content"] == "ECHO:and on"
    assert path.read_bytes() == before


def test_what_is_broken_in_a_file_is_healed_in_the_request_and_kept_in_the_log(
    world: World,
) -> None:
    assert world.model is not None
    path = world.home / "broken.jsonl"
    path.write_bytes(
        pack(output("lost", "orphan"), user("hi"), call("open"), assistant("yo"), output("lost"))
        + b'{"timestamp": "2026-01-'
    )
    imported = world.ok("history", "import", str(path))
    assert "Skipped 1 line, the first is line 6: it is not JSON" in imported.err
    conversation = imported.out.strip()
    assert world.ok("-s", conversation, "ECHO:on").out == "on\n"
    (request,) = world.model.requests(at_least=1)
    assert roles(request) == ["user", "assistant", "tool", "assistant", "user"]
    assert "orphan" not in json.dumps(request)
    assert "orphan" in world.ok("history", "show", conversation, "--raw").out


def test_a_conversation_goes_out_and_comes_back_in_each_format(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:first answer")
    world.ok("-s", "work", "ECHO:second answer")
    before = json.loads(world.ok("history", "show", "work", "--raw").out)
    for kind in ("json", "codex"):
        path = world.home / f"work.{kind}"
        world.ok("history", "export", "work", "--format", kind, "-o", str(path))
        assert path.read_text() == world.ok("history", "export", "work", "--format", kind).out
        conversation = world.ok("history", "import", str(path)).out.strip()
        again = world.ok("history", "import", str(path))
        assert (again.out.strip(), "Already imported" in again.err) == (conversation, True)
        after = json.loads(world.ok("history", "show", conversation, "--raw").out)
        assert after["messages"] == before["messages"]
        assert after["title"] == before["title"]
        world.ok("-s", conversation, f"ECHO:{kind}")
        request = world.model.requests()[-1]
        assert roles(request) == ["user", "assistant"] * 2 + ["user"]
        world.ok("history", "delete", conversation, "--yes")
        fresh = world.ok("history", "import", str(path))
        assert fresh.out.strip() != conversation
    page = world.ok("history", "export", "work", "--format", "markdown").out
    assert page.count("\n## ") == 4
    total = json.loads(world.ok("usage", "--json").out)
    assert json.dumps(total).count('"answers": 4') >= 1  # what was imported is not counted


def test_a_file_without_turns_is_one_sentence(world: World) -> None:
    path = world.home / "empty.jsonl"
    path.write_bytes(b"")
    result = world.ask("history", "import", str(path))
    assert (result.code, result.out) == (1, "")
    assert result.err == f"Conversation {path} has no turns\n"
    assert world.ok("history", "list", "--json").out.strip() == "[]"
