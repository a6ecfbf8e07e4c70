"""Painted blocks: the words of the text in rows of the width, and nothing a terminal obeys."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ask.markdown.blocks import Block, Splitter
from ask.markdown.paint import Painter
from tests.client.markdown.texts import TEXTS

COLOR = re.compile(r"\x1b\[[\d;]*m")


def paint(text: str, width: int = 60, *, colors: bool = False) -> str:
    splitter = Splitter()
    return Painter(width, colors=colors).paint_all([*splitter.feed(text), *splitter.finish()])


class Strict(Painter):
    """Has no way out: what cannot be painted is an error here."""

    def _paint_safely(self, run: list[Block]) -> str:
        return self._paint_run(run)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# One *two* #\n", "One two\n"),
        ("# C#\n", "C#\n"),
        ("###\n", "\n"),
        ("One\ntwo\n===\n", "One\ntwo\n"),
        ("- a\n- b\n", "• a\n• b\n"),
        ("  * a\n    b\n", "  • a\n    b\n"),
        ("10. a\n", "10. a\n"),
        ("- [x] a\n", "• [x] a\n"),
        ("> a\nb\n> > c\n", "│ a\n│ b\n│ │ c\n"),
        ("```sh\nls  -l\n```\n", "```sh\nls  -l\n```\n"),
        ("- a\n  ```\n  x\n    y\n  ```\n", "• a\n  ```\n  x\n    y\n  ```\n"),
        ("```\nnever closed", "```\nnever closed\n"),
        ("<p>\n  *a*\n", "<p>\na\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("", ""),
    ],
)
def test_shapes(text: str, shown: str) -> None:
    assert paint(text) == shown


def test_words_are_wrapped_and_hang() -> None:
    assert paint("- " + "word " * 6, 20) == "• word word word\n  word word word\n"
    assert paint("x" * 25, 20) == "x" * 20 + "\n" + "x" * 5 + "\n"


def test_a_line_of_code_is_not_broken() -> None:
    line = "x" * 200
    assert paint(f"```\n{line}\n```\n", 40) == f"```\n{line}\n```\n"


TABLE = "| a | b |\n|:-:|--:|\n| 1 | **2** |\n| x | y | z |\n| 3 |\n"


def test_tables() -> None:
    assert paint(TABLE, 40).splitlines() == [
        "┌───┬───────┐",
        "│ a │     b │",
        "├───┼───────┤",
        "│ 1 │     2 │",
        "│ x │ y | z │",
        "│ 3 │       │",
        "└───┴───────┘",
    ]


def test_a_table_that_is_too_wide_is_shown_as_it_came() -> None:
    text = "|" + "a|" * 10 + "\n|" + "-|" * 10 + "\n"
    assert paint(text, 40) == text


def test_wide_letters_and_emoji_keep_the_border_straight() -> None:
    text = "| a |\n|---|\n| 日本 |\n| 👨\u200d👩\u200d👧 |\n| 🇩🇪 |\n| e\u0301 |\n"
    assert {cell_len(line) for line in paint(text, 40).splitlines()} == {8}


@given(TEXTS, st.integers(min_value=12, max_value=300))
def test_rows_fit_but_for_code(text: str, width: int) -> None:
    splitter = Splitter()
    painter = Strict(width, colors=False)
    for block in [*splitter.feed(text), *splitter.finish()]:
        shown = painter.paint(block)
        assert shown.endswith("\n")
        if block.kind not in ("code", "fence", "table", "quote"):
            assert all(cell_len(line) <= width for line in shown.splitlines()), block


@given(TEXTS, st.integers(min_value=12, max_value=120))
def test_colors_change_no_letter(text: str, width: int) -> None:
    assert COLOR.sub("", paint(text, width, colors=True)) == paint(text, width)


@given(st.text(alphabet="\x1b\x9b\x9d[]0m52;\x07\x08\r|-`#> a&x1b\u202e\u2066\n", max_size=60))
def test_nothing_of_the_model_is_obeyed(text: str) -> None:
    assert not set(paint(text)) & set("\x1b\x9b\x9d\x07\x08\r\u202e\u2066")


def test_a_block_that_cannot_be_painted_is_shown_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(source: str, style: object = None) -> None:
        raise RuntimeError("a fault in a library")

    monkeypatch.setattr("ask.markdown.paint.read_inline", fail)
    assert paint("**a**\x1b[2J\n\n```\nb\n```\n") == "**a**\n\n```\nb\n```\n"


def test_code_that_was_not_painted_tells_what_follows_is() -> None:
    begin = Block("code", 'text = """\n', info="python")
    line = Block("code", "if x\n", info="python")
    knowing, alone = Painter(60), Painter(60)
    knowing.skip(begin)
    assert knowing.paint(line) != alone.paint(line)
    knowing.skip(Block("fence", "```\n", info="python"))
    assert knowing.paint(line) == alone.paint(line)


def test_code_is_painted_alike_together_and_line_by_line() -> None:
    splitter = Splitter()
    blocks = splitter.feed("```python\ndef f(x):\n    return x  # y\n```\n")
    one, all_at_once = Painter(60), Painter(60)
    assert "".join(one.paint(block) for block in blocks) == all_at_once.paint_all(blocks)


def test_the_width_may_change_between_blocks() -> None:
    painter = Painter(20, colors=False)
    block = Block("paragraph", "word " * 6)
    assert len(painter.paint(block).splitlines()) == 2
    painter.width = 80
    assert painter.paint(block) == "word word word word word word\n"
