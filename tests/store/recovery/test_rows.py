"""Records from two places become one story, without a gap."""

from askd.core.events import Titled, UnknownBody
from askd.store.recovery.rows import Row, fill_gaps, merge_rows


def row(seq: int, text: str = '{"type":"titled","title":"t"}', at: float | None = None) -> Row:
    return Row(seq, 100.0 + seq if at is None else at, "titled", 1, text)


def rows(*seqs: int) -> dict[int, Row]:
    return {seq: row(seq) for seq in seqs}


def test_each_fills_what_the_other_lacks() -> None:
    assert merge_rows(rows(1, 2, 4), rows(2, 3)) == rows(1, 2, 3, 4)
    assert merge_rows({}, rows(1)) == merge_rows(rows(1), {}) == rows(1)


def test_of_two_that_say_the_same_the_first_is_taken_if_it_can_be_read() -> None:
    first, second = row(1, '{"type":"titled","title":"a"}'), row(1)
    assert merge_rows({1: first}, {1: second}) == {1: first}
    broken = row(1, '{"type":"titled"')
    assert merge_rows({1: broken}, {1: second}) == {1: second}
    assert merge_rows({1: broken}, {1: broken}) == {1: broken}


def test_two_stories_are_not_mixed() -> None:
    one = {**rows(1), 2: row(2, at=500.0), 3: row(3, at=501.0)}
    assert merge_rows(one, rows(1, 2)) == one
    assert merge_rows(rows(1, 2), one) == one
    assert merge_rows(rows(1, 2, 3), one) == rows(1, 2, 3), "as long: the first"
    unknown = {1: row(1, at=0.0)}
    assert merge_rows(unknown, rows(1, 2)) == {**rows(2), **unknown}, "its time is not known"


def test_a_gap_says_that_something_is_lost_and_moves_nothing() -> None:
    whole, lost = fill_gaps(rows(2, 4))
    assert [each.seq for each in whole] == [1, 2, 3, 4]
    assert lost == 2
    assert [each.at for each in whole] == [102.0, 102.0, 102.0, 104.0]
    body = whole[0].read("c").body
    assert isinstance(body, UnknownBody)
    assert body.raw == {"type": "lost"}
    assert isinstance(whole[1].read("c").body, Titled)
    assert fill_gaps({}) == ([], 0)
    assert fill_gaps(rows(1, 2)) == ([row(1), row(2)], 0)
