"""How long, and how often, a daemon is looked for that was there a moment ago.

A daemon of this machine is back within seconds and costs nothing to look for. Another
machine may be out of reach for minutes, and each try is a login there: the pauses grow.
It connects to nothing.
"""

import time

from ask.exits import Failed
from ask.listener import Unreachable

FAR_LIMIT_S = 120.0
"""How long another machine is looked for: a laptop that changes its network, a reboot not quite."""
FAR_PAUSE_S = 0.5
FAR_LONGEST_S = 8.0
"""The first pause between two logins, and the longest; each is twice the one before."""


class Patience:
    """One search, from when the connection was lost.

    Args:
        limit_s, pause_s: how long a daemon of this machine is looked for, and how often.
    """

    def __init__(self, limit_s: float, pause_s: float) -> None:
        self._until = time.monotonic() + limit_s
        self._pause_s = pause_s
        self._far_until: float | None = None
        self._far_pause_s = FAR_PAUSE_S

    def find_pause(self, error: Failed) -> float:
        """Seconds to wait before the next try, after one that has failed with `error`.

        Raises:
            Failed: `error` itself: it has been tried for long enough, or trying does not help.
        """
        now = time.monotonic()
        if not isinstance(error, Unreachable):
            if now > self._until:
                raise error
            return self._pause_s
        if self._far_until is None:
            self._far_until = now + FAR_LIMIT_S
        if error.lasting or now >= self._far_until:
            raise error
        pause_s, self._far_pause_s = self._far_pause_s, min(2 * self._far_pause_s, FAR_LONGEST_S)
        return min(pause_s, self._far_until - now)
