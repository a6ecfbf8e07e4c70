"""Whether there is room on the disk for another database, asked before anything is stopped.

An estimate, from the sizes of what it is made of. It makes nothing, and where the
disk does not say how much is free, there is room.
"""

import shutil
from pathlib import Path

from askd.errors import StorageFailed
from askd.store.checkpoint import file_size, wal_size
from askd.store.recovery.mirrors import find_files

SPARE_BYTES = 4 * 1024 * 1024
"""The log of a database that is being filled, and what others write meanwhile."""
TOLD_TWICE = 2
"""A rollout tells everything in Codex's words and in ours; a database once, with its index."""


def need_for_rebuild(database: Path, source: Path) -> int:
    """Bytes that a rebuild takes."""
    try:
        told = sum(map(file_size, find_files(source)))
    except OSError:
        told = 0  # the rebuild itself says what is wrong there
    return max(_size_with_log(database), told // TOLD_TWICE) + SPARE_BYTES


def need_for_restore(backup: Path) -> int:
    """Bytes that a restore takes."""
    return _size_with_log(backup) + SPARE_BYTES


def check_room(database: Path, need: int) -> None:
    """Raise `StorageFailed` if so many bytes are not free beside the database."""
    try:
        free = shutil.disk_usage(database.parent).free
    except OSError:
        return
    if free < need:
        raise StorageFailed(
            f"There is no room for it: about {_lay_out(need)} are needed in {database.parent}, and "
            f"{_lay_out(free)} are free. Nothing was changed."
        )


def _lay_out(number: int) -> str:
    return f"{number / 1e6:,.1f} MB"


def _size_with_log(path: Path) -> int:
    return file_size(path) + wal_size(path)
