"""Paces: a little at once, then so much a second."""

import trio
from trio.testing import MockClock

from askd.tools.mcp.paces import Pace


async def test_so_much_at_once_and_then_so_much_a_second(autojump_clock: MockClock) -> None:
    pace = Pace(per_s=10, burst=5)
    start = trio.current_time()
    assert [await pace.take() for _ in range(5)] == [False] * 5
    assert trio.current_time() == start
    assert [await pace.take() for _ in range(20)] == [True] * 20
    assert abs(trio.current_time() - start - 2) < 1e-6


async def test_a_pause_gives_the_first_ones_back_and_no_more(autojump_clock: MockClock) -> None:
    pace = Pace(per_s=10, burst=5)
    for _ in range(5):
        await pace.take()
    await trio.sleep(100)
    start = trio.current_time()
    assert [await pace.take() for _ in range(6)] == [False] * 5 + [True]
    assert abs(trio.current_time() - start - 0.1) < 1e-6


async def test_what_is_larger_than_all_at_once_waits_for_all_of_it(
    autojump_clock: MockClock,
) -> None:
    pace = Pace(per_s=10, burst=5)
    start = trio.current_time()
    assert await pace.take(25)
    assert abs(trio.current_time() - start - 2) < 1e-6


async def test_who_is_looked_after_late_has_not_paused(autojump_clock: MockClock) -> None:
    pace = Pace(per_s=10, burst=10)
    for _ in range(100):
        await pace.take()
        await trio.sleep(0.05)  # of which it is given a little back
    assert pace.since_rest > 80


async def test_a_pause_begins_the_count_anew(autojump_clock: MockClock) -> None:
    pace = Pace(per_s=10, burst=10)
    for _ in range(30):
        await pace.take()
    assert pace.since_rest > 20
    await trio.sleep(1)
    await pace.take()
    assert pace.since_rest == 1
