"""How fast something may come: a little at once, and so much a second from then on.

What comes faster waits, and whoever sends it has to wait with it. Nothing is thrown away.
"""

import trio

MESSAGES_PER_S, MESSAGES_AT_ONCE = 500, 2000
"""Of a server; more than anybody reports progress. A flood must not take the daemon's time."""


class Pace:
    """`per_s` a second, and `burst` of them at once after a pause.

    Attributes:
        since_rest: how much came since there was a pause long enough to give half of the burst
            back; who is looked after late on a busy machine has not paused for that.
    """

    def __init__(self, *, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self.since_rest = 0.0
        self._left = burst
        self._at = trio.current_time()

    async def take(self, amount: float = 1) -> bool:
        """Take that much, and wait until it may have come; whether there was anything to wait."""
        now = trio.current_time()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
        self.since_rest = amount + (self.since_rest if self._left < self._burst / 2 else 0)
        self._left -= amount
        if self._left >= 0:
            return False
        await trio.sleep(-self._left / self._per_s)
        return True
