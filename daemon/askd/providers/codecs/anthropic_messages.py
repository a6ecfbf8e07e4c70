"""Items to the `messages` array of Anthropic's Messages API.

Pure. The array begins with the user and alternates. The results of a message's calls
stand first in the single user message right behind it: Anthropic pairs by adjacency.
No text block is empty, and an answer that the model is to go on with ends without
white space. Items must have been healed.

Thinking goes back only where Anthropic needs it, in the exchange of calls and results
that the request goes on with, and only to the provider and the model that it came from.
Older thinking may be left out, as its documentation says, and must be: newer models
refuse a block whose conversation changed before it, and a view is pruned between turns.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from askd.core.context import render_parts
from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Part,
    Snapshot,
    Summary,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.pairs import fit_name
from askd.providers.base import OPENING
from askd.providers.codecs.images import split_images
from askd.providers.codecs.lenient import Json, parse_arguments
from askd.providers.codecs.sent_calls import PLAIN_IDS, SentIds, fit_call_id

THINKING = ("thinking", "redacted_thinking")
"""The types of block that carry reasoning, and of the raw reasoning that this dialect knows."""


def encode_messages(
    items: Iterable[Item],
    *,
    provider: str,
    model: str,
    images: Mapping[str, bytes],
    system: str | None = None,
) -> list[Json]:
    """The `messages` array. `system` goes ahead of everything, as the user's words."""
    conversation = _Conversation(provider, model, images)
    for item in items:
        conversation.add(item)
    messages = conversation.messages
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": _text(system) or _text(OPENING)})
    else:
        messages[0]["content"][:0] = _text(system)
    _drop_old_thinking(messages)
    _end_cleanly(messages[-1])
    return messages


def lacks_thinking(messages: Sequence[Json]) -> bool:
    """Whether the request answers calls that no thinking stands ahead of."""
    if len(messages) < 2 or not _has(messages[-1], "tool_result"):
        return False
    return messages[-2]["content"][0]["type"] not in THINKING


class _Conversation:
    """The messages so far, and which ids their calls have here."""

    def __init__(self, provider: str, model: str, images: Mapping[str, bytes]) -> None:
        self.messages: list[Json] = []
        self._provider = provider
        self._model = model
        self._images = images
        self._ids = SentIds(PLAIN_IDS)

    def add(self, item: Item) -> None:
        """Put one item behind the others."""
        match item:
            case UserMessage():
                self._extend("user", self._encode_parts(item.parts))
            case Summary():
                self._extend("user", _text(item.text))
            case AssistantMessage():
                self._add_assistant(item)
            case ToolOutput():
                self._add_output(item)
            case Snapshot() | Notice() | Unknown():
                pass  # never for a model
            case _:
                assert_never(item)

    def _extend(self, role: str, blocks: Sequence[Json]) -> None:
        if not blocks:
            return
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += blocks
        else:
            self.messages.append({"role": role, "content": [*blocks]})

    def _add_assistant(self, item: AssistantMessage) -> None:
        text = render_parts(item.parts)
        if not item.calls and not text.strip():
            return
        ids = self._ids.begin(item.calls)
        calls = [_encode_call(call, each) for call, each in zip(item.calls, ids, strict=True)]
        thoughts = self._thoughts(item)
        last = self.messages[-1] if self.messages else None
        if last and last["role"] == "assistant" and last["content"][0]["type"] not in THINKING:
            thoughts = []  # thinking behind an answer's words is refused
        self._extend("assistant", _weave(text, calls, thoughts))

    def _thoughts(self, item: AssistantMessage) -> list[Mapping[str, Any]]:
        model = (item.model or "").partition("/")[2] or item.model
        if item.provider != self._provider or model not in (None, self._model):
            return []
        raws = [each.raw for each in item.reasoning if each.raw is not None]
        return [raw for raw in raws if raw.get("type") in THINKING]

    def _add_output(self, item: ToolOutput) -> None:
        # One that nobody asked for stays one that nobody asked for: it is not repaired here.
        wire_id = self._ids.answer(item.call_id) or fit_call_id(item.call_id, PLAIN_IDS)
        block: Json = {"type": "tool_result", "tool_use_id": wire_id}
        content = self._encode_parts(item.parts)
        if content:
            block["content"] = content
        if item.is_error:
            block["is_error"] = True
        self._extend("user", [block])

    def _encode_parts(self, parts: Iterable[Part]) -> list[Json]:
        images, others = split_images(parts, self._images)
        blocks: list[Json] = [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": each.media_type, "data": each.base64},
            }
            for each in images
        ]
        return [*blocks, *_text(render_parts(others))]


def _text(text: str | None) -> list[Json]:
    """One text block, or none: Anthropic refuses those that hold only white space."""
    return [{"type": "text", "text": text}] if text and text.strip() else []


def _encode_call(call: ToolCall, wire_id: str) -> Json:
    return {
        "type": "tool_use",
        "id": wire_id,
        "name": fit_name(call.name),
        "input": parse_arguments(call.arguments),
    }


def _weave(text: str, calls: list[Json], thoughts: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The blocks in the order in which they came; a thought's `place` says where it stood."""
    blocks: list[Json] = []
    written = called = 0
    for raw in thoughts:
        characters, before = _read_place(raw)
        blocks += [*_text(text[written:characters]), *calls[called:before]]
        written, called = max(written, characters), max(called, before)
        known = ("type", "thinking", "signature", "data")
        blocks.append({key: raw[key] for key in known if key in raw})
    blocks += [*_text(text[written:]), *calls[called:]]
    while blocks[-1]["type"] in THINKING:
        blocks.pop()  # a message may not end in one
    return blocks


def _read_place(raw: Mapping[str, Any]) -> tuple[int, int]:
    match raw.get("place"):
        case [int(characters), int(calls)] if characters >= 0 and calls >= 0:
            return characters, calls
        case _:
            return 0, 0


def _drop_old_thinking(messages: Sequence[Json]) -> None:
    """Thinking stays from the end back to where the user spoke without answering calls."""
    is_old = False
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message["role"] == "user":
            is_old = is_old or not _has(message, "tool_result")
        elif is_old:
            message["content"] = [b for b in message["content"] if b["type"] not in THINKING]


def _has(message: Json, kind: str) -> bool:
    return any(block["type"] == kind for block in message["content"])


def _end_cleanly(last: Json) -> None:
    """An answer that is gone on with may not end in white space."""
    block = last["content"][-1]
    if last["role"] == "assistant" and block["type"] == "text":
        block["text"] = block["text"].rstrip()
