"""Escapes: what a program wrote for a terminal does not reach a model."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ask.terminal import strip_controls
from askd.tools.escapes import strip_escapes

PIECES = [
    "a",
    "é",
    "😀",
    " ",
    "\n",
    "\t",
    "\r",
    "\b",
    "\x1b",
    "\x1b]52;c;eA==",
    "\x07",
    "\x9b",
    "[",
]
PIECES += [
    "\x1b[31m",
    "\x1b\\",
    "\x9d0;t",
    "\x9c",
    "P",
    "\x7f",
    "\x00",
    "0",
    ";",
    "m",
    "\\",
    "\x18",
]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("\x1b]52;c;c2VjcmV0\x07copied", "copied"),
        ("\x1b]52;c;c2VjcmV0\x1b\\copied", "copied"),
        ("\x9d52;c;c2VjcmV0\x9ccopied", "copied"),
        ("\x1bPtmux;\x1b\x1b]52;c;c2VjcmV0\x07\x1b\\copied", "copied"),
        ("\x1b]0;an unclosed title\nand more", "\nand more"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b7\x1b8", "plain"),
        ("10 %\r55 %\r100 %\nnext", "100 %\nnext"),
        ("10 %\r100 %\r\nnext", "100 %\nnext"),
        ("done\r", "done"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("a\x00b\x07c\x0bd\x7fe\x85f", "abcdef"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("ends in one\x1b", "ends in one"),
        ("ends in one\x1b[3", "ends in one"),
    ],
)
def test_what_was_for_the_terminal_is_gone(written: str, read: str) -> None:
    assert strip_escapes(written) == read


@given(st.lists(st.sampled_from(PIECES) | st.characters()).map("".join))
def test_nothing_is_left_that_a_terminal_would_obey(written: str) -> None:
    read = strip_escapes(written)
    assert not any(
        (char < " " and char not in "\t\n") or "\x7f" <= char <= "\x9f" for char in read
    ), read
    # Nothing was put together from pieces that were apart: a second look finds nothing.
    assert strip_escapes(read) == read


@example("\x1b Pa")
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_it_takes_the_same_for_a_sequence_as_the_terminals_filter(written: str) -> None:
    """But for what lines write over themselves, which that one has no opinion about."""
    lasting = written.replace("\r", "").replace("\b", "")
    assert strip_escapes(lasting) == strip_controls(lasting)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_plain_text_is_left_alone(written: str) -> None:
    assert strip_escapes(written) == written
