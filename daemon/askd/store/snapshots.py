"""Which conversation holds which snapshot, and the refs in repositories that hold them too.

A row is there for each snapshot of each conversation, from its event's transaction on,
and goes with the conversation. A ref is noted before it is made: once no conversation
has its snapshot, a copy in a fork included, it is left over. No repository is known here.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from askd.core.events import Event, ItemAdded
from askd.core.items import Snapshot
from askd.store.batch import Change, Done

T = TypeVar("T")

TABLES = """
-- The snapshots of each conversation; a fork has those of its source under the same ids.
CREATE TABLE snapshots (
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    PRIMARY KEY (id, conversation_id)
) WITHOUT ROWID;
CREATE INDEX snapshots_by_conversation ON snapshots (conversation_id);

-- The refs that were made, or are about to be, to hold them. One without a snapshot is to go.
CREATE TABLE snapshot_refs (
    id TEXT NOT NULL PRIMARY KEY,
    git_dir TEXT NOT NULL
) WITHOUT ROWID;
"""
PREFIX_LENGTH = 4
"""The shortest beginning of an id that is taken for one."""
MOST_FOUND = 100


def add_snapshots(connection: sqlite3.Connection) -> None:
    """Schema 9: the tables, with the snapshots that were imported before."""
    for statement in TABLES.split(";\n"):
        connection.execute(statement)
    held = connection.execute(
        "SELECT conversation_id, body FROM events"
        ' WHERE type = ? AND instr(body, \'"type":"snapshot"\')',
        (ItemAdded.TYPE,),
    ).fetchall()
    for conversation_id, body in held:
        try:
            item = json.loads(body)["item"]
            id = item["id"] if item["type"] == Snapshot.TYPE else None
        except (ValueError, TypeError, KeyError, RecursionError):
            continue  # it cannot be read, or says the words in another place
        if isinstance(id, str):
            _note(connection, id, conversation_id)


def note_snapshots(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Note the snapshots among these events."""
    for event in events:
        if isinstance(event.body, ItemAdded) and isinstance(event.body.item, Snapshot):
            _note(connection, event.body.item.id, event.conversation_id)


def _note(connection: sqlite3.Connection, id: str, conversation_id: str) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO snapshots (id, conversation_id) VALUES (?, ?)",
        (id, conversation_id),
    )


def find_holders(connection: sqlite3.Connection, text: str) -> list[tuple[str, str]]:
    """Snapshots by an id or its beginning, and who holds each: the oldest conversation first."""
    low = text.lower()
    where = "snapshots.id IN (?, ?)"
    values: tuple[str, ...] = (text, low)
    if len(low) >= PREFIX_LENGTH:
        where += " OR (snapshots.id >= ? AND snapshots.id < ?)"
        values = (*values, low, low + "\U0010ffff")
    found = connection.execute(
        "SELECT snapshots.id, conversation_id FROM snapshots"
        " JOIN conversations ON conversations.id = conversation_id"
        f" WHERE {where} ORDER BY created_at, conversation_id LIMIT {MOST_FOUND}",
        values,
    ).fetchall()
    exact = [row for row in found if row[0] in (text, low)]
    return exact or found


def find_left_over(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Refs that nobody's snapshot needs: id and repository."""
    return connection.execute(
        "SELECT id, git_dir FROM snapshot_refs WHERE NOT EXISTS"
        " (SELECT 1 FROM snapshots WHERE snapshots.id = snapshot_refs.id)"
    ).fetchall()


def claim(id: str, git_dir: str) -> Change[None]:
    """Note that a ref is about to be made."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        connection.execute(
            "INSERT INTO snapshot_refs (id, git_dir) VALUES (?, ?)"
            " ON CONFLICT (id) DO UPDATE SET git_dir = excluded.git_dir",
            (id, git_dir),
        )
        return Done(None)

    return change


def forget(id: str) -> Change[None]:
    """A ref is gone."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        connection.execute("DELETE FROM snapshot_refs WHERE id = ?", (id,))
        return Done(None)

    return change


class Changes(Protocol):
    """Who commits changes: the writer."""

    async def apply(self, change: Change[T]) -> T:
        """Commit a change; raises `StorageFailed`."""
        ...


class Questions(Protocol):
    """Who reads what is committed: the reader."""

    async def query(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """The answer of a query; raises `StorageFailed`."""
        ...


class SnapshotTable:
    """The tables, for those who do not know SQL. Every method raises `StorageFailed`."""

    def __init__(self, changes: Changes, questions: Questions) -> None:
        self._changes = changes
        self._questions = questions

    async def claim(self, id: str, git_dir: str) -> None:
        """Note that a ref is about to be made in a repository."""
        await self._changes.apply(claim(id, git_dir))

    async def forget(self, id: str) -> None:
        """Note that a ref is gone."""
        await self._changes.apply(forget(id))

    async def find_left_over(self) -> list[tuple[str, str]]:
        """Refs that nobody's snapshot needs: id and repository."""
        return await self._questions.query(find_left_over)

    async def find_holders(self, text: str) -> list[tuple[str, str]]:
        """Snapshots by an id or its beginning, and which conversations hold them."""
        return await self._questions.query(lambda connection: find_holders(connection, text))
