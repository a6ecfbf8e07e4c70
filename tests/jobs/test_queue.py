"""When a failed job is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.jobs.queue import BACKOFF_MAX_S, JITTER, backoff_s


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_to_a_limit_and_are_spread(attempt: int, chance: float) -> None:
    wait_s = backoff_s(attempt, chance)
    middle = min(2.0**attempt if attempt < 64 else BACKOFF_MAX_S, BACKOFF_MAX_S)
    assert abs(wait_s - middle) <= middle * JITTER * 1.000001


def test_the_first_waits() -> None:
    assert [backoff_s(attempt, 0.5) for attempt in (1, 2, 3, 9, 10)] == [2, 4, 8, 512, 600]
    assert backoff_s(1, 0.0) == 1.6
    assert backoff_s(1, 1.0) == pytest.approx(2.4)
