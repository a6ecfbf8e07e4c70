"""Tokens, roughly: how much of a model's window something will take.

A `Size` is what a text, an item or a whole request is made of, by class of text
(`scripts`), and its sum is an estimate for a model that nothing is known of;
`calibration` makes it one for the model that is asked. Each item costs a little
for its frame, and so does a request. It refuses to be exact: the server has the
last word, and says so when a request is too long for it.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Part,
    Snapshot,
    Summary,
    Text,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.scripts import CLASSES, PLACES, add_text, measure_text

BYTES_PER_TOKEN = 4
"""Of text that is beside the log and was not read: what English comes to, rounded down."""
ITEM_TOKENS = 4
"""Role and separators around a message in the common chat templates."""
CALL_TOKENS = 8
"""The frame of a tool call: its id and the JSON around name and arguments."""
TOOL_TOKENS = 12
"""The frame of a tool's definition."""
BASE_TOKENS = 8
"""Around a whole request: what opens it, and what tells the model to answer."""
IMAGE_TOKENS = 1600
"""The most that one image costs with the large providers; its bytes say nothing about it, for a
picture of a page compresses to a few kilobytes."""


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of an ordinary vocabulary, a number for each of `scripts.CLASSES`."""

    tokens_by_class: tuple[float, ...] = (0.0,) * len(CLASSES)

    @property
    def tokens(self) -> int:
        """About how many tokens this is, for a model that nothing is known of."""
        return math.ceil(sum(self.tokens_by_class))

    def __add__(self, other: "Size") -> "Size":
        return Size(tuple(map(float.__add__, self.tokens_by_class, other.tokens_by_class)))


NOTHING = Size()

_WORDS, _IMAGES, _THOUGHTS, _FRAMES, _BASE = (
    PLACES["words"],
    PLACES["images"],
    PLACES["thoughts"],
    PLACES["frames"],
    PLACES["base"],
)


def measure(content: str | Item | Iterable[Item]) -> Size:
    """How large a text, an item, or several items are."""
    found = [0.0] * len(CLASSES)
    if isinstance(content, str):
        add_text(found, content)
    elif isinstance(content, Iterable):
        for item in content:
            _add_item(found, item)
    else:
        _add_item(found, content)
    return Size(tuple(found))


def measure_request(
    items: Iterable[Item], *, system: str | None = None, tools: Sequence[Mapping[str, Any]] = ()
) -> Size:
    """How large a whole request is; `tools` as a request holds them."""
    found = list(measure(items).tokens_by_class)
    found[_BASE] += BASE_TOKENS
    for tool in tools:
        found[_FRAMES] += TOOL_TOKENS
        add_text(found, json.dumps(tool, ensure_ascii=False, default=str))
    return Size(tuple(found)) + measure_system(system)


def measure_system(system: str | None) -> Size:
    """How large a system prompt is, frame included."""
    found = [0.0] * len(CLASSES)
    if system:
        found[_FRAMES] += ITEM_TOKENS
        add_text(found, system)
    return Size(tuple(found))


def estimate_tokens(content: str | Item | Iterable[Item]) -> int:
    """About how many tokens this is, for a model that nothing is known of."""
    return measure(content).tokens


def encode_size(size: Size) -> dict[str, int]:
    """The size as it is kept in an event: whole tokens by class, without those that round to 0."""
    pairs = zip(CLASSES, size.tokens_by_class, strict=True)
    return {each: round(tokens) for each, tokens in pairs if round(tokens)}


def decode_size(data: Mapping[str, Any]) -> Size:
    """A size that was kept; unknown classes and nonsense are passed over."""
    found = (data.get(each) for each in CLASSES)
    return Size(tuple(float(n) if isinstance(n, int) and 0 <= n < 10**9 else 0.0 for n in found))


def _add_item(found: list[float], item: Item) -> None:
    match item:
        case UserMessage(parts=parts):
            _add_parts(found, parts)
        case AssistantMessage(parts=parts, reasoning=reasoning, calls=calls):
            _add_parts(found, parts)
            for each in reasoning:
                found[_THOUGHTS] += sum(measure_text(each.text))
            for call in calls:
                found[_FRAMES] += CALL_TOKENS
                add_text(found, f"{call.call_id} {call.name} {call.arguments}")
        case ToolOutput(call_id=call_id, parts=parts):
            add_text(found, call_id)
            _add_parts(found, parts)
        case Summary(text=text):
            add_text(found, text)
        case Notice() | Snapshot() | Unknown():
            return  # never sent to a model
        case _:
            assert_never(item)
    found[_FRAMES] += ITEM_TOKENS


def _add_parts(found: list[float], parts: tuple[Part, ...]) -> None:
    for part in parts:
        match part:
            case Text(text=text):
                add_text(found, text)
            case Blob(bytes=size, media_type=media_type):
                if media_type.startswith("image/"):
                    found[_IMAGES] += IMAGE_TOKENS
                else:
                    found[_WORDS] += size / BYTES_PER_TOKEN
            case _:
                assert_never(part)
        if part.name is not None:
            found[_FRAMES] += ITEM_TOKENS
            # Named twice: the frame around an attachment opens and closes.
            add_text(found, part.name)
            add_text(found, part.name)
