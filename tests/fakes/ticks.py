"""Time as a loaded machine has it: counted in short sleeps, each of which may take longer.

A limit in such time holds the code under test to its own pace, and not to that of whoever
else wants the processors.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

TICK_S = 0.02


class Ticks:
    """Counts while `counting` runs."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def passed_s(self) -> float:
        """Never more than the clock says."""
        return self.count * TICK_S


@asynccontextmanager
async def counting() -> AsyncIterator[Ticks]:
    """Count from now on, until the block is over."""
    ticks = Ticks()

    async def count() -> None:
        while True:
            await trio.sleep(TICK_S)
            ticks.count += 1

    async with trio.open_nursery() as nursery:  # in it: the counting
        nursery.start_soon(count)
        yield ticks
        nursery.cancel_scope.cancel()


def holds_within(limit_s: float, holds: Callable[[], object]) -> bool:
    """Whether something holds before so much of that time has passed."""
    for _ in range(round(limit_s / TICK_S)):
        if holds():
            return True
        time.sleep(TICK_S)
    return bool(holds())
