"""The table's own rules; its rows are held to real messages by test_overflow_table.py."""

import re

import pytest

from askd.providers.overflow import CODES, NEVER, WORDS, is_overflow


def test_every_row_is_a_pattern_with_a_name() -> None:
    for who, pattern in WORDS:
        assert who
        assert pattern == pattern.lower()
        re.compile(pattern)


@pytest.mark.parametrize("code", sorted(CODES))
def test_code_or_type_is_enough(code: str) -> None:
    assert is_overflow("Anything.", code=code)
    assert is_overflow("", kind=code)


@pytest.mark.parametrize("code", sorted(NEVER))
def test_code_that_says_something_else_wins_over_the_words(code: str) -> None:
    assert not is_overflow("prompt is too long", code=code)
    assert not is_overflow("prompt is too long", kind=code)
    assert not is_overflow("", code=code, kind="context_length_exceeded")


def test_no_words_no_overflow() -> None:
    assert not is_overflow("")
