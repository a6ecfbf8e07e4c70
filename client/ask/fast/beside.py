"""The terminal beside standard input: where a person is asked while a pipe brings content.

`git diff | ask ...` has somebody at a terminal who can answer, though not on standard
input. Who gives /dev/null as an input, or closes it, says that nobody is to be asked: jobs
that others start are run in this way. It reads nothing.
"""

import os

from ask.fast.caller import has_input

TERMINAL = "/dev/tty"
"""The terminal that a process belongs to, whatever its standard input is."""


def has_terminal() -> bool:
    """Whether there is one that could be read."""
    descriptor = open_terminal()
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def open_terminal() -> int | None:
    """Open it, for who then closes it; None: there is none, or nobody is to be asked."""
    if not has_input():
        return None
    try:
        # Never as the terminal that this process belongs to from now on.
        return os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
