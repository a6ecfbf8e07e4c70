"""The last rows of a growing text: never wider nor more than asked, and where the text ends."""

from hypothesis import given
from hypothesis import strategies as st

from ask.chat.tail import find_last_rows, wrap_line
from ask.graphemes import find_width

TEXTS = st.text(st.sampled_from("ab \n\t\u4e2d\u0301\u200d\U0001f468\U0001f469\x1b[m"), max_size=60)


@given(TEXTS, st.integers(2, 12), st.integers(1, 6))
def test_rows_fit(text: str, columns: int, rows: int) -> None:
    found = find_last_rows(text, columns, rows)
    assert len(found) <= rows
    assert all("\x1b" not in row and "\n" not in row for row in found)
    assert all(find_width(row) <= columns or len(row) < 12 for row in found)


@given(st.text(st.sampled_from("ab \u4e2d"), max_size=60), st.integers(2, 12))
def test_a_line_is_whole_in_its_rows(line: str, columns: int) -> None:
    rows = wrap_line(line, columns)
    assert "".join(rows) == line
    assert all(find_width(row) <= columns for row in rows)


def test_the_end_is_what_is_seen() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    assert find_last_rows(text, 20, 3) == ["line 997", "line 998", "line 999"]
    assert find_last_rows("x" * 10_000, 10, 2) == ["x" * 10] * 2
    assert find_last_rows("a\n\nb", 10, 5) == ["a", "", "b"]
    assert find_last_rows("", 10, 5) == []
    assert find_last_rows("a", 10, 0) == []


def test_what_is_seen_as_one_is_not_broken() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert wrap_line(f"ab{family}", 3) == ["ab", family]
    assert wrap_line("e\u0301e\u0301e\u0301", 2) == ["e\u0301e\u0301", "e\u0301"]
