"""Files that must be whole or not there: atomic replacement, private from the first byte."""

import os
import tempfile
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


def make_private_directory(path: Path) -> None:
    """Create a directory (and those above it) that only its owner can enter."""
    path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` so that a reader finds the old file or the new one, never a part.

    The new file is 0600 and on the disk when this returns; raises `OSError`.
    """
    make_private_directory(path.parent)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_file(path: Path) -> None:
    """Make what a file holds durable, whoever wrote it; raises `OSError`."""
    _sync(path, os.O_RDONLY)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
