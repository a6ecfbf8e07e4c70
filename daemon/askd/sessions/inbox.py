"""What has happened to a running turn and was not heard by its machine yet.

In the order in which it happened, but for messages that steer: these are heard first, so
that none of them is overtaken by the end of the turn that it was accepted into. It feeds
nothing to anybody.
"""

from collections import deque

import trio

from askd.core.turn import Input, Interrupted, Steered


class Inbox:
    """One turn's. `post` and `wake` from anywhere; one task waits and takes."""

    def __init__(self) -> None:
        self._steering: deque[Input] = deque()
        self._others: deque[Input] = deque()
        self._called = trio.Event()

    def __bool__(self) -> bool:
        return bool(self._steering or self._others)

    def post(self, happened: Input) -> None:
        """Something happened."""
        (self._steering if isinstance(happened, Steered) else self._others).append(happened)
        self.wake()

    def wake(self) -> None:
        """Whoever waits looks again."""
        self._called.set()

    async def wait(self) -> None:
        """Wait for a call; one that came since the last wait counts."""
        await self._called.wait()
        self._called = trio.Event()

    def take(self) -> Input:
        """What is to be heard next; there must be something."""
        return (self._steering or self._others).popleft()

    @property
    def brings_end(self) -> bool:
        """Whether somebody has stopped the turn, which it is about to hear."""
        return any(isinstance(each, Interrupted) for each in self._others)
