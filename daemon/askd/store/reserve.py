"""A file whose only use is to be given up: room to delete on a full disk.

Deleting needs room too: the log of the change is written before the old pages
are free. It never takes the last of a disk: it is made while there is plenty.
"""

import os
from pathlib import Path

from askd.files import PRIVATE_FILE

RESERVE_BYTES = 8 * 1024 * 1024
"""Enough for the log of deleting a conversation of some thousand messages."""
PLENTY = 8
"""It is made while the disk has this many times its size."""


class Reserve:
    """The file at `path`, `size` bytes that are really allocated. Never raises `OSError`."""

    def __init__(self, path: Path, *, size: int = RESERVE_BYTES) -> None:
        self._path = path
        self._size = size

    def keep(self) -> bool:
        """Make the file if it is missing and there is plenty of room; say whether it is there."""
        try:
            if self._path.exists():
                return True
            disk = os.statvfs(self._path.parent)
            if disk.f_bavail * disk.f_frsize < self._size * PLENTY:
                return False
            return self._allocate()
        except OSError:
            return False

    def release(self) -> bool:
        """Give the room back; say whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _allocate(self) -> bool:
        descriptor = os.open(
            self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, PRIVATE_FILE
        )
        try:
            os.posix_fallocate(descriptor, 0, self._size)
        except OSError:
            self._path.unlink()
            return False
        finally:
            os.close(descriptor)
        return True
