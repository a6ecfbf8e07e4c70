"""A new database, filled conversation by conversation, with everything that follows from events.

The store's own machinery does it: the schema by its migrations, rows, words and
counts by the functions that a write uses. Nothing is durable before `close`; a
file that was not closed is to be thrown away.
"""

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askd.core.blob_parts import find_blobs, name_missing
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    PromptAccepted,
    Renamed,
    ViewChanged,
)
from askd.files import sync_file
from askd.store.blobs import keep_blobs
from askd.store.bodies import encode_text
from askd.store.changes import ROW_COLUMNS, columns_of, read_row, save_events
from askd.store.database import configure_writer, prepare_file
from askd.store.digests import ANY_DIGEST
from askd.store.migrations import migrate
from askd.store.projection import ConversationRow, advance_row, empty_row
from askd.store.recovery.remains import find_columns
from askd.store.recovery.rows import LOST, Row
from askd.store.search.index import index_events
from askd.store.snapshots import note_snapshots
from askd.store.token_rates import learn_rates
from askd.store.usage import INSERT as INSERT_USAGE
from askd.store.usage import count_answers, is_copy
from askd.store.writer import connect

ReadBlob = Callable[[str], bytes | None]
Columns = Sequence[Any]
MADE_ANEW = (
    "blob", "conversations", "events", "keys", "migrations", "open_turns", "rollout", "search",
    "snapshots", "sqlite_", "usage",
)  # fmt: skip
"""How the names of those tables begin that are filled from events, or one by one."""
CACHE_KIB = 64 * 1024
"""Of pages that are changed again and again while the index of words grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """Which file tells a conversation, and how far: as the table `rollouts` has it."""

    path: str
    seq: int = 0
    bytes: int = 0


class Filling:
    """The database at `path`, which must not be there yet.

    Attributes:
        events: how many are in it.
        unnamed: conversations that lost their name to a later one, as (id, name).
        lost_blobs: how many contents nobody has any more.
    """

    def __init__(self, path: Path, *, at: float) -> None:
        prepare_file(path)
        self._path = path
        self._connection = connect(path)
        configure_writer(self._connection, path)
        migrate(self._connection, path, at=at)
        for pragma in (
            "PRAGMA foreign_keys = ON",
            # Until it is closed the file is nobody's: then it is synced as a whole.
            "PRAGMA synchronous = OFF",
            "PRAGMA wal_autocheckpoint = 1000",
            f"PRAGMA cache_size = -{CACHE_KIB}",
        ):
            self._connection.execute(pragma)
        self._names: dict[str, tuple[float, str]] = {}
        self.events = 0
        self.unnamed: list[tuple[str, str]] = []
        self.lost_blobs = 0

    def add(
        self,
        conversation_id: str,
        rows: Sequence[Row],
        *,
        read_blob: ReadBlob,
        mirrored: Mirrored | None,
        imported_at: float,
        usage: Sequence[Columns] | None,
    ) -> None:
        """Take a conversation in, in one transaction.

        Args:
            rows: 1..n without a gap.
            imported_at: from then on it is kept for as long as what is new.
            usage: the counts of its answers as they were; None: they are counted again.
        """
        self._begin()
        try:
            self._add(conversation_id, rows, read_blob, usage)
            self._connection.execute(
                "UPDATE conversations SET imported_at = ? WHERE id = ?",
                (imported_at, conversation_id),
            )
            if mirrored is not None:
                self._connection.execute(
                    "INSERT INTO rollouts (conversation_id, path, seq, bytes) VALUES (?, ?, ?, ?)",
                    (conversation_id, mirrored.path, mirrored.seq, mirrored.bytes),
                )
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self.events += len(rows)

    def insert(self, table: str, names: Sequence[str], rows: Sequence[Columns]) -> int:
        """Put rows in as they were; those that fit nothing are passed over. Answers how many.

        They know better than what was made of events, where that is there already.
        """
        marks = ", ".join("?" * len(names))
        taken = 0
        self._begin()
        for row in rows:
            try:
                done = self._connection.execute(
                    f"INSERT OR REPLACE INTO {table} ({', '.join(names)}) VALUES ({marks})", row
                )
            except sqlite3.IntegrityError:
                continue  # of a conversation that is gone
            taken += done.rowcount
        self._connection.execute("COMMIT")
        return taken

    def find_tables(self) -> list[str]:
        """Tables that hold more than follows from events, by name."""
        found = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
        return [name for (name,) in found if not name.startswith(MADE_ANEW)]

    def find_columns(self, table: str) -> list[str]:
        """The columns of a table, in their order."""
        return find_columns(self._connection, table)

    def replace_keys(self, rows: Sequence[Columns]) -> None:
        """Keys as they were, digests too: they know better than what was made of events."""
        self._begin()
        self._connection.executemany(
            "INSERT OR REPLACE INTO keys (key, digest, conversation_id, turn_id, seq)"
            " VALUES (?, ?, ?, ?, ?)",
            rows,
        )
        # A key whose turn is lost stands for nothing that could be answered.
        self._connection.execute(
            "UPDATE keys SET seq = 0 WHERE NOT EXISTS (SELECT 1 FROM events"
            " WHERE events.conversation_id = keys.conversation_id AND events.seq = keys.seq"
            " AND type <> ?)",
            (LOST,),
        )
        self._connection.execute("COMMIT")

    def has(self, conversation_id: str) -> bool:
        """Whether a conversation has been taken in."""
        return read_row(self._connection, conversation_id) is not None

    def close(self) -> None:
        """Make the file whole, on its own, and durable; raises `sqlite3.Error`, `OSError`."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        sync_file(self._path)

    def discard(self) -> None:
        """Let go of the file, which is of no use any more."""
        self._connection.close()

    # ---- one conversation ------------------------------------------------------

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def _add(
        self, id: str, rows: Sequence[Row], read_blob: ReadBlob, usage: Sequence[Columns] | None
    ) -> None:
        connection = self._connection
        events = [row.read(id) for row in rows]
        texts: list[str | bytes] = [row.text for row in rows]
        contents = self._find_contents(events, read_blob)
        for index, event in enumerate(events):
            body = name_missing(event.body, contents)
            if body is not event.body:
                # Its content is nowhere: a sentence in its place, or no request could be made.
                events[index], texts[index] = replace(event, body=body), encode_text(body)
        row = advance_row(empty_row(id, at=events[0].at), events)
        self._save_row(replace(row, name=None))
        keep_blobs(connection, id, named=list(contents), contents=contents)
        save_events(connection, events, texts)
        if usage is None:
            count_answers(connection, find_counted(events))
        else:
            connection.executemany(INSERT_USAGE, usage)
        learn_rates(connection, find_counted(events))
        index_events(connection, events)
        note_snapshots(connection, events)
        connection.executemany(
            "INSERT INTO open_turns (conversation_id, turn_id) VALUES (?, ?)",
            [(id, turn_id) for turn_id in fold(id, events).unfinished],
        )
        connection.executemany(
            "INSERT OR IGNORE INTO keys (key, digest, conversation_id, turn_id, seq)"
            " VALUES (?, ?, ?, ?, ?)",
            list(find_keys(events)),
        )
        if row.name is not None:
            self._give_name(row.name, id, at=find_naming(events))

    def _find_contents(self, events: Sequence[Event], read_blob: ReadBlob) -> Mapping[str, bytes]:
        contents: dict[str, bytes] = {}
        for sha256 in find_blobs([event.body for event in events]):
            content = read_blob(sha256)
            if content is None:
                self.lost_blobs += 1
            else:
                contents[sha256] = content
        return contents

    def _give_name(self, name: str, id: str, *, at: float) -> None:
        """Names are taken once: who was given it later keeps it, the other one is told so."""
        holder = self._names.get(name)
        if holder is None or holder < (at, id):
            self._names[name] = (at, id)
            if holder is not None:
                self._take_name(name, holder[1])
            self._connection.execute("UPDATE conversations SET name = ? WHERE id = ?", (name, id))
        else:
            self._take_name(name, id)

    def _take_name(self, name: str, id: str) -> None:
        self._connection.execute("UPDATE conversations SET name = NULL WHERE id = ?", (id,))
        row = read_row(self._connection, id)
        assert row is not None
        body: Body = Renamed(None)
        event = Event(id, row.last_seq + 1, row.updated_at, body)
        save_events(self._connection, [event], [encode_text(body)])
        self._save_row(advance_row(row, [event]))
        self.events += 1
        self.unnamed.append((id, name))

    def _save_row(self, row: ConversationRow) -> None:
        marks = ", ".join("?" * len(ROW_COLUMNS.split(", ")))
        self._connection.execute(
            f"INSERT INTO conversations ({ROW_COLUMNS}) VALUES ({marks})"
            " ON CONFLICT (id) DO UPDATE SET last_seq = excluded.last_seq",
            columns_of(row),
        )


