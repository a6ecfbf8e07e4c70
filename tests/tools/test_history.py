"""`search_history`: what was said elsewhere, in bounds, and only when a person lets it."""

import json
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from askd.core.items import ToolCall, join_text
from askd.errors import StorageFailed
from askd.tools.base import Preview
from askd.tools.history import MOST_PAGES, NAME, PAGE, make_search_history
from askd.tools.registry import Registry
from tests.fakes.tools import SITE


@dataclass(frozen=True)
class Row:
    """A hit."""

    conversation_id: str = "other"
    name: str | None = "work"
    title: str | None = "About the sea"
    at: float = 1_700_000_000.0
    role: str = "assistant"
    snippet: str = "the sea is blue"


@dataclass(frozen=True)
class Page:
    """A page of hits."""

    rows: Sequence[Row]
    next_cursor: str | None = None


@dataclass
class Past:
    """A search over rows, which pages as the store's does."""

    rows: list[Row]
    asked: list[tuple[str, bool, str | None]] = field(default_factory=list)
    error: Exception | None = None

    def __call__(
        self, text: str, /, *, rank: bool, cursor: str | None, limit: int
    ) -> Awaitable[Page]:
        """A page of them."""

        async def find() -> Page:
            self.asked.append((text, rank, cursor))
            if self.error is not None:
                raise self.error
            start = int(cursor or 0)
            assert 0 < limit <= 100
            more = str(start + limit) if start + limit < len(self.rows) else None
            return Page(self.rows[start : start + limit], more)

        return find()


async def search(past: Past, arguments: dict[str, object] | str) -> tuple[str, bool]:
    """What a call answers, and whether it is an error."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    tools = Registry([make_search_history(search=past)])
    output = await tools.run(ToolCall("call_1", NAME, raw), item_id="o", site=SITE)
    return join_text(output.parts), output.is_error


async def test_a_line_for_each_hit_with_where_it_stands() -> None:
    past = Past(
        [Row(), Row(name=None, role="user", snippet="sea\n\x1b[31m?"), Row(title=None, name=None)]
    )
    text, is_error = await search(past, {"query": "sea"})
    assert not is_error
    assert text.splitlines() == [
        "other (work), 2023-11-14 22:13 UTC, assistant: the sea is blue",
        "other (About the sea), 2023-11-14 22:13 UTC, user: sea [31m?",
        "other, 2023-11-14 22:13 UTC, assistant: the sea is blue",
    ]
    assert past.asked == [("sea", True, None)]


async def test_the_running_conversation_is_left_out_and_looked_past() -> None:
    own = Row(conversation_id=SITE.conversation_id)
    past = Past([own] * (PAGE + 1) + [Row()])
    text, _ = await search(past, {"query": "sea"})
    assert text.count("\n") == 0
    assert text.startswith("other ")
    assert len(past.asked) == 2
    endless = Past([own] * 10_000)
    text, is_error = await search(endless, {"query": "sea"})
    assert (text, is_error) == ("No other conversation holds: sea", False)
    assert len(endless.asked) == MOST_PAGES


async def test_it_answers_no_more_than_was_asked_for_and_no_more_than_a_bound() -> None:
    past = Past([replace(Row(), snippet="x" * 10_000, name="n" * 1000)] * 200)
    assert (await search(past, {"query": "x", "limit": 3}))[0].count("\n") == 2
    text, _ = await search(past, {"query": "x"})
    assert text.count("\n") == 9
    text, _ = await search(past, {"query": "x", "limit": 50})
    assert text.count("\n") == 49
    assert len(text) < 50 * 500


async def test_a_search_that_fails_is_a_sentence_for_the_model() -> None:
    past = Past([], error=StorageFailed("The index is damaged.", reason="search_damaged"))
    assert await search(past, {"query": "x"}) == ("The search failed: The index is damaged.", True)


@pytest.mark.parametrize(
    "arguments",
    ["{}", '{"query": ""}', '{"query": 5}', '{"query": "x", "limit": 0}',
     '{"query": "x", "limit": 51}', '{"query": "x", "all": true}',
     json.dumps({"query": "x" * 301})],
)  # fmt: skip
async def test_arguments_that_do_not_fit_reach_no_search(arguments: str) -> None:
    past = Past([Row()])
    _, is_error = await search(past, arguments)
    assert is_error
    assert past.asked == []


async def test_a_person_is_asked_and_told_why() -> None:
    tools = Registry([make_search_history(search=Past([]))])
    call = ToolCall("c", NAME, '{"query": "my\\n\\u001b[2Jkeys"}')
    shown = await tools.look(call, item_id="o", site=SITE)
    assert isinstance(shown, Preview)
    assert (shown.title, shown.needs) == ("Search your conversations: my [2Jkeys", "ask")
    assert "other conversations" in shown.body
    assert shown.grant is not None
    assert (shown.grant.tool, shown.grant.cwd, shown.grant.only) == (NAME, None, "")
    assert tools.harmless() == {NAME, "read_output"}
    assert list(tools.select(["read"])) == []
