"""Pages of a conversation's events, read whatever has become of its records.

A record that is there and cannot be read comes as `Unreadable`, in its place. A
number that has no record (it is gone, or lies where the database is damaged) is
`lost`: something stands in its place too, and whoever reads must decide whether
a log with holes will do. Nothing is mended here and nothing is written.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from askd.core.events import Event, UnknownBody, Unreadable
from askd.core.rollout_lines import LAST_TIME
from askd.store.bodies import decode_event, salvage
from askd.store.refusals import is_damage

# Bodies as bytes: a text that is no UTF-8 must be seen to be none.
_COLUMNS = "seq, at, type, version, CAST(body AS BLOB)"
_FROM = f"SELECT {_COLUMNS} FROM events WHERE conversation_id = ? AND seq >= ? ORDER BY seq"
_MISPLACED = (
    f"SELECT {_COLUMNS} FROM events WHERE conversation_id = ?"
    " AND (typeof(seq) != 'integer' OR seq > ?) ORDER BY seq"
)
_PLACED = (
    "SELECT count(*) FROM events"
    " WHERE conversation_id = ? AND typeof(seq) = 'integer' AND seq BETWEEN 1 AND ?"
)
_TIME = (
    "SELECT at FROM events WHERE conversation_id = ? AND seq <= ?"
    f" AND typeof(at) = 'real' AND at BETWEEN 0 AND {LAST_TIME} ORDER BY seq DESC LIMIT 1"
)
MISSING = "it is missing, or the database is damaged there"
MISPLACED = "its number is none"

Row = tuple[Any, ...]


@dataclass(slots=True, kw_only=True)
class EventsRead:
    """Events in the order of their seq, without a gap.

    Attributes:
        more: there are events after these.
        lost: the numbers among them that have no record.
        faults: of each `Unreadable` one, in words.
    """

    events: list[Event] = field(default_factory=list)
    more: bool = False
    lost: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_page(
    connection: sqlite3.Connection,
    conversation_id: str,
    *,
    after_seq: int,
    limit: int,
    limit_bytes: int,
) -> EventsRead:
    """Events after a seq; a negative limit is none. Raises `sqlite3.Error` but for damage.

    `limit_bytes` bounds the bodies as they lie on the disk; one event always comes.
    """
    # One state for all of it: what is appended meanwhile must not look like a gap.
    connection.execute("BEGIN")
    try:
        found = connection.execute(
            "SELECT last_seq, created_at FROM conversations WHERE id = ?", (conversation_id,)
        ).fetchone()
        last_seq, created_at = (0, 0.0) if found is None else found
        page = EventsRead()
        size = 0
        for seq, row in _scan(connection, conversation_id, after_seq, last_seq):
            size += 0 if row is None else len(row[4] or b"")
            events = page.events
            if (limit >= 0 and len(events) >= limit) or (events and 0 <= limit_bytes < size):
                page.more = True
                break
            if row is None:
                page.lost.append(seq)
                body = Unreadable(UnknownBody.TYPE, MISSING)
                events.append(Event(conversation_id, seq, 0.0, body))
            else:
                events.append(decode_event(conversation_id, seq, *row[1:])[0])
        if page.lost:
            _find_misplaced(connection, conversation_id, page, after_seq, last_seq)
        if any(not event.at for event in page.events):
            _date(page.events, _find_time(connection, conversation_id, after_seq) or created_at)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    page.faults = [
        f"seq {each.seq} ({each.body.of_type}): {each.body.why}"
        for each in page.events
        if isinstance(each.body, Unreadable)
    ]
    return page


def _scan(
    connection: sqlite3.Connection, conversation_id: str, after_seq: int, last_seq: int
) -> Iterator[tuple[int, Row | None]]:
    """Each number after `after_seq` with its record, or with none."""
    seq = after_seq
    while True:
        try:
            for row in connection.execute(_FROM, (conversation_id, seq + 1)):
                number = row[0]
                if not isinstance(number, int) or not seq < number <= max(last_seq, seq + 1):
                    continue  # misplaced: it is looked for when a number turns out to be missing
                for missing in range(seq + 1, number):
                    yield missing, None
                seq = number
                yield seq, row
            for missing in range(seq + 1, last_seq + 1):
                yield missing, None
            return
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            # What follows may lie on another page, that is whole: on from the next number.
            seq += 1
            if seq > last_seq:
                return
            yield seq, None


def _find_misplaced(
    connection: sqlite3.Connection,
    conversation_id: str,
    page: EventsRead,
    after_seq: int,
    last_seq: int,
) -> None:
    """Put records whose number is damaged where one is missing, in their order."""
    try:
        rows = connection.execute(_MISPLACED, (conversation_id, last_seq)).fetchall()
        (placed,) = connection.execute(_PLACED, (conversation_id, after_seq)).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return  # nothing can be counted where pages are damaged
    rest = rows[after_seq - placed :]
    places = {event.seq: index for index, event in enumerate(page.events)}
    for seq, row in zip(list(page.lost), rest, strict=False):
        _, _, kind, _, content = row
        body = salvage(kind, content, MISPLACED)
        page.events[places[seq]] = Event(conversation_id, seq, 0.0, body)
        page.lost.remove(seq)


def _find_time(connection: sqlite3.Connection, conversation_id: str, seq: int) -> float | None:
    """The time of the last event up to a seq that has one and can be reached."""
    try:
        found = connection.execute(_TIME, (conversation_id, seq)).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return None
    return None if found is None else float(found[0])


def _date(events: list[Event], before: float) -> None:
    """Where a record has no time, that of the event before it must do."""
    for index, event in enumerate(events):
        if isinstance(event.body, Unreadable) and not event.at:
            events[index] = event = replace(event, at=before)
        before = event.at
