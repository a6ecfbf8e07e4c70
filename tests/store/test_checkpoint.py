"""The log becomes empty when nobody reads it, and nobody waits for it otherwise."""

import sqlite3
import time
from pathlib import Path

from askd.store.checkpoint import checkpoint, wal_size


def test_the_log_is_emptied(connection: sqlite3.Connection, path: Path) -> None:
    assert wal_size(path) > 0
    assert checkpoint(connection)
    assert wal_size(path) == 0
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (5000,)


def test_a_reader_is_not_waited_for(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("INSERT INTO keys VALUES ('a', 'd', 'c', 't', 1)")
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM keys").fetchall()
    connection.execute("INSERT INTO keys VALUES ('b', 'd', 'c', 't', 1)")
    before = time.perf_counter()
    assert not checkpoint(connection)
    assert time.perf_counter() - before < 2.0, "the busy timeout would be 5 s"
    assert wal_size(path) > 0
    assert len(reader.execute("SELECT * FROM keys").fetchall()) == 1
    reader.execute("COMMIT")
    reader.close()
    assert checkpoint(connection)
    assert connection.execute("SELECT count(*) FROM keys").fetchone() == (2,)


def test_a_transaction_of_our_own_is_no_crash(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    assert not checkpoint(connection)
    connection.execute("ROLLBACK")


def test_without_a_log_there_is_nothing(tmp_path: Path) -> None:
    assert wal_size(tmp_path / "ask.db") == 0
