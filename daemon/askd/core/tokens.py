"""Tokens, roughly: how much of a model's window something will take.

An estimate without any model's vocabulary: four bytes of UTF-8 make a token,
rounded up, and each item costs a little for its frame. Bytes and not code
points, because one code point of Chinese or Japanese is about a token of its
own and an emoji more: at three or four bytes each they count nearly that, where
a quarter of the code points would be a quarter of the truth. English prose
comes out about right, dense code and digits up to a third too low. It refuses
to be exact: the server has the last word, and says so when a request is too
long for it.
"""

from collections.abc import Iterable
from typing import assert_never

from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Part,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)

BYTES_PER_TOKEN = 4
"""What English text comes to with the vocabularies of the last years, rounded down."""
ITEM_TOKENS = 4
"""Role and separators around a message in the common chat templates."""
CALL_TOKENS = 8
"""The frame of a tool call: its id and the JSON around name and arguments."""
IMAGE_TOKENS = 1600
"""The most that one image costs with the large providers; its bytes say nothing about it, for a
picture of a page compresses to a few kilobytes."""


def estimate_tokens(content: str | Item | Iterable[Item]) -> int:
    """About how many tokens this is: a text, an item, or several."""
    if isinstance(content, str):
        return _of_text(content)
    if isinstance(content, Iterable):
        return sum(_of_item(item) for item in content)
    return _of_item(content)


def _of_text(text: str) -> int:
    # A lone surrogate cannot be encoded and counts as the `?` that takes its place.
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return _of_bytes(size)


def _of_bytes(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _of_item(item: Item) -> int:
    match item:
        case UserMessage(parts=parts):
            return ITEM_TOKENS + _of_parts(parts)
        case AssistantMessage(parts=parts, reasoning=reasoning, calls=calls):
            return ITEM_TOKENS + _of_parts(parts) + _of_reasoning(reasoning) + _of_calls(calls)
        case ToolOutput(call_id=call_id, parts=parts):
            return ITEM_TOKENS + _of_text(call_id) + _of_parts(parts)
        case Summary(text=text):
            return ITEM_TOKENS + _of_text(text)
        case Notice() | Snapshot() | Unknown():
            return 0  # never sent to a model
    assert_never(item)


def _of_parts(parts: tuple[Part, ...]) -> int:
    return sum(_of_part(part) for part in parts)


def _of_part(part: Part) -> int:
    match part:
        case Text(text=text, name=name):
            return _of_text(text) + _of_name(name)
        case Blob(bytes=size, media_type=media_type, name=name):
            is_image = media_type.startswith("image/")
            return (IMAGE_TOKENS if is_image else _of_bytes(size)) + _of_name(name)
    assert_never(part)


def _of_name(name: str | None) -> int:
    # Named twice: the frame around an attachment opens and closes.
    return 0 if name is None else ITEM_TOKENS + 2 * _of_text(name)


def _of_reasoning(reasoning: tuple[Reasoning, ...]) -> int:
    return sum(_of_text(each.text) for each in reasoning)


def _of_calls(calls: tuple[ToolCall, ...]) -> int:
    return sum(CALL_TOKENS + _of_text(c.call_id + c.name + c.arguments) for c in calls)
