"""Lines that a person types: the next one, or those typed while something else is waited for.

What is typed meanwhile is read and never waited for; a line is complete when its end was typed.
"""

import os
import select
import sys
import termios
from contextlib import suppress

from ask.exits import USAGE, Failed

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


def read_line(mark: str, *, by_hand: bool) -> str | None:
    """Wait for the next line of standard input; None: there will be no more.

    Args:
        mark: shown before the line, where a person sees what is typed.
        by_hand: a person types; else a script's lines are read.

    Raises:
        Failed: a line is no text.
    """
    if by_hand and sys.stdout.isatty():
        try:
            return input(mark)
        except EOFError:
            print()
            return None
    sys.stdout.flush()
    try:
        return sys.stdin.readline() or None
    except UnicodeDecodeError:
        raise Failed(USAGE, "A line of standard input is not valid UTF-8.") from None