def find_keys(events: Sequence[Event]) -> list[tuple[str, str, str, str, int]]:
    """The rows of prompts' keys, with the digest that fits every body.

    What a digest is made over (the target as it was said) is in no event.
    """
    return [
        (event.body.key, ANY_DIGEST, event.conversation_id, event.body.turn_id, event.seq)
        for event in events
        if isinstance(event.body, PromptAccepted) and not _is_foreign(event.body)
    ]


def find_naming(events: Sequence[Event]) -> float:
    """When the conversation was given the name that it has."""
    return max(
        (each.at for each in events if isinstance(each.body, ConversationCreated | Renamed)),
        default=0.0,
    )


def find_counted(events: Sequence[Event]) -> list[Event]:
    """What was counted here: the answers and summaries of no fork's source, of no import."""
    # What a fork copied is from before it: changes name no prompt that would tell.
    copied_until = events[0].at if is_copy(events) else -math.inf
    foreign: set[str] = set()
    counted: list[Event] = []
    for event in events:
        match event.body:
            case PromptAccepted(turn_id=turn_id) as prompt if _is_foreign(prompt):
                foreign.add(turn_id)
            case CompletionFinished(turn_id=turn_id) if turn_id not in foreign:
                counted.append(event)
            case ViewChanged() if event.at > copied_until:
                counted.append(event)
            case _:
                pass
    return counted


def _is_foreign(prompt: PromptAccepted) -> bool:
    """Whether nobody sent it to this daemon: copied into a fork, or read from a file of Codex's."""
    return prompt.key in ("", prompt.turn_id)
