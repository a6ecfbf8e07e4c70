"""A bell for whoever waits for jobs: it rings when one was added or has ended.

It says that something changed and not what: who hears it looks.
"""

import trio


class Bell:
    """Listen first, then look, then wait: a ring in between is not missed.

    `also`: another bell, which rings with this one.
    """

    def __init__(self, also: "Bell | None" = None) -> None:
        self._event = trio.Event()
        self._also = also

    def listen(self) -> trio.Event:
        """What is set at the next ring."""
        return self._event

    def ring(self) -> None:
        """Wake all who listen."""
        self._event.set()
        self._event = trio.Event()
        if self._also is not None:
            self._also.ring()
