"""What the log can be asked to change, as functions of a connection and a time.

All that must be true together is one change. It checks before it writes, and
what it refuses is a sentence; the transaction around it is the batch's.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from askd.core.blob_parts import find_blobs
from askd.core.events import Event, ItemAdded, PromptAccepted, TurnFinished
from askd.store import blobs, refusals
from askd.store.batch import Change, Done
from askd.store.bodies import clean_text, encode_text
from askd.store.digests import is_same_prompt
from askd.store.jobs import rows as job_rows
from askd.store.jobs.turns import follow_turn_job
from askd.store.key_rows import forget_keys, read_key, save_key
from askd.store.log import Committed, Partial, Write
from askd.store.projection import (
    ConversationRow,
    advance_row,
    check_write,
    find_key_seq,
    find_row_to_extend,
    number_events,
)
from askd.store.schedules.rows import follow_firing, leave_conversation, note_firing
from askd.store.search.index import ask_rebuild, forget_conversation, index_events
from askd.store.snapshots import note_snapshots
from askd.store.token_rates import learn_rates
from askd.store.usage import count_answers

ROW_COLUMNS = "id, name, title, model, message_count, last_seq, created_at, updated_at, pinned"


def read_row(connection: sqlite3.Connection, conversation_id: str) -> ConversationRow | None:
    """The row of a conversation, if it is there."""
    found = connection.execute(
        f"SELECT {ROW_COLUMNS} FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    return None if found is None else row_of(found)


def row_of(columns: tuple[object, ...]) -> ConversationRow:
    """A row from the columns of `ROW_COLUMNS`."""
    values: dict[str, Any] = dict(zip(ROW_COLUMNS.split(", "), columns, strict=True))
    return ConversationRow(**{**values, "pinned": bool(values["pinned"])})


def columns_of(row: ConversationRow) -> tuple[object, ...]:
    """The columns of `ROW_COLUMNS`, as they are stored."""
    return (
        row.id,
        row.name,
        clean_text(row.title) if row.title is not None else None,
        row.model,
        row.message_count,
        row.last_seq,
        row.created_at,
        row.updated_at,
        row.pinned,
    )


def append(write: Write) -> Change[Committed]:
    """All of one write.

    The bodies are turned into text here and now, so that a value that cannot be
    stored is an error of the caller's line and never reaches a transaction.
    """
    check_write(write)
    bodies = tuple(write.bodies)
    texts = [encode_text(body) for body in bodies]
    named = find_blobs(bodies)
    contents = dict(write.blobs)

    def change(connection: sqlite3.Connection, at: float) -> Done[Committed]:
        if write.key is not None:
            known = read_key(connection, write.key.key)
            if known is not None:
                if not is_same_prompt(known.digest, write.key.digest):
                    raise refusals.key_reused(write.key)
                return Done(Committed(events=(), repeated=known))
        row = find_row_to_extend(write, read_row(connection, write.conversation_id), at=at)
        if write.fulfils is not None:
            job_rows.fulfil_job(connection, write.fulfils, at=at)
        events = number_events(row, bodies, at=at, times=write.times)
        _save_row(connection, row, advance_row(row, events))
        blobs.keep_blobs(connection, row.id, named=named, contents=contents)
        save_events(connection, events, texts)
        if write.times is None:
            # What happened elsewhere was paid for, and counted, there.
            count_answers(connection, events)
            learn_rates(connection, events)
        else:
            # Old as it may be, it is not too old to keep on the day on which it came.
            connection.execute(
                "UPDATE conversations SET imported_at = ? WHERE id = ?", (at, row.id)
            )
        index_events(connection, events)
        note_snapshots(connection, events)
        _follow_turns(connection, row.id, events)
        if write.key is not None:
            seq = find_key_seq(events, write.key.turn_id)
            save_key(connection, write.key, row.id, seq=seq)
            if write.firing is not None:
                note_firing(connection, write.firing, row.id, write.key.turn_id, at=at)
        if write.terminal is not None:
            connection.execute(
                "INSERT INTO terminals (terminal, conversation_id, at) VALUES (?, ?, ?)"
                " ON CONFLICT (terminal) DO UPDATE SET"
                " conversation_id = excluded.conversation_id, at = excluded.at",
                (write.terminal, row.id, at),
            )
        job_rows.add_jobs(connection, row.id, write.jobs, at=at)
        return Done(Committed(events=tuple(events)), events=tuple(events))

    return change


def delete(conversation_id: str, *, archive: bool = False) -> Change[None]:
    """Everything of a conversation but the counts of its usage and its keys; raise `NotFound`.

    Its rollout is noted to be removed, or with `archive` to be moved to the archive.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        if read_row(connection, conversation_id) is None:
            raise refusals.conversation_not_found(conversation_id)
        digests = blobs.used_blobs(connection, conversation_id)
        forget_conversation(connection, conversation_id)
        forget_keys(connection, conversation_id)
        connection.execute(
            "INSERT INTO rollout_removals (path, archive)"
            " SELECT path, ? FROM rollouts WHERE conversation_id = ?"
            " ON CONFLICT (path) DO UPDATE SET archive = excluded.archive",
            (archive, conversation_id),
        )
        leave_conversation(connection, conversation_id, at=at)
        # Everything else refers to this row and goes with it; what it has cost is kept without it.
        connection.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))
        blobs.drop_unused(connection, digests)
        return Done(None)

    return change


