"""The rollout of a conversation: its events as the lines that Codex can resume from.

In the legacy form, which every version reads: `session_meta` first, then for each
turn `turn_context`, the prompt and what was said as `event_msg` and
`response_item`, and `token_count`. Whatever changes the view becomes a
`compacted` line with the view as it is then. What is ours stands under `ask` and
in `ask_event` and `ask_blob` lines, which Codex passes over, so that the events
can be read back without loss. No `history_mode` and no `ordinal`: a file with
those refuses whoever does not continue them.

It writes no file, and reads none back (`rollout_reader`, `imports`).
"""

import base64
from collections.abc import Iterator
from typing import Any

from askd.core.context import build_context
from askd.core.conversation import Conversation
from askd.core.events import (
    CompletionFinished,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnStarted,
    Unreadable,
    ViewChanged,
    encode_body,
)
from askd.core.items import AssistantMessage, Item, UserMessage
from askd.core.outcome import Usage
from askd.core.records import Json
from askd.core.rollout_items import Contents, encode_item, render_text
from askd.core.rollout_lines import format_time

EVENT_LINE = "ask_event"
BLOB_LINE = "ask_blob"
MARK = "ask"
"""The key under which everything of ours stands in a record of Codex's."""
ORIGINATOR = "askd"
UNKNOWN = "unknown"
"""A model or a provider that the log does not name."""
NOWHERE = "/"
"""Codex wants a directory; a prompt over the wire may have had none."""

Told = tuple[str, dict[str, Json]]
"""What Codex is told: the type of a record, and its payload."""


class RolloutWriter:
    """Takes a conversation's events in order and answers the records that follow from each.

    To go on with a file, feed it what the file holds already and drop the records.

    Args:
        provider: the `model_provider` of the first line.
        version: of the program that writes.
    """

    def __init__(self, conversation_id: str, *, provider: str, version: str) -> None:
        self._conversation = Conversation(conversation_id)
        self._provider = provider
        self._version = version
        self._prompts: dict[str, tuple[PromptAccepted, list[Told]]] = {}
        self._known_blobs: set[str] = set()
        self._total = Usage()

    def feed(self, event: Event, contents: Contents) -> list[dict[str, Json]]:
        """The records of the next event. `contents`: of the blobs that it names."""
        self._conversation.apply(event)
        records = list(self._meta(event))
        for sha256, content in contents.items():
            if sha256 not in self._known_blobs:
                self._known_blobs.add(sha256)
                data = base64.b64encode(content).decode()
                records.append(_record(event.at, BLOB_LINE, {"sha256": sha256, "base64": data}))
        records.append(_record(event.at, EVENT_LINE, encode_event(event)))
        for kind, payload in self._tell(event, contents):
            mark = {"seq": event.seq, **_describe_change(event)}
            records.append({**_record(event.at, kind, payload), MARK: mark})
        return records

    def _meta(self, event: Event) -> Iterator[dict[str, Json]]:
        # Also where the creation cannot be read: without this line it would be no rollout.
        is_lost = event.seq == 1 and isinstance(event.body, Unreadable)
        if not (is_lost or isinstance(event.body, ConversationCreated)):
            return
        at = format_time(event.at)
        payload = {
            "id": event.conversation_id,
            "timestamp": at,
            "cwd": NOWHERE,
            "originator": ORIGINATOR,
            "cli_version": self._version,
            "source": "exec",
            "model_provider": self._provider,
        }
        yield {**_record(event.at, "session_meta", payload), MARK: {"version": 1}}

    def _tell(self, event: Event, contents: Contents) -> Iterator[Told]:
        """What Codex is told of an event, as (type, payload)."""
        match event.body:
            case PromptAccepted() as prompt:
                # It is said when its turn begins: what runs meanwhile comes before it.
                said = [told for item in prompt.items for told in _say_for_user(item, contents)]
                self._prompts[prompt.turn_id] = (prompt, said)
            case TurnStarted(turn_id=turn_id, model=model) if turn_id in self._prompts:
                prompt, said = self._prompts.pop(turn_id)
                yield "turn_context", _describe_turn(prompt, model)
                yield from said
            case ItemAdded(item=item, status=status) if status != "superseded":
                yield from _say(item, contents)
            case CompletionFinished(usage=Usage() as usage):
                self._total = self._total + usage
                yield "event_msg", _count_tokens(self._total, usage)
            case TurnFinished(turn_id=turn_id, outcome=outcome):
                self._prompts.pop(turn_id, None)
                if outcome == "interrupted":
                    yield "event_msg", {"type": "turn_aborted", "reason": "interrupted"}
            case ViewChanged():
                yield "compacted", self._compact(event.body)
            case _:
                return

    def _compact(self, change: ViewChanged) -> dict[str, Json]:
        view = build_context(self._conversation, None, system=None).items
        history = [response for item in view for response in encode_item(item, {})]
        return {
            "message": change.summary.text if change.summary else "",
            "replacement_history": history,
        }


def _describe_change(event: Event) -> dict[str, Json]:
    """What a `compacted` line cannot say for Codex; nothing for other events."""
    change = event.body
    if not isinstance(change, ViewChanged):
        return {}
    said: dict[str, Json] = {"kind": change.kind, "truncated_count": change.truncated}
    if change.up_to_seq is not None:
        said["up_to_seq"] = change.up_to_seq
    if change.model is not None:
        said["model"] = change.model
    if change.usage is not None:
        said["usage"] = _write_usage(change.usage)
    return said


def _describe_turn(prompt: PromptAccepted, model: str | None) -> dict[str, Json]:
    # The most careful policies: what a rollout says must not open a door that is shut.
    return {
        "cwd": prompt.cwd or NOWHERE,
        "approval_policy": "on-request",
        "sandbox_policy": {"type": "read-only"},
        "model": split_model(model)[1],
        "summary": "auto",
    }


def _say(item: Item, contents: Contents) -> Iterator[Told]:
    match item:
        case UserMessage():
            yield from _say_for_user(item, contents)
            return
        case AssistantMessage():
            for thought in item.reasoning:
                yield "event_msg", {"type": "agent_reasoning", "text": thought.text}
            text = render_text(item.parts, contents)
            if text:
                yield "event_msg", {"type": "agent_message", "message": text}
        case _:
            pass
    for response in encode_item(item, contents):
        yield "response_item", response


def _say_for_user(item: UserMessage, contents: Contents) -> Iterator[Told]:
    text = render_text(item.parts, contents)
    yield "event_msg", {"type": "user_message", "message": text, "images": []}
    for response in encode_item(item, contents):
        yield "response_item", response


def encode_event(event: Event) -> dict[str, Json]:
    """An event as it is kept in an `ask_event` line: `{seq, at, version, event}`."""
    return {
        "seq": event.seq,
        "at": event.at,
        "version": event.version,
        "event": encode_body(event.body),
    }


def split_model(name: str | None) -> tuple[str, str]:
    """Provider and model of `provider/model`; what is not said is `unknown`."""
    provider, slash, model = (name or "").partition("/")
    return (provider, model) if slash else (UNKNOWN, provider or UNKNOWN)


def _record(at: float, kind: str, payload: Any) -> dict[str, Json]:
    return {"timestamp": format_time(at), "type": kind, "payload": payload}


def _count_tokens(total: Usage, last: Usage) -> dict[str, Json]:
    info = {
        "total_token_usage": _write_usage(total),
        "last_token_usage": _write_usage(last),
        "model_context_window": None,
    }
    return {"type": "token_count", "info": info, "rate_limits": None}


def _write_usage(usage: Usage) -> dict[str, Json]:
    return {
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": usage.reasoning_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
