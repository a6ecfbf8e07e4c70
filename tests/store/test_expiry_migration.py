"""A database of schema 5 learns when things came, and forgets how old keys read."""

import sqlite3
from pathlib import Path

from askd.store.database import configure_writer, prepare_file
from askd.store.expiry import find_expired
from askd.store.key_rows import read_key
from askd.store.log import KnownKey
from askd.store.migrations import MIGRATIONS, migrate

BEFORE = [each for each in MIGRATIONS if each.number < 6]


def test_what_was_there_is_as_old_as_it_was(path: Path) -> None:
    prepare_file(path)
    connection = sqlite3.connect(path, isolation_level=None)
    configure_writer(connection, path)
    migrate(connection, path, at=1.0, migrations=BEFORE)
    connection.execute(
        "INSERT INTO conversations (id, created_at, updated_at, message_count, last_seq)"
        " VALUES ('c', 1, 10, 0, 1)"
    )
    connection.execute("INSERT INTO keys VALUES ('about Ada', 'd', 'gone', 't', 0)")
    connection.execute("INSERT INTO keys VALUES ('about Bob', 'd', 'c', 't', 2)")
    migrate(connection, path, at=2.0)
    assert find_expired(connection, before_at=11.0, after_id="", limit=9) == ["c"]
    assert read_key(connection, "about Ada") == KnownKey("about Ada", "d", "gone", "t", 0)
    assert read_key(connection, "about Bob") == KnownKey("about Bob", "d", "c", "t", 2)
    stored = {key for (key,) in connection.execute("SELECT key FROM keys")}
    assert "about Bob" in stored
    assert "about Ada" not in stored
    connection.close()
