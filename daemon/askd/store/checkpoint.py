"""Moves the write-ahead log into the database, on the writer's connection only.

Two connections that checkpoint at once can lose data in SQLite before 3.51.3,
so nobody else ever does. It never waits for readers and never fails a caller.
"""

import sqlite3
from pathlib import Path

from askd.store.database import BUSY_TIMEOUT_MS

WAL_LIMIT_BYTES = 4 * 1024 * 1024
"""Above this a checkpoint is due; readers slow down with the log's length."""


def wal_size(path: Path) -> int:
    """Bytes of the write-ahead log; 0: there is none."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
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
