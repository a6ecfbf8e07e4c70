"""A file whose only use is to be given up: room to delete on a full disk.

Deleting needs room too: the log of the change is written before the old pages
are free, and so does a start. It never takes the last of a disk: it is made while
there is plenty.
"""

import os
from pathlib import Path

from askd.files import PRIVATE_FILE

RESERVE_BYTES = 8 * 1024 * 1024
"""Enough for the log of deleting a conversation of some thousand messages."""
PLENTY = 8
"""It is made while the disk has this many times its size."""
START_BYTES = 1024 * 1024
"""What a daemon needs to begin: memory that is shared by way of a file, its note, a first commit.
Of the reserve it is an eighth, so that a deletion has room after some starts too."""


class Reserve:
    """The file at `path`, `size` bytes that are really allocated. Never raises `OSError`."""

    def __init__(self, path: Path, *, size: int = RESERVE_BYTES) -> None:
        self._path = path
        self._size = size

    def keep(self) -> bool:
        """Make the file whole if there is plenty of room; say whether it is."""
        try:
            if self._measure() >= self._size:
                return True
            if self._find_room() < self._size * PLENTY:
                return False
            return self._allocate()
        except OSError:
            return False

    def lend(self) -> bool:
        """Give back what a start needs, if the disk has less than that; say whether it did."""
        try:
            size = self._measure()
            if not size or self._find_room() >= START_BYTES:
                return False
            os.truncate(self._path, max(0, size - START_BYTES))
        except OSError:
            return False
        return True

    def release(self) -> bool:
        """Give the room back; say whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _measure(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _find_room(self) -> int:
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * disk.f_frsize

    def _allocate(self) -> bool:
        flags = os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, PRIVATE_FILE)
        try:
            os.posix_fallocate(descriptor, 0, self._size)
        except OSError:
            self._path.unlink()
            return False
        finally:
            os.close(descriptor)
        return True
