"""A bell for whoever waits for jobs: it rings when one was added or has ended.

It says that something changed and not what: who hears it looks.
"""

import trio


class Bell:
    """Listen first, then look, then wait: a ring in between is not missed."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def listen(self) -> trio.Event:
        """What is set at the next ring."""
        return self._event

    def ring(self) -> None:
        """Wake all who listen."""
        self._event.set()
        self._event = trio.Event()
