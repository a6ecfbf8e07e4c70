"""A clock that leaps ahead is not believed for a day; one that goes on as usual always is."""

from hypothesis import given
from hypothesis import strategies as st

from askd.core.doubt import DOUBT_S, LEAP_S, Belief, judge

DAY = 86_400.0
KEEP = 30 * DAY


def test_an_hour_after_the_other_is_believed() -> None:
    belief = Belief()
    for hour in range(48):
        now = 1e9 + hour * 3600
        belief = judge(belief, now=now, newest_at=5.0 if hour else 1e9, keep_s=KEEP)
        assert belief == Belief(now)


def test_a_leap_is_doubted_for_a_day_and_then_believed() -> None:
    belief = Belief(1e9)
    ahead = 1e9 + 400 * DAY
    belief = judge(belief, now=ahead, newest_at=None, keep_s=KEEP)
    assert belief == Belief(1e9, ahead)
    for hour in range(1, 24):
        said = ahead + hour * 3600
        assert judge(belief, now=said, newest_at=said, keep_s=KEEP) == belief, "others go by it"
    assert judge(belief, now=ahead + DOUBT_S, newest_at=None, keep_s=KEEP) == Belief(
        ahead + DOUBT_S
    )


def test_a_clock_that_is_put_right_leaves_no_doubt() -> None:
    doubted = Belief(1e9, 2e9)
    assert judge(doubted, now=1e9 + 60, newest_at=2e9, keep_s=KEEP) == Belief(1e9 + 60)
    assert judge(doubted, now=5.0, newest_at=2e9, keep_s=KEEP) == Belief(5.0), "less is old by it"


def test_another_leap_is_another_doubt() -> None:
    doubted = Belief(1e9, 2e9)
    assert judge(doubted, now=1.5e9, newest_at=None, keep_s=KEEP) == Belief(1e9, 1.5e9)


def test_at_first_the_log_is_what_is_known() -> None:
    assert judge(Belief(), now=1e9, newest_at=None, keep_s=KEEP) == Belief(1e9)
    assert judge(Belief(), now=1e9, newest_at=1e9 - LEAP_S, keep_s=KEEP) == Belief(1e9)
    assert judge(Belief(), now=1e9, newest_at=1e9 - LEAP_S - 1, keep_s=KEEP) == Belief(None, 1e9)


@given(st.integers(1, 4000), st.floats(0, 1e9), st.floats(0, 1e9))
def test_no_leap_of_what_is_kept_is_believed_at_once(days: int, known: float, leap: float) -> None:
    keep_s = days * DAY
    belief = judge(Belief(known), now=known + leap, newest_at=None, keep_s=keep_s)
    if leap > keep_s / 2 + 1:
        assert belief.doubted_at == known + leap
    elif leap < min(LEAP_S, keep_s / 2) - 1:
        assert belief == Belief(known + leap)
