"""The signals of an `ask` that waits: those it takes over, and the alarm that ends a wait.

It decides nothing about what a signal means; whoever waits does.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ask.exits import TIME_LIMIT, Failed

SHORTEST_S = 0.001
"""Of an alarm: none at all would never ring."""


class TimeIsUp(Failed):
    """`--timeout` has passed, and what was waited for has not come."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(TIME_LIMIT, message, hint=hint, data={"reason": "time_limit"})


@contextmanager
def catch_signals(note: Callable[[int, FrameType | None], None]) -> Iterator[int]:
    """Take the signals over, except those that the caller ignores; a descriptor to wait on."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {
        number: signal.signal(number, note)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield reader
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)


@contextmanager
def limit_time(deadline: float | None, message: str) -> Iterator[None]:
    """Raise `TimeIsUp` in the block, wherever it waits, when `deadline` has passed.

    Args:
        deadline: in seconds of `time.monotonic`; None: there is no limit.
        message: the sentence of the error.
    """
    if deadline is None:
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp(message)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), SHORTEST_S))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
