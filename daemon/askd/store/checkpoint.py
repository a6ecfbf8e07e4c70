"""Moves the write-ahead log into the database, on the writer's connection only.

The log's file is kept, to be written from its start again: a commit into blocks
that the file has is on the disk sooner than one that makes it longer. It is
emptied where what was deleted may not stay in it. The database is written anew
where no byte of what was there may stay. Two connections that checkpoint at once
can lose data in SQLite before 3.51.3, so nobody else ever does. It never waits
for readers and never fails a caller.
"""

import sqlite3
from pathlib import Path

from askd.store.database import BUSY_TIMEOUT_MS

WAL_LIMIT_BYTES = 4 * 1024 * 1024
"""Above this a checkpoint is due; readers slow down with the log's length."""
KEPT_LIMIT_BYTES = 2 * WAL_LIMIT_BYTES
"""A longer file is emptied. Each time around it grows by the commit that made a checkpoint due:
with this much to spare it takes some dozen rounds, so that few commits begin in an empty one."""
MEMORY_LIMIT_BYTES = 256 * 1024 * 1024
"""A larger database is written anew by way of a file, which has no name; a smaller in memory."""


class LogFile:
    """The file of the write-ahead log beside the database at `path`.

    Once all of the log is copied, SQLite begins it anew by itself, at the start of the file, with
    the first commit that finds nobody reading in it. Until the file grows after that, the log is
    no longer than the file; so nothing of the log itself has to be known. The connection that is
    given is always the writer's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = 0
        """Bytes of the file when all of it was copied last."""

    def is_due(self) -> bool:
        """Whether the log may be longer than it should be."""
        return wal_size(self._path) > max(WAL_LIMIT_BYTES, self._kept)

    def copy(self, connection: sqlite3.Connection) -> bool:
        """Copy all of the log and keep the file, unless it has become too long.

        False: a reader is in the way. Try again.
        """
        size = wal_size(self._path)
        if size > KEPT_LIMIT_BYTES:
            return self.empty(connection)
        if not _copy(connection):
            return False
        self._kept = size
        return True

    def empty(self, connection: sqlite3.Connection) -> bool:
        """Copy what readers allow, then empty the file if nobody reads; say whether it is."""
        self._kept = 0  # also if it is refused: it is due again as if nothing had been copied
        _copy(connection)
        return _truncate(connection)


def wal_size(path: Path) -> int:
    """Bytes of the write-ahead log's file, whether or not they are copied; 0: there is none."""
    return file_size(path.with_name(f"{path.name}-wal"))


def file_size(path: Path) -> int:
    """Bytes of a file, such as the database itself; 0: there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def rewrite(connection: sqlite3.Connection, path: Path) -> None:
    """Write every page anew; raises `sqlite3.Error`, `OSError` if there is no room for it.

    `secure_delete` overwrites what a row leaves, but not the copies that stay in the gaps of
    pages when rows move to other pages.
    """
    if path.stat().st_size + wal_size(path) > MEMORY_LIMIT_BYTES:
        connection.execute("PRAGMA temp_store = FILE")
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")


def _copy(connection: sqlite3.Connection) -> bool:
    """Copy what readers allow; whether that was all."""
    try:
        busy, frames, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error:
        return False
    return not busy and bool(frames == copied)


def _truncate(connection: sqlite3.Connection) -> bool:
    """Empty the file of a log in which nobody reads; whether it is empty."""
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    except sqlite3.Error:
        return False
    return not busy
