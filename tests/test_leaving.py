"""Turns end by themselves, or are interrupted when patience is over."""

import trio
from trio.testing import MockClock

from askd.leaving import end_turns


class Turns:
    """Turns that end by themselves after a while, or when they are interrupted."""

    def __init__(self, *, take_s: float) -> None:
        self.asked: list[float] = []
        self._take_s = take_s
        self._interrupted = trio.Event()

    async def drain(self, wait_s: float) -> None:
        self.asked.append(wait_s)
        if wait_s == 0:
            self._interrupted.set()
        with trio.move_on_after(self._take_s):
            await self._interrupted.wait()


async def test_whoever_ends_in_time_is_not_interrupted(autojump_clock: MockClock) -> None:
    turns = Turns(take_s=5.0)
    await end_turns(turns.drain, trio.sleep_forever)
    assert turns.asked == [float("inf")]
    assert trio.current_time() == 5.0


async def test_patience_has_an_end(autojump_clock: MockClock) -> None:
    turns = Turns(take_s=float("inf"))

    async def wait() -> None:
        await trio.sleep(2.0)

    await end_turns(turns.drain, wait)
    assert turns.asked == [float("inf"), 0.0]
    assert trio.current_time() == 2.0
