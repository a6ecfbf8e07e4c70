"""The mailbox: how a driver hears that it should look again, and whoever else waits for news.

It carries nothing. What there is to do stands in the session, so that a call
that comes twice, or while nobody waits, is neither lost nor done twice.
"""

import trio


class Mailbox:
    """One who waits, others who listen, and anyone who wakes them."""

    def __init__(self) -> None:
        self._called = trio.Event()
        self._next = trio.Event()

    def wake(self) -> None:
        """Something may have become possible."""
        self._called.set()
        self._next.set()
        self._next = trio.Event()

    async def wait(self) -> None:
        """Wait for `wake`; one that came since the last wait counts."""
        await self._called.wait()
        self._called = trio.Event()

    async def wait_next(self) -> None:
        """Wait for the next `wake`, however many do; what there is to do is looked at before."""
        await self._next.wait()
