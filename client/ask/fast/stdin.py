"""Standard input, read with patience: said when it is silent, ended at a deadline."""

import os
import time

from ask.fast.caller import INPUT_LIMIT_BYTES, say

SILENCE_S = 2.0
"""After this long without input a person is told what is waited for."""
SILENCE = "Waiting for standard input (--no-stdin: do not read it) ...\n"
EMPTY_INPUT = "Standard input was empty.\n"

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # in C, and loaded already; `signal` itself would bring `enum`


class InputLate(Exception):
    """Standard input has not come to its end in time."""


def read_input(
    limit: int = INPUT_LIMIT_BYTES, *, quiet: bool = False, deadline: float | None = None
) -> tuple[bytes, bool]:
    """Standard input up to its end or a bit beyond `limit` bytes, and whether there is more.

    A pipe that is silent for 2 s, and an input that turns out to be empty, are
    said on stderr, unless `quiet`. Raises `InputLate` at `deadline` (monotonic).
    """
    pieces: list[bytes] = []
    size = 0
    patience = _Patience(quiet, deadline)
    before = _signal.signal(_signal.SIGALRM, patience.end)
    try:
        patience.begin()
        while size <= limit:
            piece = os.read(0, INPUT_LIMIT_BYTES)
            if not pieces:
                patience.silent = False
                patience.begin()
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, before)
    if not size and not quiet:
        say(EMPTY_INPUT)
    return b"".join(pieces), size > limit


class _Patience:
    """The alarm of a wait for input: for the line about its silence, and for its end."""

    __slots__ = ("deadline", "silent")

    def __init__(self, quiet: bool, deadline: float | None) -> None:
        self.silent = not quiet
        self.deadline = deadline

    def begin(self) -> None:
        """Set the alarm to what comes first."""
        left_s = SILENCE_S if self.silent else 0.0
        if self.deadline is not None:
            until_s = max(self.deadline - time.monotonic(), 0.001)
            left_s = min(left_s, until_s) if self.silent else until_s
        _signal.setitimer(_signal.ITIMER_REAL, left_s)

    def end(self, number: int, frame: object) -> None:
        """It rang."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise InputLate
        if self.silent:
            self.silent = False
            say(SILENCE)
        self.begin()
