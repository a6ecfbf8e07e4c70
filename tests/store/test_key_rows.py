"""A key is known again, also when its conversation is gone and nobody can read it any more."""

import sqlite3

from askd.store.changes import append, delete
from askd.store.key_rows import forget_keys, hide_key, read_key, save_key
from askd.store.log import KnownKey, PromptKey
from tests.store.builders import create


def test_a_key_outlives_its_conversation_unread(connection: sqlite3.Connection) -> None:
    append(create("c"))(connection, 1.0)
    for key, owner in (("nightly report on Ada", "c"), ("k2", "d")):
        save_key(connection, PromptKey(key=key, digest="d", turn_id="t"), owner, seq=3)
    assert read_key(connection, "nightly report on Ada") == KnownKey(
        "nightly report on Ada", "d", "c", "t", 3
    )
    delete("c")(connection, 2.0)
    assert read_key(connection, "nightly report on Ada") == KnownKey(
        "nightly report on Ada", "d", "c", "t", 0
    )
    assert read_key(connection, "k2") == KnownKey("k2", "d", "d", "t", 3)
    assert read_key(connection, "k3") is None
    stored = connection.execute("SELECT key FROM keys ORDER BY key").fetchall()
    assert stored == [(hide_key("nightly report on Ada"),), ("k2",)]
    assert "Ada" not in repr(stored)


def test_a_key_that_looks_like_a_hidden_one_holds_up_no_deletion(
    connection: sqlite3.Connection,
) -> None:
    save_key(connection, PromptKey(key="k", digest="d", turn_id="t"), "c", seq=1)
    other = PromptKey(key=hide_key("k"), digest="e", turn_id="u")
    save_key(connection, other, "other", seq=1)
    forget_keys(connection, "c")
    assert connection.execute("SELECT count(*) FROM keys").fetchone() == (1,)


def test_a_key_is_known_however_often_its_conversation_comes_back_and_goes(
    connection: sqlite3.Connection,
) -> None:
    save_key(connection, PromptKey(key="k", digest="d", turn_id="t"), "c", seq=3)
    for _ in range(2):
        forget_keys(connection, "c")
    assert read_key(connection, "k") == KnownKey("k", "d", "c", "t", 0)
