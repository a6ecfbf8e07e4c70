"""Titles are one short visible line, whatever a person pasted or a model proposed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.titling import TITLE_CHARACTERS, UNTITLED, clean_title, title_from

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e8\U0001f1ed"
WAVE = "\U0001f44b\U0001f3fd"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("  two\n\tlines \r\n", "two lines"),
        ("", UNTITLED),
        (" \n\x00\x1b ", UNTITLED),
        ("\x1b[31mred\x07", "red"),
        ("a\u202eb\u200bc", "abc"),  # neither a reversed title nor an invisible character
        ("x" * 60, "x" * 50),
        ("x" * 50, "x" * 50),
        ("y" * 45 + " and more words", "y" * 45 + " and"),
        ("z" * 46 + ", then more words", "z" * 46),
        ("word " * 20, "word word word word word word word word word word"),
        ("字" * 60, "字" * 50),
        ("\n" * 10_000 + "late", "late"),
    ],
)
def test_first_words(text: str, title: str) -> None:
    assert title_from(text) == title


@pytest.mark.parametrize("grapheme", ["e\u0301", FAMILY, FLAG, WAVE, "\u2764\ufe0f"])
def test_a_grapheme_is_never_cut(grapheme: str) -> None:
    for before in range(TITLE_CHARACTERS + 1):
        title = title_from("x" * before + grapheme * 60)
        rest = title[before:]
        assert rest == grapheme * (len(rest) // len(grapheme))
        assert TITLE_CHARACTERS - len(grapheme) < len(title) <= TITLE_CHARACTERS


def test_a_grapheme_without_end_is_cut_all_the_same() -> None:
    assert len(title_from("e" + "\u0301" * 100)) == TITLE_CHARACTERS


@given(st.text())
def test_any_text_makes_a_title(text: str) -> None:
    for title in (title_from(text), clean_title(text) or UNTITLED):
        assert 0 < len(title) <= TITLE_CHARACTERS
        assert title == title.strip()
        assert "  " not in title
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in title)
        title.encode()


@pytest.mark.parametrize(
    ("proposal", "title"),
    [
        ("Blue skies", "Blue skies"),
        ('"Blue skies."', "Blue skies"),
        ("\n\nTitle: **Blue skies**\nBecause of scattering.", "Blue skies"),
        ("# Blue skies", "Blue skies"),
        ("«Blauer Himmel»", "Blauer Himmel"),
        ("TITLE:", ""),
        ("TITLE:\nBlue skies", "Blue skies"),
        ("<think>A title about\nskies?</think>\nBlue skies", "Blue skies"),
        ("And so on...", "And so on..."),
        ("", ""),
        ('""', ""),
        ("\x1b]0;evil\x07", ""),
        ("word " * 20, "word word word word word word word word word word"),
    ],
)
def test_proposals_are_cleaned(proposal: str, title: str) -> None:
    assert clean_title(proposal) == title
