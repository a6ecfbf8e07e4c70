"""Moves large parts out of events: a blob stands in for the text that it holds.

Pure. An event must fit one message of the wire with room for its envelope; text
that would not is stored beside the log under its digest. Nothing is cut but a
model's thoughts, and that says so.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from askd.core.events import Body, ItemAdded, PromptAccepted, PromptSteered, ViewChanged
from askd.core.items import (
    PART_LIMIT_BYTES,
    AssistantMessage,
    Blob,
    Copy,
    Part,
    Reasoning,
    Snapshot,
    Text,
    ToolOutput,
    UserMessage,
)

EVENT_LIMIT_BYTES = 768 * 1024
"""All the text of one event: the wire's 1 MiB, less what names, escapes and the envelope need."""
KEPT_PART_BYTES = 1024
"""A part smaller than this is never worth a blob."""

Blobs = dict[str, bytes]
"""Contents by their SHA-256 in hex."""


def offload_bodies(bodies: Sequence[Body]) -> tuple[list[Body], Blobs]:
    """Several events at once, as `offload_body`."""
    lean: list[Body] = []
    blobs: Blobs = {}
    for body in bodies:
        small, found = offload_body(body)
        lean.append(small)
        blobs |= found
    return lean, blobs


def offload_body(body: Body) -> tuple[Body, Blobs]:
    """The same event with its large texts as blobs, and the contents of these."""
    blobs: Blobs = {}
    match body:
        case ItemAdded(item=AssistantMessage() as item):
            reasoning = _shorten(item.reasoning)
            taken = [each.arguments for each in item.calls] + [each.text for each in reasoning]
            room = EVENT_LIMIT_BYTES - sum(len(encode_text(each)) for each in taken)
            parts = offload_parts(item.parts, blobs, room=room)
            return replace(body, item=replace(item, parts=parts, reasoning=reasoning)), blobs
        case ItemAdded(item=Snapshot(copies=copies) as snapshot) if copies:
            room = EVENT_LIMIT_BYTES // len(copies)
            return replace(
                body,
                item=replace(
                    snapshot, copies=tuple(_offload_copy(each, blobs, room=room) for each in copies)
                ),
            ), blobs
        case ItemAdded(item=(UserMessage() | ToolOutput()) as item):
            return replace(body, item=replace(item, parts=offload_parts(item.parts, blobs))), blobs
        case PromptAccepted(items=items) | PromptSteered(items=items):
            room = EVENT_LIMIT_BYTES // max(1, len(items))
            lean_items = tuple(
                replace(each, parts=offload_parts(each.parts, blobs, room=room)) for each in items
            )
            return replace(body, items=lean_items), blobs
        case ViewChanged(shortened=shortened) if shortened:
            room = EVENT_LIMIT_BYTES // len(shortened)
            lean_outputs = tuple(
                replace(each, parts=offload_parts(each.parts, blobs, room=room))
                for each in shortened
            )
            return replace(body, shortened=lean_outputs), blobs
        case _:
            return body, blobs


def offload_parts(
    parts: Sequence[Part], blobs: Blobs, *, room: int = EVENT_LIMIT_BYTES
) -> tuple[Part, ...]:
    """Replace each text over the part's limit, then the largest until the rest fits `room`.

    The contents are added to `blobs`.
    """
    kept: list[Part] = list(parts)
    sizes = [len(encode_text(each.text)) if isinstance(each, Text) else 0 for each in kept]
    total = sum(sizes)
    for index in sorted(range(len(kept)), key=lambda index: -sizes[index]):
        part = kept[index]
        large = sizes[index] > PART_LIMIT_BYTES
        if not isinstance(part, Text) or not (large or total > room):
            break  # the rest is smaller, or no text
        if sizes[index] < KEPT_PART_BYTES:
            break
        content = encode_text(part.text)
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        kept[index] = Blob(digest, len(content), "text/plain", part.name)
        total -= sizes[index]
    return tuple(kept)


def _offload_copy(copy: Copy, blobs: Blobs, *, room: int) -> Copy:
    if copy.part is None:
        return copy
    (part,) = offload_parts((copy.part,), blobs, room=room)
    return replace(copy, part=part)


def encode_text(text: str) -> bytes:
    """UTF-8; a lone surrogate, which a model can be made to write, becomes a question mark."""
    return text.encode("utf-8", "replace")


def _shorten(thoughts: tuple[Reasoning, ...]) -> tuple[Reasoning, ...]:
    # Reasoning is text for people and has no blob form; `raw` goes back to its provider and stays.
    room = PART_LIMIT_BYTES // max(1, len(thoughts))
    return tuple(
        replace(each, text=_cut(each.text, room)) if len(each.text) * 4 > room else each
        for each in thoughts
    )


def _cut(text: str, room: int) -> str:
    content = encode_text(text)
    if len(content) <= room:
        return text
    half = room // 2
    head = content[:half].decode("utf-8", "ignore")
    tail = content[-half:].decode("utf-8", "ignore")
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[... {left_out} characters truncated ...]\n{tail}"
