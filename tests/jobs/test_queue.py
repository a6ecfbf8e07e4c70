"""When a failed job is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.jobs.queue import BACKOFF_MAX_S, JITTER, backoff_s
from askd.store.jobs.rows import LONGEST_RETRY_S


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_to_a_limit_and_are_spread(attempt: int, chance: float) -> None:
    wait_s = backoff_s(attempt, chance)
    middle = min(2.0**attempt if attempt < 64 else BACKOFF_MAX_S, BACKOFF_MAX_S)
    assert abs(wait_s - middle) <= middle * JITTER * 1.000001


def test_the_first_waits() -> None:
    assert [backoff_s(attempt, 0.5) for attempt in (1, 2, 3, 9, 10)] == [2, 4, 8, 512, 600]
    assert backoff_s(1, 0.0) == 1.6
    assert backoff_s(1, 1.0) == pytest.approx(2.4)


@given(st.integers(1, 50), st.floats(0, 1), st.lists(st.floats(0.1, 1e6), min_size=1, max_size=5))
def test_a_kinds_own_delays_are_kept_to(attempt: int, chance: float, delays_s: list[float]) -> None:
    wait_s = backoff_s(attempt, chance, delays_s=delays_s)
    own = delays_s[attempt - 1] if attempt <= len(delays_s) else delays_s[-1]
    assert min(own * (1 - JITTER) * 0.999999, LONGEST_RETRY_S) <= wait_s
    assert wait_s <= min(own * (1 + JITTER) * 1.000001, LONGEST_RETRY_S)
