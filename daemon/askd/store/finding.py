"""Which conversation a person means by an id, a name, or the beginning of an id.

It never guesses: where several begin alike, all of them are named.
"""

import sqlite3

from askd.store import refusals
from askd.store.changes import ROW_COLUMNS, read_row, row_of
from askd.store.projection import ConversationRow

PREFIX_LENGTH = 4
"""The shortest id prefix that is taken for one."""
PREFIX_CHARACTERS = frozenset("0123456789abcdef-")
AFTER_PREFIX = "g"
"""Sorts after every character of an id, so that a prefix is a range of the index."""
MOST_CANDIDATES = 100
"""An ambiguous prefix names no more: the answer has to fit a message."""
PREFIX_QUERY = (
    f"SELECT {ROW_COLUMNS} FROM conversations WHERE id >= ? AND id < ?"
    f" ORDER BY id LIMIT {MOST_CANDIDATES}"
)


def find_conversation(connection: sqlite3.Connection, text: str) -> ConversationRow:
    """By exact id, else exact name, else id prefix; raises `NotFound`."""
    # A name may look like a prefix, even like an id: what is exact comes first.
    row = read_row(connection, text) or read_row(connection, text.lower())
    if row is not None:
        return row
    named = connection.execute(
        f"SELECT {ROW_COLUMNS} FROM conversations WHERE name = ?", (text,)
    ).fetchone()
    if named is not None:
        return row_of(named)
    prefix = text.lower()
    if len(prefix) < PREFIX_LENGTH or not PREFIX_CHARACTERS.issuperset(prefix):
        raise refusals.conversation_not_found(text)
    found = connection.execute(PREFIX_QUERY, (prefix, prefix + AFTER_PREFIX)).fetchall()
    if not found:
        raise refusals.conversation_not_found(text)
    rows = [row_of(columns) for columns in found]
    if len(rows) > 1:
        raise refusals.conversation_ambiguous(text, [(each.id, each.name) for each in rows])
    return rows[0]
