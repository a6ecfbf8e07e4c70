"""Schema 6: when a conversation was imported; and no readable key of one that was deleted.

Released, and so never changed. What was imported before is as old as what was
said in it: when it came is not known.
"""

import sqlite3

from askd.store.key_rows import hide_key

COLUMN = "ALTER TABLE conversations ADD COLUMN imported_at REAL NOT NULL DEFAULT 0"


def add_expiry(connection: sqlite3.Connection) -> None:
    """Add the column, and make unreadable the keys that outlived their conversation."""
    connection.execute(COLUMN)
    keys = connection.execute("SELECT key FROM keys WHERE seq = 0").fetchall()
    connection.executemany(
        "UPDATE OR REPLACE keys SET key = ? WHERE key = ?",
        [(hide_key(key), key) for (key,) in keys],
    )
