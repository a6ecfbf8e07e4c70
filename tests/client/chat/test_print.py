"""Pieces as a terminal's text: set apart, in few colours, and nothing of others that acts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.chat.print import Printer, wrap_words
from ask.chat.view import Piece
from ask.graphemes import find_width
from ask.markdown.blocks import Block, Splitter
from tests.fakes.growth import measure


def lay(*pieces: Piece, coloured: bool = False, columns: int = 40) -> str:
    printer = Printer(coloured=coloured)
    return "".join(printer.lay(each, columns) for each in pieces)


def test_a_turn_reads_like_a_page() -> None:
    assert lay(
        Piece("prompt", "> one"),
        Piece("line", "[read_file] a.py"),
        Piece("line", "[read_file] b.py (failed)"),
        Piece("block", block=Block("paragraph", "An answer.\n")),
        Piece("block", block=Block("blank", "\n")),
        Piece("block", block=Block("paragraph", "Its end.\n")),
        Piece("notice", "Said beside."),
        Piece("prompt", "> two"),
    ) == (
        "> one\n\n[read_file] a.py\n[read_file] b.py (failed)\n\nAn answer.\n\nIts end.\n\n"
        "* Said beside.\n\n> two\n"
    )


def test_colours_are_ours_alone() -> None:
    shown = lay(Piece("failure", "a\x1b[2Jb"), coloured=True)
    assert shown == "\x1b[31mab\x1b[0m\n"
    assert "\x1b" not in lay(Piece("failure", "ab"), Piece("prompt", "> c"))
    block = Piece("block", block=Block("paragraph", "**x** \x1b]0;t\x07y\n"))
    assert "\x1b]" not in lay(block, coloured=True)
    assert lay(block) != lay(block, coloured=True)


def test_a_question_is_set_apart_and_its_own_rows_are_not() -> None:
    printer = Printer(coloured=False)
    assert printer.lay(Piece("line", "[x]"), 40) == "[x]\n"
    assert printer.lay_raw("Write a?\n") == "\nWrite a?\n"
    assert printer.lay_raw("1. Yes\n") == "1. Yes\n"


@given(
    st.lists(st.text(st.sampled_from("abc\u4e2d"), min_size=1, max_size=9), max_size=20),
    st.integers(4, 30),
    st.integers(0, 9),
)
def test_words_are_kept_and_lines_fit(words: list[str], columns: int, blanks: int) -> None:
    found = wrap_words(" " * blanks + " ".join(words), columns, 2)
    assert found.replace("\n", "").replace(" ", "") == "".join(words)
    assert all(find_width(line) < columns for line in found.split("\n"))


@pytest.mark.parametrize("text", ["x" * 100_000, "word " * 20_000, "\u4e2d" * 50_000])
def test_a_line_without_an_end_is_laid_out_in_one_go(text: str) -> None:
    """Whoever looks at all of it for each of its rows takes minutes."""
    found = wrap_words(text, 80)
    assert found.replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert all(find_width(line) < 80 for line in found.split("\n"))


def test_a_list_hangs_and_a_table_keeps_its_blanks() -> None:
    assert wrap_words("/models  the models that there are", 24) == (
        "/models  the models\n         that there are"
    )
    assert wrap_words("    deep in words", 13) == "    deep in\n    words"
    assert wrap_words("a    b", 20) == "a    b"


def test_lines_of_code_are_the_same_together_and_one_by_one() -> None:
    splitter = Splitter()
    blocks = splitter.feed('Look:\n\n```python\nx = """\nif y\n"""\n```\n\nSo.\n\n```\nz\n```\n')
    pieces = [
        Piece("prompt", "> one"),
        *(Piece("block", block=each) for each in blocks),
        Piece("notice", "Said beside."),
        Piece("block", block=Block("code", "a\n")),
    ]
    printer = Printer(coloured=True)
    assert printer.lay_all(pieces, 40) == lay(*pieces, coloured=True)


def test_code_takes_its_time_in_proportion() -> None:
    """One by one, each line would be read with the sixty before it."""
    pieces = [Piece("block", block=Block("code", "x = 1\n", info="python"))] * 400
    together = measure(lambda: Printer(coloured=True).lay_all(pieces, 80))
    one_by_one = measure(lambda: lay(*pieces[:100], coloured=True))
    assert together < one_by_one
