"""The clients' keys of prompts, as rows: they outlive their conversation, but not readably.

A key may be made up of words that say what was asked. Once its conversation is
deleted a digest of it stands in its place: enough to know it again.
"""

import hashlib
import sqlite3

from askd.store.log import KnownKey, PromptKey


def read_key(connection: sqlite3.Connection, key: str) -> KnownKey | None:
    """The turn that a key stands for."""
    found = connection.execute(
        "SELECT digest, conversation_id, turn_id, seq FROM keys WHERE key IN (?, ?)",
        (key, hide_key(key)),
    ).fetchone()
    return None if found is None else KnownKey(key, *found)


def save_key(
    connection: sqlite3.Connection, key: PromptKey, conversation_id: str, *, seq: int
) -> None:
    """Remember what a key stands for; `seq`: its prompt's event."""
    connection.execute(
        "INSERT INTO keys (key, digest, conversation_id, turn_id, seq) VALUES (?, ?, ?, ?, ?)",
        (key.key, key.digest, conversation_id, key.turn_id, seq),
    )


def forget_keys(connection: sqlite3.Connection, conversation_id: str) -> None:
    """The conversation is deleted: keep its keys, known and unreadable."""
    # One of its id may have been deleted before: what is hidden already must not be hidden again.
    keys = connection.execute(
        "SELECT key FROM keys WHERE conversation_id = ? AND seq > 0", (conversation_id,)
    ).fetchall()
    connection.executemany(
        "UPDATE OR REPLACE keys SET key = ?, seq = 0 WHERE key = ?",
        [(hide_key(key), key) for (key,) in keys],
    )


def hide_key(key: str) -> str:
    """What stands for a key whose conversation was deleted."""
    return f"deleted:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"
