"""The log becomes empty when nobody reads it, and nobody waits for it otherwise."""

import sqlite3
import time
from pathlib import Path

import pytest

from askd.store import checkpoint as module
from askd.store.checkpoint import checkpoint, rewrite, wal_size


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


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_written_anew_it_has_no_free_page_and_all_rows(
    connection: sqlite3.Connection, path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT_BYTES", limit)
    rows = [(f"{number:09d}" * 50, "d", "c", "t", 1) for number in range(500)]
    connection.executemany("INSERT INTO keys VALUES (?, ?, ?, ?, ?)", rows)
    connection.execute("DELETE FROM keys WHERE key > ?", (rows[20][0],))
    assert connection.execute("PRAGMA freelist_count").fetchone() > (0,)
    rewrite(connection, path)
    assert checkpoint(connection)
    assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM keys").fetchone() == (21,)
    assert connection.execute("PRAGMA temp_store").fetchone() == (2,), "in memory, as before"
