"""What others wrote, shown as it is: nothing acts, nothing hides, nothing is left out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.graphemes import find_width
from ask.reveal import reveal, reveal_text, shorten_line, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git diff", "git diff"),
        ("naïve 雪 ☃", "naïve 雪 ☃"),
        ("a\tb", "a    b"),
        ("true\x1b]; rm -rf ~\x07", "true\\x1b]; rm -rf ~\\x07"),
        ("safe\rrm", "safe\\x0drm"),
        ("\x9b2J\x7f\x00", "\\x9b2J\\x7f\\x00"),
        ("a\nb", "a\\x0ab"),
        ("evil\u202etxt.exe", "evil\\u202etxt.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("no-break\u00a0space\u3000wide", "no-break\\xa0space\\u3000wide"),
        ("line\u2028end", "line\\u2028end"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("\u3164blank\ufe0f", "\\u3164blank\\ufe0f"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_acts_or_hides_is_an_escape(text: str, shown: str) -> None:
    assert reveal_text(text) == shown


@given(
    st.text() | st.text(alphabet="ab 雪\t\x1b"),
    st.integers(min_value=2, max_value=40),
    st.booleans(),
)
def test_rows_fit_and_hold_all_of_the_line(line: str, columns: int, at_words: bool) -> None:
    rows = list(wrap(line, columns, at_words=at_words))
    assert "".join(row for row, _ in rows) == reveal_text(line)
    assert rows[-1][1] == len(line)
    for row, _ in rows:
        assert row.isprintable()
        # An escape is never torn, and may be wider than a very narrow terminal.
        assert find_width(row) <= max(columns, len("\\U00000000"))


@pytest.mark.parametrize(
    ("line", "columns", "rows"),
    [
        ("fill in the following fields", 12, ["fill in the ", "following ", "fields"]),
        ("the sea is grey", 7, ["the ", "sea is ", "grey"]),
        ("a overlongword", 8, ["a overlo", "ngword"]),
        ("雪 雪雪 雪", 6, ["雪 ", "雪雪 ", "雪"]),
    ],
)
def test_prose_is_broken_between_its_words(line: str, columns: int, rows: list[str]) -> None:
    found = list(wrap(line, columns, at_words=True))
    assert [row for row, _ in found] == rows
    starts = [0, *(reached for _, reached in found)]
    assert [line[a:b] for a, b in itertools.pairwise(starts)] == rows


def test_a_heap_of_marks_is_no_endless_row() -> None:
    for at_words in (False, True):
        rows = list(wrap("a " + "\u0301" * 10_000, 40, at_words=at_words))
        assert len(rows) > 10


def test_wide_letters_take_two_columns() -> None:
    assert [row for row, _ in wrap("雪" * 5, 4)] == ["雪雪", "雪雪", "雪"]


@pytest.mark.parametrize(
    ("text", "columns", "line"),
    [
        ("make  test\nand more", None, "make test and more"),
        ("make test", 9, "make test"),
        ("make tests", 9, "make t..."),
        ("雪雪雪雪", 7, "雪雪..."),
        ("\x1b[2J", 20, "\\x1b[2J"),
        ("", 10, ""),
    ],
)
def test_a_line_is_cut_to_its_columns(text: str, columns: int | None, line: str) -> None:
    assert shorten_line(text, columns) == line


def test_every_character_is_shown_as_something() -> None:
    assert all(reveal(chr(code)) for code in range(0x3000))
