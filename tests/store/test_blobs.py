"""Content stays while a conversation names it, however it came to name it."""

import sqlite3

import pytest

from askd.core.events import ItemAdded
from askd.core.items import Blob, UserMessage
from askd.errors import NotFound
from askd.store.batch import commit_batch
from askd.store.blobs import drop_unused, keep_blobs, read_blob, used_blobs
from askd.store.changes import append
from tests.store.builders import create


def blob(sha256: str) -> Blob:
    return Blob(sha256, 3, "text/plain")


def test_content_is_kept_once_and_read_back(connection: sqlite3.Connection) -> None:
    for id in ("c", "d"):
        commit_batch(connection, [append(create(id))], at=1.0)
    keep_blobs(connection, "c", named=["a"], contents={"a": b"\x00\xff", "unnamed": b"x"})
    keep_blobs(connection, "c", named=["a"], contents={"a": b"\x00\xff"})
    keep_blobs(connection, "d", named=["a"], contents={})  # as a fork does
    assert read_blob(connection, "a") == b"\x00\xff"
    assert connection.execute("SELECT sha256, bytes FROM blobs").fetchall() == [("a", 2)]
    assert used_blobs(connection, "c") == used_blobs(connection, "d") == ["a"]


def test_content_goes_with_its_last_use(connection: sqlite3.Connection) -> None:
    for id in ("c", "d"):
        commit_batch(connection, [append(create(id))], at=1.0)
        keep_blobs(connection, id, named=["a"], contents={"a": b"x"})
    connection.execute("DELETE FROM conversations WHERE id = 'c'")
    drop_unused(connection, ["a"])
    assert read_blob(connection, "a") == b"x"
    connection.execute("DELETE FROM conversations WHERE id = 'd'")
    drop_unused(connection, ["a"])
    with pytest.raises(NotFound) as caught:
        read_blob(connection, "a")
    assert caught.value.reason == "blob_not_found"


def test_a_write_that_names_what_nobody_has_is_refused(connection: sqlite3.Connection) -> None:
    write = create("c", ItemAdded(None, UserMessage("u", (blob("missing"),))))
    (outcome,) = commit_batch(connection, [append(write)], at=1.0)
    assert isinstance(outcome, NotFound)
    assert connection.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
