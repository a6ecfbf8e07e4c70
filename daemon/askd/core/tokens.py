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
from functools import cache
from typing import Any, assert_never

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
from askd.core.scripts import CLASSES, Class, measure_text

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


def sum_sizes(sizes: Iterable[Size]) -> Size:
    """All of them together."""
    columns = zip(*(size.tokens_by_class for size in sizes), strict=True)
    return Size(tuple(map(math.fsum, columns)) or NOTHING.tokens_by_class)


def measure(content: str | Item | Iterable[Item]) -> Size:
    """How large a text, an item, or several items are."""
    if isinstance(content, str):
        return Size(tuple(measure_text(content)))
    if isinstance(content, Iterable):
        return sum_sizes(map(_of_item, content))
    return _of_item(content)


def measure_request(
    items: Iterable[Size], *, system: str | None, tools: Sequence[Mapping[str, Any]] = ()
) -> Size:
    """How large a whole request is; `tools` as a request holds them."""
    parts = [_of_class("base", float(BASE_TOKENS)), *items, measure_system(system)]
    for tool in tools:
        parts += [_frame(TOOL_TOKENS), measure(json.dumps(tool, ensure_ascii=False, default=str))]
    return sum_sizes(parts)


def measure_system(system: str | None) -> Size:
    """How large a system prompt is, frame included."""
    return _frame(ITEM_TOKENS) + measure(system) if system else NOTHING


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


def _of_class(name: Class, tokens: float) -> Size:
    place = CLASSES.index(name)
    return Size((*NOTHING.tokens_by_class[:place], tokens, *NOTHING.tokens_by_class[place + 1 :]))


@cache
def _frame(tokens: int) -> Size:
    return _of_class("frames", float(tokens))


def _of_item(item: Item) -> Size:
    match item:
        case UserMessage(parts=parts):
            return sum_sizes((_frame(ITEM_TOKENS), *map(_of_part, parts)))
        case AssistantMessage(parts=parts, reasoning=reasoning, calls=calls):
            pieces = (*map(_of_part, parts), *_of_reasoning(reasoning), *map(_of_call, calls))
            return sum_sizes((_frame(ITEM_TOKENS), *pieces))
        case ToolOutput(call_id=call_id, parts=parts):
            return sum_sizes((_frame(ITEM_TOKENS), measure(call_id), *map(_of_part, parts)))
        case Summary(text=text):
            return _frame(ITEM_TOKENS) + measure(text)
        case Notice() | Snapshot() | Unknown():
            return NOTHING  # never sent to a model
    assert_never(item)


def _of_part(part: Part) -> Size:
    match part:
        case Text(text=text, name=name):
            return measure(text) if name is None else measure(text) + _of_name(name)
        case Blob(bytes=size, media_type=media_type, name=name):
            is_image = media_type.startswith("image/")
            content = (
                _of_class("images", float(IMAGE_TOKENS))
                if is_image
                else _of_class("words", size / BYTES_PER_TOKEN)
            )
            return content if name is None else content + _of_name(name)
    assert_never(part)


def _of_name(name: str) -> Size:
    # Named twice: the frame around an attachment opens and closes.
    size = measure(name)
    return sum_sizes((_frame(ITEM_TOKENS), size, size))


def _of_reasoning(reasoning: tuple[Reasoning, ...]) -> Iterable[Size]:
    for each in reasoning:
        yield _of_class("thoughts", math.fsum(measure_text(each.text)))


def _of_call(call: ToolCall) -> Size:
    return _frame(CALL_TOKENS) + measure(f"{call.call_id} {call.name} {call.arguments}")
