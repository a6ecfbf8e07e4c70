"""The mailbox: how a driver hears that it should look again.

It carries nothing. What there is to do stands in the session, so that a call
that comes twice, or while nobody waits, is neither lost nor done twice.
"""

import trio


class Mailbox:
    """One who waits, and anyone who wakes it."""

    def __init__(self) -> None:
        self._called = trio.Event()

    def wake(self) -> None:
        """Something may have become possible."""
        self._called.set()

    async def wait(self) -> None:
        """Wait for `wake`; one that came since the last wait counts."""
        await self._called.wait()
        self._called = trio.Event()
