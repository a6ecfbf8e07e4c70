"""Sizes add up, hold every part of what is sent and nothing else, and survive being kept."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.scripts import CLASSES
from askd.core.tokens import (
    BASE_TOKENS,
    CALL_TOKENS,
    IMAGE_TOKENS,
    ITEM_TOKENS,
    NOTHING,
    TOOL_TOKENS,
    Size,
    decode_size,
    encode_size,
    estimate_tokens,
    measure,
    measure_request,
    measure_system,
)
from tests.core.values import ITEMS

WORDS = "some words"


def by_class(size: Size) -> dict[str, float]:
    """The classes that hold anything."""
    pairs = zip(CLASSES, size.tokens_by_class, strict=True)
    return {each: round(tokens, 6) for each, tokens in pairs if tokens}


def words(times: float = 1.0) -> float:
    return round(by_class(measure(WORDS))["words"] * times, 6)


@pytest.mark.parametrize(
    ("item", "size"),
    [
        (UserMessage("x", (Text(WORDS),)), {"words": words(), "frames": ITEM_TOKENS}),
        (
            UserMessage("x", (Text(WORDS, name=WORDS),)),
            {"words": words(3), "frames": 2 * ITEM_TOKENS},  # a frame opens and closes
        ),
        (
            UserMessage("x", (Blob("", 4000, "text/plain"),)),
            {"words": 1000, "frames": ITEM_TOKENS},
        ),
        (
            UserMessage("x", (Blob("", 10**7, "image/png"), Blob("", 70, "image/gif"))),
            {"images": 2 * IMAGE_TOKENS, "frames": ITEM_TOKENS},
        ),
        (
            AssistantMessage("x", (Text(WORDS),), (Reasoning(WORDS),)),
            {"words": words(), "thoughts": words(), "frames": ITEM_TOKENS},
        ),
        (
            AssistantMessage("x", calls=(ToolCall("some", "words", "some words"),)),
            {"words": words(2), "frames": ITEM_TOKENS + CALL_TOKENS},
        ),
        (
            ToolOutput("x", WORDS, "f", (Text(WORDS),)),
            {"words": words(2), "frames": ITEM_TOKENS},
        ),
        (Summary("x", WORDS), {"words": words(), "frames": ITEM_TOKENS}),
        (Notice("x", WORDS), {}),
        (Snapshot("x", "/w", WORDS), {}),
        (Unknown({"id": "x"}), {}),
    ],
)
def test_items(item: Item, size: dict[str, float]) -> None:
    assert by_class(measure(item)) == size


def test_every_kind_of_item_is_in_the_table_above() -> None:
    assert len(get_args(Item)) == 7


@given(ITEMS)
def test_items_add_up(item: Item) -> None:
    twice = measure([item, item]).tokens_by_class
    assert twice == pytest.approx((measure(item) + measure(item)).tokens_by_class)
    assert measure([]) == NOTHING


def test_a_request_is_its_items_its_system_prompt_its_tools_and_a_frame() -> None:
    tool = {"name": WORDS}
    said = UserMessage("x", (Text(WORDS),))
    size = measure_request([said], system=WORDS, tools=[tool])
    found = by_class(size)
    assert found["base"] == BASE_TOKENS
    assert found["frames"] == 2 * ITEM_TOKENS + TOOL_TOKENS
    assert found["words"] == pytest.approx(words(3) + by_class(measure("name"))["words"])
    bare = by_class(measure_request([said], system=""))
    assert bare == {"words": words(), "frames": ITEM_TOKENS, "base": BASE_TOKENS}
    assert measure_system(None) == NOTHING


def test_an_estimate_is_whole_and_rounded_up() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1
    assert Size((0.5,) * len(CLASSES)).tokens == -(-len(CLASSES) // 2)


@given(st.lists(st.floats(0, 1e8), min_size=len(CLASSES), max_size=len(CLASSES)))
def test_a_size_that_was_kept_is_nearly_the_same(tokens: list[float]) -> None:
    kept = json.loads(json.dumps(encode_size(Size(tuple(tokens)))))
    assert decode_size(kept).tokens_by_class == pytest.approx(tokens, abs=0.5)
    assert encode_size(decode_size(kept)) == kept


@pytest.mark.parametrize("odd", ["8", -1, None, 10**12, [1]])
def test_what_is_no_number_of_tokens_is_passed_over(odd: object) -> None:
    found = decode_size({"words": odd, "digits": 3, "runes": 9})
    assert by_class(found) == {"digits": 3}
