"""Lines that a person types while something else is waited for.

It reads what is there and never waits; a line is complete when its end was typed.
"""

import os
import select
import termios
from contextlib import suppress

INPUT_BYTES = 64 * 1024


class TypedLines:
    """The lines of one descriptor.

    Attributes:
        ended: there will be no more.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.ended = False
        self._rest = b""

    def forget(self) -> None:
        """Drop what was typed until now: it was meant for something else."""
        self._rest = b""
        with suppress(termios.error):  # no terminal: nobody types ahead
            termios.tcflush(self.descriptor, termios.TCIFLUSH)

    def read(self) -> list[str]:
        """The lines that were completed since the last time."""
        ready = select.poll()
        ready.register(self.descriptor, select.POLLIN)
        if self.ended or not ready.poll(0):
            return []
        try:
            data = os.read(self.descriptor, INPUT_BYTES)
        except OSError:  # a terminal that was closed
            data = b""
        self.ended = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace").strip() for line in lines]
