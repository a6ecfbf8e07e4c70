"""Which slots are due, and what is done about them: a slot has one moment, and gets one answer."""

from collections.abc import Iterator
from itertools import count, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.schedules import (
    COUNTED,
    MISSED_LIMIT,
    ON_TIME_S,
    After,
    Fire,
    Missed,
    Skip,
    find_due,
    find_next,
    make_key,
    plan_slots,
)

NOW = 1_800_000_000.0


def every(step_s: float, *, start: float = 0.0, end: float = 4e9) -> After:
    """Slots at equal distances."""

    def after(at: float) -> Iterator[float]:
        first = max(0, int((at - start) // step_s) + 1)
        return takewhile(lambda slot: slot <= end, (start + n * step_s for n in count(first)))

    return after


@given(
    step=st.integers(1, 10**7),
    offset=st.integers(0, 10**6),
    since=st.floats(0, 2e9),
    span=st.floats(0, 4e8),
)
def test_what_is_due_are_the_newest_slots_since_then(
    step: int, offset: int, since: float, span: float
) -> None:
    after, until = every(step, start=offset), since + span
    found = find_due(after, since=since, until=until)
    assert found == sorted(set(found))
    assert all(since < slot <= until and (slot - offset) % step == 0 for slot in found)
    newest = offset + (until - offset) // step * step
    expected: list[float] = []
    while len(expected) < COUNTED and newest > since and newest >= offset:
        expected.append(float(newest))
        newest -= step
    assert found == expected[::-1]


def test_ten_years_of_seconds_are_not_looked_through() -> None:
    seen = 0

    def after(at: float) -> Iterator[float]:
        nonlocal seen
        for slot in every(1)(at):
            seen += 1
            yield slot

    assert find_due(after, since=NOW - 3.2e8, until=NOW)[-1] == NOW
    assert seen < 10_000


@pytest.mark.parametrize("missed", ["skip", "once", "all"])
def test_a_slot_in_time_is_sent_whatever_is_done_about_missed_ones(missed: Missed) -> None:
    assert plan_slots([NOW - 1], now=NOW, missed=missed) == [Fire(NOW - 1)]
    assert plan_slots([], now=NOW, missed=missed) == []


def test_missed_slots_are_skipped_made_up_for_once_or_all() -> None:
    due = [NOW - 7200.0 + 600.0 * n for n in range(10)]
    assert plan_slots(due, now=NOW, missed="skip") == [Skip(due[-1], 10)]
    assert plan_slots(due, now=NOW, missed="once") == [Fire(due[-1], 9)]
    assert plan_slots(due, now=NOW, missed="all") == [Fire(slot) for slot in due]


def test_one_that_is_in_time_is_sent_for_those_that_were_skipped() -> None:
    due = [NOW - 7200.0, NOW - 3600.0, NOW - 1.0]
    assert plan_slots(due, now=NOW, missed="skip") == [Fire(NOW - 1.0, 2)]


@given(
    due=st.lists(st.floats(NOW - 1e8, NOW), unique=True, max_size=COUNTED).map(sorted),
    missed=st.sampled_from(["skip", "once", "all"]),
)
def test_every_slot_has_one_answer_in_order_and_few_are_made_up_for(
    due: list[float], missed: Missed
) -> None:
    steps = plan_slots(due, now=NOW, missed=missed)
    slots = [step.slot for step in steps]
    assert slots == sorted(set(slots))
    # Each step stands for its own slot, if it sends for it, and for those it skips.
    answered = sum(step.skipped + isinstance(step, Fire) for step in steps)
    assert answered == len(due)
    assert not due or slots[-1] == due[-1], "the last one is handled, or it would be due for ever"
    fired = [step.slot for step in steps if isinstance(step, Fire)]
    match missed:
        case "once":
            assert len(fired) == bool(due)
        case "all":
            assert fired == due[-MISSED_LIMIT:]
        case "skip":
            assert all(NOW - slot <= ON_TIME_S for slot in fired)


def test_the_next_slot_is_after_now_and_may_never_come() -> None:
    assert find_next(every(60), 120.0) == 180.0
    assert find_next(every(60, end=100), 100.0) is None


def test_a_key_belongs_to_its_slot() -> None:
    assert make_key("a", 60.0) == "schedule:a:60"
    assert len({make_key("a", 60.0), make_key("a", 120.0), make_key("b", 60.0)}) == 3
