"""What is left of a database that may be damaged, read conversation by conversation.

It opens the file for reading only. What cannot be read is passed over and
counted, and reading goes on from the other end: one bad page must cost what is
on it, and no more.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from askd.core.events import VERSION
from askd.errors import StorageFailed
from askd.store.database import open_readonly
from askd.store.recovery.rows import Row

Columns = tuple[Any, ...]
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
OURS = {"migrations", "conversations", "events"}
"""Tables of every askd's database."""


class Remains:
    """What can still be read of the database at `path`; of one that is not there, nothing.

    Attributes:
        faults: how many reads ended early.
        trouble: why the file cannot be read at all, if so.
        is_empty: the file is there, and nothing is in it.
        is_ours: it has a table of ours, or nobody can say.
    """

    def __init__(self, path: Path) -> None:
        self.faults = 0
        self.trouble: str | None = None
        self._connection: sqlite3.Connection | None = None
        self.is_empty = path.exists() and path.stat().st_size == 0
        self.is_ours = True
        if self.is_empty or not path.exists():
            return
        try:
            self._connection = open_readonly(path)
            tables = {name for (name,) in self._connection.execute(TABLES)}
            self.is_ours = bool(tables & OURS)
        except StorageFailed as error:
            self.trouble = error.message
        except sqlite3.Error as error:
            self.trouble = f"{path} cannot be read: {error}."
            self.close()

    def look(self) -> None:
        """See whether its pages are sound; one that holds nothing of ours may be damaged too."""
        if self._connection is None:
            return
        try:
            (said,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error:
            said = "it ended early"
        self.faults += said != "ok"

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def find_conversations(self) -> set[str]:
        """The ids of all conversations that have a row, or events."""
        found = {id for (id,) in self.read_table("conversations", ("id",), order="id")}
        for step, order in ((">", "ASC"), ("<", "DESC")):
            place = "" if step == ">" else "\U0010ffff"
            query = (
                f"SELECT conversation_id FROM events WHERE conversation_id {step} ?"
                f" ORDER BY conversation_id {order} LIMIT 1"
            )
            rows, is_whole = self._read(query, (place,))
            while rows:
                (place,) = rows[0]
                found.add(place)
                rows, is_whole = self._read(query, (place,))
            if is_whole:
                break
        return {id for id in found if isinstance(id, str) and id}

    def read_rows(self, conversation_id: str) -> dict[int, Row]:
        """The events of a conversation, by seq."""
        found: dict[int, Row] = {}
        for order in ("ASC", "DESC"):
            rows, is_whole = self._read(
                "SELECT seq, at, type, version, CAST(body AS BLOB) FROM events"
                f" WHERE conversation_id = ? ORDER BY seq {order}",
                (conversation_id,),
            )
            for columns in rows:
                with suppress(TypeError, ValueError):
                    row = _read_row(columns)
                    found.setdefault(row.seq, row)
            if is_whole:
                break
        return found

    def read_blob(self, sha256: str) -> bytes | None:
        """A blob's content, if it is there and can be read."""
        rows, _ = self._read("SELECT data FROM blobs WHERE sha256 = ?", (sha256,))
        return bytes(rows[0][0]) if rows and isinstance(rows[0][0], bytes) else None

    def read_table(self, table: str, names: Sequence[str], *, order: str) -> list[Columns]:
        """The columns of all rows that can be read; `order`: what to read them by, both ways."""
        found: dict[Columns, None] = {}
        for direction in ("ASC", "DESC"):
            rows, is_whole = self._read(
                f"SELECT {', '.join(names)} FROM {table} ORDER BY {order} {direction}", ()
            )
            if is_whole:
                return rows  # with those that are there twice
            found.update(dict.fromkeys(rows))
        return list(found)

    def find_columns(self, table: str) -> list[str]:
        """The columns that a table has here; none: there is no such table."""
        if self._connection is None:
            return []
        try:
            return find_columns(self._connection, table)
        except sqlite3.Error:
            self.faults += 1
            return []

    def _read(self, query: str, parameters: Columns) -> tuple[list[Columns], bool]:
        """The rows up to the first that cannot be read, and whether these are all."""
        if self._connection is None:
            return [], True
        rows: list[Columns] = []
        try:
            for columns in self._connection.execute(query, parameters):
                rows.append(columns)  # those before the first bad one are kept
        except sqlite3.OperationalError as error:
            # An older schema lacks tables: there is nothing in them, and nothing is lost.
            if "no such" in str(error):
                return [], True
            self.faults += 1
            return rows, False
        except sqlite3.Error:
            self.faults += 1
            return rows, False
        return rows, True


def find_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table; of one that is not there, none."""
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in found]


def _read_row(columns: Columns) -> Row:
    """The record in these columns; raises `TypeError` or `ValueError` for what cannot be one."""
    seq, at, kind, version, body = columns
    if not isinstance(body, bytes) or int(seq) < 1:
        raise ValueError("a record has a number and a body")
    text: str | bytes = body
    with suppress(UnicodeDecodeError):
        text = body.decode()
    moment = float(at) if isinstance(at, int | float) else 0.0
    return Row(int(seq), moment, str(kind), version if isinstance(version, int) else VERSION, text)
