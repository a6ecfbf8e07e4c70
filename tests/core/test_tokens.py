"""The estimate of tokens is rough, never too cheap for text, and adds up."""

from typing import get_args

import pytest
from hypothesis import given

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
from askd.core.tokens import CALL_TOKENS, IMAGE_TOKENS, ITEM_TOKENS, estimate_tokens
from tests.core.values import ITEMS, TEXTS


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("é" * 4, 2), ("🎉", 1)],
)
def test_four_bytes_make_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_half_a_character_does_not_raise() -> None:
    assert estimate_tokens("\ud800") == 1


@given(TEXTS, TEXTS)
def test_more_text_is_never_less(one: str, other: str) -> None:
    assert estimate_tokens(one + other) >= max(estimate_tokens(one), estimate_tokens(other))
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        (UserMessage("x", (Text("abcd"),)), ITEM_TOKENS + 1),
        (UserMessage("x", (Text("abcd", name="stdin"),)), ITEM_TOKENS + 1 + ITEM_TOKENS + 4),
        (UserMessage("x", (Blob("", 4000, "text/plain"),)), ITEM_TOKENS + 1000),
        (UserMessage("x", (Blob("", 10**7, "image/png"),)), ITEM_TOKENS + IMAGE_TOKENS),
        (UserMessage("x", (Blob("", 70, "image/gif"),)), ITEM_TOKENS + IMAGE_TOKENS),
        (
            AssistantMessage("x", (Text("abcd"),), (Reasoning("abcd"),)),
            ITEM_TOKENS + 2,
        ),
        (
            AssistantMessage("x", calls=(ToolCall("ab", "cd", "{}ef"),)),
            ITEM_TOKENS + CALL_TOKENS + 2,
        ),
        (ToolOutput("x", "abcd", "f", (Text("abcd"),)), ITEM_TOKENS + 2),
        (Summary("x", "abcd"), ITEM_TOKENS + 1),
        (Notice("x", "abcd"), 0),
        (Snapshot("x", "/w", "abcd"), 0),
        (Unknown({"id": "x"}), 0),
    ],
)
def test_items(item: Item, tokens: int) -> None:
    assert estimate_tokens(item) == tokens


def test_every_kind_of_item_is_in_the_table_above() -> None:
    assert len(get_args(Item)) == 7


@given(ITEMS)
def test_items_add_up(item: Item) -> None:
    assert estimate_tokens([item, item]) == 2 * estimate_tokens(item)
    assert estimate_tokens([]) == 0
