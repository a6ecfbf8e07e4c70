"""The next request as people and scripts see it: every item with its tokens."""

import hashlib
import json
from typing import Any

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon

ITEMS: list[dict[str, Any]] = [
    {"type": "system", "text": "Be brief.", "tokens": 7},
    {
        "type": "user_message",
        "id": "t.0",
        "parts": [{"type": "text", "text": "What is 2+2?\x1b[2J"}],
        "tokens": 8,
    },
    {
        "type": "assistant_message",
        "id": "t.1",
        "calls": [{"call_id": "call_1", "name": "calculator", "arguments": "{}"}],
        "tokens": 14,
    },
    {
        "type": "tool_output",
        "id": "t.1.0",
        "call_id": "call_1",
        "name": "calculator",
        "parts": [{"type": "text", "text": "4"}],
        "tokens": 1,
    },
    {"type": "summary", "id": "s", "text": "So far.", "tokens": 6},
    {
        "type": "assistant_message",
        "id": "u.1",
        "left_out": "The content is not shown.",
        "tokens": 9,
    },
]


def test_the_next_request_is_laid_out_like_a_transcript(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.context = ITEMS
    result = ask("history", "show", "work", "--context")
    assert result.code == 0
    assert result.out.splitlines() == [
        "Next request: work",
        f"ID: {conversation_id}",
        "Model: fake/echo",
        "Tokens: about 45 of 8,192; a request may take 8,000",
        "Items: 6 total",
        "Healed: 1 fault of the log, not in here",
        "=" * 80,
        "",
        "[1] SYSTEM (7 tokens)",
        "    Content: Be brief.",
        "",
        "[2] USER (8 tokens)",
        "    Content: What is 2+2?",
        "",
        "[3] ASSISTANT (14 tokens)",
        "    Tool Calls: 1 total",
        "      - calculator (id: call_1)",
        "",
        "[4] TOOL (1 token)",
        "    Tool Call ID: call_1",
        "    Content: 4",
        "",
        "[5] USER (6 tokens)",
        "    Content: So far.",
        "",
        "[6] SYSTEM (9 tokens)",
        "    Content: The content is not shown.",
    ]


def test_instructions_of_the_project_are_named(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    daemon.context = ITEMS
    files: list[dict[str, Any]] = [
        {"path": "/p/AGENTS.md", "bytes": 1200, "left_out_bytes": 0},
        {"path": "/p/\x1b[2Jq/AGENTS.md", "bytes": 5, "left_out_bytes": 2000},
    ]
    daemon.limits["instructions"] = files
    shown = ask("history", "show", "work", "--context").out.splitlines()
    assert shown[5:7] == [
        "Instructions: /p/AGENTS.md (1,200 bytes)",
        "Instructions: /p/q/AGENTS.md (the first 5 of 2,005 bytes)",
    ]
    record = json.loads(ask("history", "show", "work", "--context", "--json").out)
    assert record["instructions"] == files


def test_the_last_items_keep_their_numbers(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    daemon.context = ITEMS
    out = ask("history", "show", "work", "--context", "-n", "2").out
    assert "[5] USER" in out
    assert "[4] TOOL" not in out
    assert "Items: 6 total" in out


@pytest.mark.parametrize("unknown", [set[str](), {"last"}])
def test_the_last_items_are_all_that_is_asked_for(
    daemon: FakeDaemon, ask: Ask, unknown: set[str]
) -> None:
    daemon.create("work")
    daemon.context = [{**ITEMS[1], "id": str(n)} for n in range(1000)]
    daemon.unknown = unknown  # an older daemon answers with everything
    record = json.loads(ask("history", "show", "work", "--context", "-n", "250", "--json").out)
    assert [item["item_id"] for item in record["items"]] == [str(n) for n in range(750, 1000)]
    assert record["item_count"] == 1000
    assert len(daemon.called("conversation/context")) == (6 if unknown else 2)
    out = ask("history", "show", "work", "--context", "-n", "1").out
    assert [line for line in out.splitlines() if line.startswith("[")] == ["[1000] USER (8 tokens)"]
    assert ask("history", "show", "work", "--context", "-n", "2000").out.count("USER") == 1000


def test_all_pages_are_read(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    daemon.context = [{**ITEMS[1], "id": str(n)} for n in range(450)]
    record = json.loads(ask("history", "show", "work", "--context", "--json").out)
    assert [item["item_id"] for item in record["items"]] == [str(n) for n in range(450)]
    assert len(daemon.called("conversation/context")) == 3
    assert {"env", "secrets"} <= set(daemon.called("conversation/context")[0])


def test_scripts_get_one_object_with_the_whole_content(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    content = b"a long text"
    digest = hashlib.sha256(content).hexdigest()
    daemon.blobs[digest] = content
    blob = {"type": "blob", "sha256": digest, "bytes": 11, "media_type": "text/plain"}
    daemon.context = [*ITEMS[:4], {**ITEMS[1], "id": "u.0", "parts": [blob]}]
    record = json.loads(ask("history", "show", "work", "--context", "--raw").out)
    assert (record["name"], record["model"], record["tokens"]) == ("work", "fake/echo", 38)
    assert (record["context_window"], record["budget"], record["healed"]) == (8192, 8000, 1)
    assert record["item_count"] == 5
    assert record["items"][0] == {
        "role": "system",
        "content": "Be brief.",
        "item_id": None,
        "tokens": 7,
    }
    assert record["items"][2]["tool_calls"][0]["id"] == "call_1"
    assert record["items"][4]["content"] == "a long text"


def test_a_window_that_nobody_knows_and_a_model_that_nobody_can_ask(
    daemon: FakeDaemon, ask: Ask
) -> None:
    daemon.create("work")
    daemon.limits = {"context_window": None, "budget": 8000, "healed": 0}
    out = ask("history", "show", "work", "--context").out
    assert "Tokens: about 0; the model's window is not known\n" in out
    assert "Healed" not in out
    daemon.limits |= {"model": None, "budget": None, "note": "No key: set KEY."}
    out = ask("history", "show", "work", "--context").out
    assert "Model: unknown\nNote: No key: set KEY.\n" in out