def save_partials(partials: Sequence[Partial]) -> Change[None]:
    """The text so far of running items; of a turn that is over, nothing."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        connection.executemany(
            "INSERT INTO partials (conversation_id, item_id, kind, turn_id, text)"
            " SELECT conversation_id, ?, ?, turn_id, ? FROM open_turns"
            " WHERE conversation_id = ? AND turn_id = ?"
            " ON CONFLICT (conversation_id, item_id, kind) DO UPDATE SET text = excluded.text",
            [
                (each.item_id, each.kind, clean_text(each.text), each.conversation_id, each.turn_id)
                for each in partials
            ],
        )
        return Done(None)

    return change


def mend_search(connection: sqlite3.Connection, at: float) -> Done[None]:
    """Note that the index of words is damaged."""
    ask_rebuild(connection)
    return Done(None)


def do_nothing(connection: sqlite3.Connection, at: float) -> Done[None]:
    """A round trip: proves that the writer's thread answers."""
    return Done(None)


def _save_row(connection: sqlite3.Connection, old: ConversationRow, new: ConversationRow) -> None:
    if new.name is not None and new.name != old.name:
        holder = connection.execute(
            "SELECT id FROM conversations WHERE name = ?", (new.name,)
        ).fetchone()
        if holder is not None and holder[0] != new.id:
            raise refusals.name_taken(new.name, holder[0])
    if old.last_seq == new.last_seq:
        return
    connection.execute(
        f"INSERT INTO conversations ({ROW_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET name = excluded.name, title = excluded.title,"
        " model = excluded.model, message_count = excluded.message_count,"
        " last_seq = excluded.last_seq, updated_at = excluded.updated_at, pinned = excluded.pinned",
        columns_of(new),
    )


def save_events(
    connection: sqlite3.Connection, events: Sequence[Event], texts: Sequence[str | bytes]
) -> None:
    """Add events to the log; `texts`: their bodies as they are stored."""
    connection.executemany(
        "INSERT INTO events (conversation_id, seq, at, type, version, body)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (event.conversation_id, event.seq, event.at, event.type, event.version, text)
            for event, text in zip(events, texts, strict=True)
        ],
    )


def _follow_turns(
    connection: sqlite3.Connection, conversation_id: str, events: Sequence[Event]
) -> None:
    """Keep `open_turns`, `partials`, the turns' jobs and slots true to what these events say."""
    for event in events:
        follow_turn_job(connection, event)
        follow_firing(connection, event)
        match event.body:
            case PromptAccepted(turn_id=turn_id):
                connection.execute(
                    "INSERT INTO open_turns (conversation_id, turn_id) VALUES (?, ?)"
                    " ON CONFLICT DO NOTHING",
                    (conversation_id, turn_id),
                )
            case ItemAdded(item=item):
                connection.execute(
                    "DELETE FROM partials WHERE conversation_id = ? AND item_id = ?",
                    (conversation_id, item.id),
                )
            case TurnFinished(turn_id=turn_id):
                connection.execute(
                    "DELETE FROM open_turns WHERE conversation_id = ? AND turn_id = ?",
                    (conversation_id, turn_id),
                )
                connection.execute(
                    "DELETE FROM partials WHERE conversation_id = ? AND turn_id = ?",
                    (conversation_id, turn_id),
                )
            case _:
                pass
