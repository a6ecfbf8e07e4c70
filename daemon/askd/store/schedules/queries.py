"""What may be known of schedules: which there are, what they did, how far slots are handled.

It changes none.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from askd.core.events import PromptAccepted, decode_body
from askd.core.records import BadRecord
from askd.core.schedules import Schedule
from askd.store.refusals import schedule_ambiguous, schedule_not_found

COLUMNS = (
    "id, name, cron, zone, missed, session, conversation_id, prompt, created_at, paused_at,"
    " paused_why"
)
KINDS: Mapping[str, tuple[tuple[type, ...], object]] = {
    "name": ((str, NoneType), None),
    "cron": ((str,), ""),
    "zone": ((str,), ""),
    "session": ((str, NoneType), None),
    "conversation_id": ((str, NoneType), None),
    "created_at": ((int, float), 0.0),
    "paused_at": ((int, float, NoneType), None),
    "paused_why": ((str, NoneType), None),
}
"""What SQLite may hold in a column for all its types, and what stands for anything else."""
PREFIX_LENGTH = 4
"""As of conversations: fewer characters of an id are more likely a slip than a choice."""
NAMED_CANDIDATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRow:
    """What was done about one slot; times in unix seconds.

    Attributes:
        slot: the moment that it was for; None: it was sent by hand.
        state: `skipped` and `refused` brought nothing; `accepted`: its turn is not over; else how
            that ended.
        skipped: slots before it for which nothing was sent; for `skipped` with itself.
        turn_id: of the turn, which is the id of its job, too.
        code: the exit code of the turn, or of the refusal.
    """

    slot: float | None
    state: str
    skipped: int
    conversation_id: str | None
    turn_id: str | None
    code: int | None
    error: str | None
    at: float
    finished_at: float | None


SLOT_COLUMNS = "slot, state, skipped, conversation_id, turn_id, code, error, at, finished_at"


def list_schedules(connection: sqlite3.Connection) -> list[Schedule]:
    """Every schedule, the oldest first; of a damaged one what is left, with `damage`."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM schedules ORDER BY created_at, id")
    return [_row_of(columns) for columns in rows.fetchall()]


def find_schedule(connection: sqlite3.Connection, text: str) -> Schedule:
    """By exact id, else exact name, else the beginning of an id, else where its prompts go.

    Raises:
        NotFound: none, or more than one.
    """
    for column in ("id", "name"):
        found = connection.execute(
            f"SELECT {COLUMNS} FROM schedules WHERE {column} = ?", (text,)
        ).fetchone()
        if found is not None:
            return _row_of(found)
    rows = []
    if len(text) >= PREFIX_LENGTH:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM schedules WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            (text.lower(), f"{text.lower()}\U0010ffff", NAMED_CANDIDATES),
        ).fetchall()
    if not rows and text:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM schedules WHERE session = ? ORDER BY id LIMIT ?",
            (text, NAMED_CANDIDATES),
        ).fetchall()
    if not rows:
        raise schedule_not_found(text)
    if len(rows) > 1:
        raise schedule_ambiguous(text, [str(columns[0]) for columns in rows])
    return _row_of(rows[0])


def find_handled(connection: sqlite3.Connection, schedule_id: str, *, now: float) -> float | None:
    """Up to where slots are handled, as far as the clock has come; None: it is before all that.

    What was handled when a clock was ahead says nothing about today.
    """
    (found,) = connection.execute(
        "SELECT max(slot) FROM slots WHERE schedule_id = ? AND slot <= ?", (schedule_id, now)
    ).fetchone()
    return None if found is None else float(found)


def list_slots(connection: sqlite3.Connection, schedule_id: str, *, limit: int) -> list[SlotRow]:
    """What was done lately, the last first."""
    rows = connection.execute(
        f"SELECT {SLOT_COLUMNS} FROM slots WHERE schedule_id = ? AND state <> 'begun'"
        " ORDER BY number DESC LIMIT ?",
        (schedule_id, limit),
    )
    names = SLOT_COLUMNS.split(", ")
    return [SlotRow(**dict(zip(names, columns, strict=True))) for columns in rows.fetchall()]


def count_enabled(connection: sqlite3.Connection) -> int:
    """Schedules that are not paused."""
    (count,) = connection.execute(
        "SELECT count(*) FROM schedules WHERE paused_at IS NULL"
    ).fetchone()
    return int(count)


def _row_of(columns: Sequence[Any]) -> Schedule:
    values: dict[str, Any] = dict(zip(COLUMNS.split(", "), columns, strict=True))
    prompt = _read_prompt(values["prompt"])
    damaged = [name for name, (kinds, _) in KINDS.items() if not isinstance(values[name], kinds)]
    # Whoever put it there must be able to find it, and to take it away.
    values |= {name: KINDS[name][1] for name in damaged}
    if prompt is None:
        damaged.insert(0, "prompt")
        prompt = PromptAccepted(turn_id="", key="", items=())
    damage = f"It is damaged, and cannot be sent: {', '.join(damaged)}." if damaged else None
    return Schedule(**{**values, "prompt": prompt, "damage": damage})


def _read_prompt(text: object) -> PromptAccepted | None:
    """The prompt, or None: that is none."""
    try:
        prompt = decode_body(json.loads(text)) if isinstance(text, str) else None
    except (BadRecord, ValueError, RecursionError):
        return None
    return prompt if isinstance(prompt, PromptAccepted) else None
