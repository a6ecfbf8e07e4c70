"""Which terminal a process has, as the kernel says: the name that `who` and `ps` show.

It reads `/proc` and asks the process nothing. What is not known is None, never an error.

Numbers of devices: Linux, Documentation/admin-guide/devices.txt; the field: proc_pid_stat(5).
"""

import contextlib
import os

VIRTUAL_MAJOR = 4
"""`tty1` to `tty63`, then the serial lines, `ttyS0` and so on."""
FIRST_SERIAL_MINOR = 64
PTS_MAJORS = range(136, 144)
"""Pseudo-terminals: 256 of them have one major number."""
PTS_PER_MAJOR = 256
TTY_FIELD = 4
"""`tty_nr`, counted from the state, which follows the name: the seventh of all."""


def find_terminal(pid: int) -> str | None:
    """The controlling terminal of a process, as `pts/3` or `tty1`; None: none, or not known."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in parentheses and may hold any byte.
            fields = file.read().rpartition(b")")[2].split()
        return name_terminal(int(fields[TTY_FIELD]))
    return None


def name_terminal(number: int) -> str | None:
    """A terminal's device as a name below `/dev`; None: no terminal, or none with a name here."""
    major, minor = os.major(number), os.minor(number)
    if major in PTS_MAJORS:
        return f"pts/{(major - PTS_MAJORS.start) * PTS_PER_MAJOR + minor}"
    if major == VIRTUAL_MAJOR and minor >= FIRST_SERIAL_MINOR:
        return f"ttyS{minor - FIRST_SERIAL_MINOR}"
    return f"tty{minor}" if major == VIRTUAL_MAJOR and minor else None
