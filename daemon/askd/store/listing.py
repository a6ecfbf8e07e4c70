"""The listing of conversations, page by page: which are meant, and where a page goes on.

It reads rows on the connection that it is given, and no event.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any

from askd.store.changes import ROW_COLUMNS, row_of
from askd.store.cursors import decode_cursor, encode_cursor
from askd.store.projection import ConversationRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """A page of conversations. `total` is of all pages; `next_cursor` None: that was the last."""

    rows: list[ConversationRow]
    total: int
    next_cursor: str | None


def list_page(
    connection: sqlite3.Connection,
    *,
    cursor: str | None,
    limit: int,
    before_at: float | None = None,
    begins: str | None = None,
) -> ListPage:
    """A page of conversations, the last updated first, of those that are meant."""
    place = () if cursor is None else decode_cursor(cursor)
    age: tuple[Any, ...] = () if before_at is None else (before_at, before_at)
    older = "updated_at < ? AND imported_at < ?" if age else "TRUE"
    if begins:
        # No LIKE: it takes A for a, and has signs of its own.
        older += " AND (substr(name, 1, ?) = ? OR substr(id, 1, ?) = ?)"
        age += (len(begins), begins) * 2
    found = connection.execute(
        f"SELECT {ROW_COLUMNS} FROM conversations"
        f" WHERE {older} {'AND (updated_at, id) < (?, ?)' if place else ''}"
        " ORDER BY updated_at DESC, id DESC LIMIT ?",
        (*age, *place, limit + 1),
    ).fetchall()
    (total,) = connection.execute(
        f"SELECT count(*) FROM conversations WHERE {older}", age
    ).fetchone()
    rows = [row_of(columns) for columns in found[:limit]]
    more = len(found) > limit and rows
    return ListPage(
        rows=rows,
        total=total,
        next_cursor=encode_cursor(rows[-1].updated_at, rows[-1].id) if more else None,
    )
