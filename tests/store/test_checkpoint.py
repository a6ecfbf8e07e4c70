"""The log's file is kept or emptied, it stays bounded, and nobody waits for it."""

import itertools
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from askd.store import checkpoint as module
from askd.store.checkpoint import LogFile, rewrite, wal_size

LIMIT = 200_000
KIB = 1024
numbers = itertools.count()


@pytest.fixture
def log(connection: sqlite3.Connection, path: Path, monkeypatch: pytest.MonkeyPatch) -> LogFile:
    """Of a database that is there; its limits are small."""
    monkeypatch.setattr(module, "WAL_LIMIT_BYTES", LIMIT)
    monkeypatch.setattr(module, "KEPT_LIMIT_BYTES", 2 * LIMIT)
    log = LogFile(path)
    assert log.empty(connection)
    return log


def put(connection: sqlite3.Connection, size: int = 20 * KIB) -> None:
    """Commit a row of about this size."""
    key = f"{next(numbers)}{'x' * size}"
    connection.execute("INSERT INTO keys VALUES (?, 'd', 'c', 't', 1)", (key,))


def begin_reading(path: Path) -> sqlite3.Connection:
    """A reader that keeps what it sees until it is closed."""
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM keys").fetchall()
    return reader


def count_in_file(path: Path) -> int:
    """Rows that are in the database itself, whatever its log holds."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    (count,) = connection.execute("SELECT count(*) FROM keys").fetchone()
    connection.close()
    return int(count)


def test_a_copied_log_keeps_its_file_and_is_written_from_its_start(
    connection: sqlite3.Connection, path: Path, log: LogFile
) -> None:
    for _ in range(5):
        put(connection)
    size = wal_size(path)
    assert log.copy(connection)
    assert wal_size(path) == size > 5 * 20 * KIB
    assert count_in_file(path) == 5
    for _ in range(3):
        put(connection)
        assert wal_size(path) == size, "a commit into blocks that the file has"


def test_the_file_is_emptied(connection: sqlite3.Connection, path: Path, log: LogFile) -> None:
    put(connection)
    assert wal_size(path) > 0
    assert log.empty(connection)
    assert wal_size(path) == 0
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (5000,)


def test_it_is_due_when_the_file_grows_beyond_what_was_kept(
    connection: sqlite3.Connection, path: Path, log: LogFile
) -> None:
    assert not log.is_due()
    while wal_size(path) <= LIMIT:
        assert not log.is_due()
        put(connection)
    assert log.is_due()
    kept = wal_size(path)
    assert log.copy(connection)
    while wal_size(path) <= kept:
        assert not log.is_due()
        put(connection)
    assert log.is_due(), "all that it holds is new"


def test_under_many_commits_it_stays_bounded_and_is_seldom_emptied(
    connection: sqlite3.Connection, path: Path, log: LogFile
) -> None:
    steps = []
    for _ in range(1000):
        before = wal_size(path)
        put(connection, 4 * KIB)
        steps.append(wal_size(path) - before)
        if log.is_due():
            assert log.copy(connection)
        assert wal_size(path) <= 2 * LIMIT + max(steps), "one commit above the limit"
    assert steps.count(0) > len(steps) * 3 / 4, "of a log that is always emptied no commit is"
    assert log.copy(connection)
    assert wal_size(path) < sum(steps), "it was emptied on the way"


def test_what_a_reader_made_long_is_given_back_when_it_ends(
    connection: sqlite3.Connection, path: Path, log: LogFile
) -> None:
    put(connection)
    reader = begin_reading(path)
    while wal_size(path) < 3 * LIMIT:
        put(connection)
        assert not log.is_due() or not log.copy(connection)
    reader.close()
    assert log.is_due()
    assert log.copy(connection)
    assert wal_size(path) == 0


def test_a_reader_at_the_end_lets_all_be_copied_and_the_file_grow(
    connection: sqlite3.Connection, path: Path, log: LogFile
) -> None:
    while not log.is_due():
        put(connection)
    reader = begin_reading(path)
    kept = wal_size(path)
    assert log.copy(connection)
    assert not log.is_due()
    put(connection)
    assert wal_size(path) > kept, "somebody reads in it: it cannot begin anew"
    assert log.is_due()
    assert not log.copy(connection)
    assert log.is_due(), "to be tried again"
    reader.close()
    assert log.copy(connection)
    assert not log.is_due()


@pytest.mark.parametrize("bring", [LogFile.copy, LogFile.empty])
def test_a_reader_is_not_waited_for(
    connection: sqlite3.Connection,
    path: Path,
    log: LogFile,
    bring: Callable[[LogFile, sqlite3.Connection], bool],
) -> None:
    put(connection)
    reader = begin_reading(path)
    put(connection)
    before = time.perf_counter()
    assert not bring(log, connection)
    assert time.perf_counter() - before < 2.0, "the busy timeout would be 5 s"
    assert wal_size(path) > 0
    assert len(reader.execute("SELECT * FROM keys").fetchall()) == 1
    reader.execute("COMMIT")
    reader.close()
    assert bring(log, connection)
    assert count_in_file(path) == 2


def test_a_file_that_could_not_be_emptied_is_due_as_if_it_were_not_copied(
    connection: sqlite3.Connection, path: Path, log: LogFile
) -> None:
    while not log.is_due():
        put(connection)
    assert log.copy(connection)
    reader = begin_reading(path)  # it reads nothing of the log: all is copied
    put(connection)
    assert not log.empty(connection)
    assert log.is_due()
    reader.close()
    assert log.empty(connection)
    assert not log.is_due()


def test_a_transaction_of_our_own_is_no_crash(connection: sqlite3.Connection, log: LogFile) -> None:
    put(connection)
    connection.execute("BEGIN IMMEDIATE")
    assert not log.copy(connection)
    assert not log.empty(connection)
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
    assert LogFile(path).empty(connection)
    assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM keys").fetchone() == (21,)
    assert connection.execute("PRAGMA temp_store").fetchone() == (2,), "in memory, as before"
