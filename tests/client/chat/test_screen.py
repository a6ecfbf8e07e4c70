"""The windows: never higher than the terminal, and with all that is to be seen."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from ask.chat.present import Present
from ask.chat.screen import build_layout, find_rows
from ask.chat.view import View, Waiting


def measure(present: Present, typed: str, columns: int, rows: int) -> int:
    async def look() -> int:  # a buffer reads its history in a loop
        buffer = Buffer(document=Document(typed), multiline=True)
        layout = build_layout(buffer, present, lambda: (columns, rows))
        return layout.container.preferred_height(columns, rows).preferred

    return asyncio.run(look())


@settings(max_examples=15, deadline=None)
@given(
    st.integers(20, 120), st.integers(12, 60), st.integers(0, 80), st.integers(0, 40),
    st.integers(0, 9),
)  # fmt: skip
def test_it_is_bounded(columns: int, rows: int, tail: int, typed: int, queued: int) -> None:
    view = View(running="t", doing="[run_command] make")
    present = Present(view, name="work")
    view._splitter.feed("word " * tail)
    view.queue = [Waiting(f"u{number}", "wait", is_own=True) for number in range(queued)]
    assert measure(present, "line\n" * typed, columns, rows) <= rows


@pytest.mark.parametrize("rows", [1, 5, 24, 100])
def test_there_is_always_a_row_for_each(rows: int) -> None:
    tail, line = find_rows(rows)
    assert min(tail, line) >= 2
    assert rows < 12 or tail + line < rows


def test_a_chat_at_rest_is_three_rows() -> None:
    assert measure(Present(View()), "", 80, 24) == 3
