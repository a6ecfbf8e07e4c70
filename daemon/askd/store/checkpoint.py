"""Moves the write-ahead log into the database, on the writer's connection only.

And writes all of it anew, where no byte of what was there may stay. Two
connections that checkpoint at once can lose data in SQLite before 3.51.3, so
nobody else ever does. It never waits for readers and never fails a caller.
"""

import sqlite3
from pathlib import Path

from askd.store.database import BUSY_TIMEOUT_MS

WAL_LIMIT_BYTES = 4 * 1024 * 1024
"""Above this a checkpoint is due; readers slow down with the log's length."""


MEMORY_LIMIT_BYTES = 256 * 1024 * 1024
"""A larger database is written anew by way of a file, which has no name; a smaller in memory."""


def wal_size(path: Path) -> int:
    """Bytes of the write-ahead log; 0: there is none."""
    return file_size(path.with_name(f"{path.name}-wal"))


def file_size(path: Path) -> int:
    """Bytes of a file, such as the database itself; 0: there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def checkpoint(connection: sqlite3.Connection) -> bool:
    """Copy what readers allow, then empty the log if nobody reads it; say whether it is empty.

    The log's file keeps its size until it is truncated, so only an emptied log
    lets `wal_size` tell how much is new.
    """
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    except sqlite3.Error:
        return False
    return not busy


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
