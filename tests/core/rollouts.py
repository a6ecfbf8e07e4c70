"""Rollouts for tests: the genuine files, lines made by hand, and short ways to import them."""

import itertools
import json
from pathlib import Path
from typing import Any

from askd.core.context import Context, build_context
from askd.core.conversation import Conversation, fold
from askd.core.events import Event
from askd.core.imports import Import, plan_import
from askd.core.spoken import Speech, Spoken

FOLDER = Path(__file__).parents[1] / "data" / "codex-rollouts"
GENUINE = sorted(FOLDER.glob("*/*.jsonl"))
NOW = 2_000_000_000.0
TIME = "2026-01-02T03:04:05.678Z"


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem[-4:]}"


def line(kind: str, payload: Any, *, at: str = TIME, **more: Any) -> dict[str, Any]:
    return {"timestamp": at, "type": kind, "payload": payload, **more}


def user(text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return line("response_item", {"type": "message", "role": "user", "content": content})


def assistant(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return line("response_item", {"type": "message", "role": "assistant", "content": content})


def call(call_id: str, name: str = "shell") -> dict[str, Any]:
    payload = {"type": "function_call", "name": name, "arguments": "{}", "call_id": call_id}
    return line("response_item", payload)


def output(call_id: str, text: Any = "done") -> dict[str, Any]:
    payload = {"type": "function_call_output", "call_id": call_id, "output": text}
    return line("response_item", payload)


def pack(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def plan(content: bytes) -> Import:
    numbers = itertools.count(1)
    return plan_import(content, conversation_id="C", new_id=lambda: f"i{next(numbers)}", at=NOW)


def events_of(found: Import) -> list[Event]:
    return [Event("C", seq, at, body) for seq, (at, body) in enumerate(found.timed, start=1)]


def folded(found: Import) -> Conversation:
    return fold("C", events_of(found))


def context_of(found: Import) -> Context:
    return build_context(folded(found), None, system=None)


def spoken(events: list[Event], contents: dict[str, bytes] | None = None) -> list[Spoken]:
    speech = Speech()
    for event in events:
        speech.feed(event, contents or {})
    return speech.messages


def said(found: Import) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in spoken(events_of(found), found.blobs)]
