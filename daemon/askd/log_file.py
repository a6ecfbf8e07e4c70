"""The file that standard error is, where it is ours: put aside when it has grown, and bounded.

A client that starts a daemon gives it the log file as standard error, so that nothing a dying
process says is lost. Here that descriptor is moved to a new file. Where standard error is
a terminal, a pipe or the journal nothing is done. It never fails whoever writes.
"""

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from askd.files import PRIVATE_FILE

LOG_BYTES = 2 * 1024 * 1024
"""A log beyond this is put aside: weeks of `info`, and read in a moment."""
KEPT = 3
"""How many are kept beside it, `.1` the youngest."""
STDOUT, STDERR = 1, 2
_FLAGS = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | os.O_CLOEXEC
    | os.O_NOFOLLOW
    | os.O_NONBLOCK  # a pipe that somebody put there would be waited for until it has a reader
)


class LogFile:
    """Standard error as a file at `path`; nothing if it is another one when this begins."""

    def __init__(
        self, path: Path, *, limit_bytes: int = LOG_BYTES, descriptor: int = STDERR
    ) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._descriptor = descriptor
        self._is_ours = self._leads_here()

    def look(self) -> None:
        """Put the file aside if it has grown too large, and follow if somebody else did."""
        if not self._is_ours:
            return
        with contextlib.suppress(OSError):
            if not self._leads_here():
                self._open_again()
            elif os.fstat(self._descriptor).st_size >= self._limit_bytes:
                self._rotate()

    def _leads_here(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            return False

    def _rotate(self) -> None:
        # A daemon on its way out writes to the same file as its successor: one of them moves it.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self._leads_here():
            for number in range(KEPT - 1, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    self._name(number).replace(self._name(number + 1))
            self._path.replace(self._name(1))
        self._open_again()  # and with the old file its lock is let go

    def _name(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _open_again(self) -> None:
        fresh = os.open(self._path, _FLAGS, PRIVATE_FILE)
        try:
            if not stat.S_ISREG(os.fstat(fresh).st_mode):
                return
            old = os.fstat(self._descriptor)
            for each in {self._descriptor, STDOUT}:
                if os.path.samestat(os.fstat(each), old):
                    os.dup2(fresh, each)
        finally:
            os.close(fresh)
