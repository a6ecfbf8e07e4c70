"""Standard output for everything that prints: what goes wrong with it has names of its own.

Without it an `OSError` would not say whether it was the output or something else.
It gives no output up and ends nothing; `ask.commands.root` does.
"""

import io
import os
import sys
from typing import TYPE_CHECKING

from ask.fast.caller import write_all

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DESCRIPTOR = 1


class Descriptor(io.RawIOBase):
    """Descriptor 1; its writes raise `StdoutClosed` or `StdoutFailed`, never `OSError`."""

    def writable(self) -> bool:
        """It is for writing only."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return DESCRIPTOR

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(DESCRIPTOR)

    def write(self, data: "ReadableBuffer") -> int:
        """Write all of it, however the other end takes it."""
        content = bytes(data)
        write_all(DESCRIPTOR, content)
        return len(content)


def name_failures() -> None:
    """Let `sys.stdout` raise by these names, if it is the process's own and not a test's."""
    before = sys.stdout
    if type(before) is not io.TextIOWrapper or before.fileno() != DESCRIPTOR:
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(Descriptor()),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=os.isatty(DESCRIPTOR),
    )
