"""Cutting where nobody sees a cut, and columns as a terminal counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.graphemes import cut, find_width, fit, is_boundary, shorten

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAGS = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
PIECES = st.sampled_from(
    ["a", "e\u0301", FAMILY, "\U0001f1e9\U0001f1ea", "\r\n", "\uac01", "\u1100\u1161\u11a8", "語"]
)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("plain", 10, "plain"),
        ("plain", 3, "pla"),
        ("ae\u0301", 2, "a"),
        ("a" + FAMILY, 3, "a"),
        (FLAGS, 3, FLAGS[:2]),
        ("a\r\n", 2, "a"),
        ("\u1100\u1161\u11a8b", 2, ""),
        ("\uac00\u11a8b", 1, ""),
        ("1\ufe0f\u20e3x", 2, ""),
    ],
)
def test_a_cut_never_divides_what_is_seen_as_one(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


def test_a_cluster_without_end_is_cut_all_the_same() -> None:
    assert len(cut("a" + "\u0301" * 1000, 500)) == 500


@given(st.lists(PIECES), st.integers(0, 40))
def test_a_cut_keeps_whole_pieces(pieces: list[str], limit: int) -> None:
    kept = cut("".join(pieces), limit)
    assert len(kept) <= limit
    borders = {len("".join(pieces[:n])) for n in range(len(pieces) + 1)}
    assert len(kept) in borders
    assert is_boundary("".join(pieces), len(kept))


@given(st.text(), st.integers(0, 20))
def test_a_cut_is_a_beginning(text: str, limit: int) -> None:
    assert text.startswith(cut(text, limit))


def test_shortened_text_says_how_long_it_was() -> None:
    assert shorten("x" * 500, 500) == "x" * 500
    assert shorten("x" * 501, 500) == "x" * 500 + "... (501 chars total)"


def test_width_is_counted_in_columns() -> None:
    assert find_width("ab") == 2
    assert find_width("語") == 2
    assert find_width("e\u0301\u200b") == 1


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"])), st.integers(4, 30))
def test_a_cell_has_exactly_its_columns(text: str, columns: int) -> None:
    assert find_width(fit(text, columns)) == columns


def test_a_long_cell_ends_in_dots() -> None:
    assert fit("a long\n title", 8) == "a lon..."
    assert fit("語語語語語", 8) == "語語... "
