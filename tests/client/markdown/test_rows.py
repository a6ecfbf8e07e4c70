"""The cursor after plain text: never further right than a terminal lets it stand."""

from hypothesis import given
from hypothesis import strategies as st

from ask.markdown.rows import MARGIN, Rows, find_most
from tests.fakes.screens import FakeScreen, count_columns

PIECES = st.lists(
    st.text(alphabet="ab \n\t日👨\u200d👩🇩🇪❤\ufe0fe\u0301\u00ad한", max_size=30), max_size=8
)


@given(PIECES, st.integers(min_value=10, max_value=40))
def test_rows_are_the_terminals(pieces: list[str], columns: int) -> None:
    rows, screen = Rows(columns), FakeScreen(columns, 1000)
    for piece in pieces:
        screen.write(rows.lay(piece))
        assert rows.row == screen.at
        assert not any(row.goes_on for row in screen.rows)
    assert len(rows.starts) == "".join(pieces).count("\n") + 1


@given(st.characters(blacklist_categories=("Cs", "Cc")))
def test_no_terminal_gives_more(character: str) -> None:
    assert find_most(character) >= count_columns(character)


def test_a_row_leaves_room_for_an_echo() -> None:
    rows = Rows(20)
    assert rows.lay("x" * 19) == "x" * (20 - MARGIN) + "\n" + "x" * (19 - 20 + MARGIN)
    assert (rows.row, rows.column, rows.starts) == (1, 1, [0])


def test_each_line_of_the_text_has_its_row() -> None:
    rows = Rows(20)
    rows.lay("a\n" + "b" * 30 + "\nc")
    assert rows.starts == [0, 1, 3]


def test_tabs_are_spaces() -> None:
    assert Rows(20).lay("a\tb") == "a    b"


def test_another_width_leaves_the_line_to_the_terminal() -> None:
    rows = Rows(20)
    rows.lay("a\nb")
    rows.resize(10)
    assert rows.starts == [-1, -1]
    assert rows.lay("c" * 30) == "c" * 30
    rows.lay("\n")
    assert rows.starts == [-1, -1, 2]
    assert rows.lay("d" * 9) == "d" * 8 + "\nd"
