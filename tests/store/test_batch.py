"""One transaction for many: a refusal harms nobody else, a failed commit harms all."""

import sqlite3
from typing import Any

import pytest

from askd.store.batch import Change, Done, commit_batch


def insert(key: str, *, fill: int = 0) -> Change[str]:
    def change(connection: sqlite3.Connection, at: float) -> Done[str]:
        connection.execute("INSERT INTO keys VALUES (?, ?, 'c', 't', 1)", (key, "d" * fill))
        return Done(f"{key} at {at}")

    return change


def insert_and_refuse(key: str, error: Exception) -> Change[Any]:
    def change(connection: sqlite3.Connection, at: float) -> Done[Any]:
        insert(key)(connection, at)
        raise error

    return change


def keys(connection: sqlite3.Connection) -> list[str]:
    return [key for (key,) in connection.execute("SELECT key FROM keys ORDER BY key")]


def test_a_refusal_leaves_no_trace_and_harms_no_other(connection: sqlite3.Connection) -> None:
    refused = LookupError("no")
    outcomes = commit_batch(
        connection, [insert("a"), insert_and_refuse("b", refused), insert("a"), insert("c")], at=5.0
    )
    assert outcomes[0] == Done("a at 5.0")
    assert outcomes[1] is refused
    assert isinstance(outcomes[2], sqlite3.IntegrityError)
    assert outcomes[3] == Done("c at 5.0")
    assert keys(connection) == ["a", "c"]
    assert not connection.in_transaction


def test_a_change_that_undoes_everything_is_left_out_and_the_rest_done_again(
    connection: sqlite3.Connection,
) -> None:
    """SQLite answers a full database inside a statement by rolling back all of it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    outcomes = commit_batch(
        connection, [insert("a"), insert("big", fill=100_000), insert("b")], at=1.0
    )
    assert outcomes[0] == Done("a at 1.0")
    assert isinstance(outcomes[1], sqlite3.OperationalError)
    assert outcomes[1].sqlite_errorcode == sqlite3.SQLITE_FULL
    assert outcomes[2] == Done("b at 1.0")
    assert keys(connection) == ["a", "b"]


def test_a_failed_commit_is_the_whole_batchs(connection: sqlite3.Connection) -> None:
    def orphan(connection: sqlite3.Connection, at: float) -> Done[None]:
        # A deferred constraint is looked at by COMMIT alone.
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("INSERT INTO terminals VALUES ('t', 'nobody', 1)")
        return Done(None)

    with pytest.raises(sqlite3.IntegrityError):
        commit_batch(connection, [insert("a"), orphan], at=1.0)
    assert keys(connection) == []
    assert not connection.in_transaction
    assert commit_batch(connection, [insert("a")], at=1.0) == [Done("a at 1.0")]


def test_a_lock_that_another_holds_is_an_error(connection: sqlite3.Connection, path: Any) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    connection.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        commit_batch(connection, [insert("a")], at=1.0)
    other.execute("ROLLBACK")
    other.close()
    assert commit_batch(connection, [insert("a")], at=1.0) == [Done("a at 1.0")]
