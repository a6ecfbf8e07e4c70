"""Content too large for an event: kept by its digest while a conversation uses it.

It trusts digests: whoever received the bytes has checked them. Uses follow from
what the events name, so that a copied event (a fork) keeps the content too.
"""

import sqlite3
from collections.abc import Mapping, Sequence

from askd.store.refusals import blob_not_found


def keep_blobs(
    connection: sqlite3.Connection,
    conversation_id: str,
    *,
    named: Sequence[str],
    contents: Mapping[str, bytes],
) -> None:
    """Store what the conversation names; raise `NotFound` for a digest that nobody has."""
    for sha256 in named:
        data = contents.get(sha256)
        if data is not None:
            connection.execute(
                "INSERT INTO blobs (sha256, bytes, data) VALUES (?, ?, ?) "
                "ON CONFLICT (sha256) DO NOTHING",
                (sha256, len(data), data),
            )
        elif not connection.execute("SELECT 1 FROM blobs WHERE sha256 = ?", (sha256,)).fetchone():
            raise blob_not_found(sha256)
        connection.execute(
            "INSERT INTO blob_uses (conversation_id, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (conversation_id, sha256),
        )


def used_blobs(connection: sqlite3.Connection, conversation_id: str) -> list[str]:
    """The digests that a conversation uses."""
    rows = connection.execute(
        "SELECT sha256 FROM blob_uses WHERE conversation_id = ?", (conversation_id,)
    )
    return [sha256 for (sha256,) in rows]


def drop_unused(connection: sqlite3.Connection, digests: Sequence[str]) -> None:
    """Remove those of these blobs that no conversation uses any more."""
    for sha256 in digests:
        connection.execute(
            "DELETE FROM blobs WHERE sha256 = ? AND NOT EXISTS "
            "(SELECT 1 FROM blob_uses WHERE blob_uses.sha256 = blobs.sha256)",
            (sha256,),
        )


def read_blob(connection: sqlite3.Connection, sha256: str) -> bytes:
    """A blob's content; raise `NotFound`."""
    row = connection.execute("SELECT data FROM blobs WHERE sha256 = ?", (sha256,)).fetchone()
    if row is None:
        raise blob_not_found(sha256)
    return bytes(row[0])
