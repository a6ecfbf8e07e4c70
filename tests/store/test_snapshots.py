"""Snapshots are found by their ids, and their refs are left over when nobody has them."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from askd.core.events import ItemAdded
from askd.core.items import Blob, Copy, Snapshot
from askd.store.changes import append, delete
from askd.store.migrations import MIGRATIONS, migrate
from askd.store.snapshots import claim, find_holders, find_left_over, forget
from tests.store.builders import add, create, note
from tests.store.test_changes import do


def taken(id: str, *copies: Copy) -> ItemAdded:
    return ItemAdded(None, Snapshot(id, "/w", "0" * 40, copies=copies))


def test_a_snapshot_is_found_by_its_beginning(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", taken("0123456789ab"), note())), at=1.0)
    do(connection, append(create("d", taken("0123ffffffff"), taken("rollout_1-X"))), at=2.0)
    assert find_holders(connection, "012345") == [("0123456789ab", "c")]
    assert find_holders(connection, "0123456789AB") == [("0123456789ab", "c")]
    assert len(find_holders(connection, "0123")) == 2
    assert find_holders(connection, "rollout_1-X") == [("rollout_1-X", "d")]
    for text in ("012", "", "zzzz", "0123456789abc", "%", "____"):
        assert find_holders(connection, text) == []


def test_a_copy_in_a_fork_holds_it_too(connection: sqlite3.Connection) -> None:
    do(connection, claim("0123456789ab", "/w/.git"))
    assert find_left_over(connection) == [("0123456789ab", "/w/.git")]
    do(connection, append(create("source", taken("0123456789ab"))), at=1.0)
    do(connection, append(create("fork", taken("0123456789ab"))), at=2.0)
    assert find_left_over(connection) == []
    assert [id for _, id in find_holders(connection, "0123")] == ["source", "fork"]
    do(connection, delete("source"))
    assert find_left_over(connection) == []
    do(connection, delete("fork"))
    assert find_holders(connection, "0123456789ab") == []
    assert find_left_over(connection) == [("0123456789ab", "/w/.git")]
    do(connection, forget("0123456789ab"))
    assert find_left_over(connection) == []


def test_contents_of_copies_are_kept_with_them(connection: sqlite3.Connection) -> None:
    copy = Copy("f", Blob("d" * 64, 3, "application/octet-stream"))
    write = create("c", taken("0123456789ab", copy))
    with pytest.raises(Exception, match="not found"):
        do(connection, append(write))
    do(connection, append(replace(write, blobs=[("d" * 64, b"old")])))
    do(connection, append(add("c", note())))
    assert connection.execute("SELECT data FROM blobs").fetchall() == [(b"old",)]
    do(connection, delete("c"))
    assert connection.execute("SELECT data FROM blobs").fetchall() == []


def test_snapshots_of_an_older_database_are_found(
    connection: sqlite3.Connection, path: Path
) -> None:
    """What was imported before the tables were there."""
    do(connection, append(create("c", taken("0123456789ab"), note())))
    connection.execute(
        "INSERT INTO events VALUES ('c', 99, 1.0, 'item_added', 1, ?)",
        ('{"item": {"text": "\\"type\\":\\"snapshot\\""',),
    )
    for table in ("snapshots", "snapshot_refs"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("DELETE FROM migrations WHERE number = 9")
    migrate(connection, path, at=1.0, migrations=MIGRATIONS)
    assert find_holders(connection, "0123456789ab") == [("0123456789ab", "c")]
