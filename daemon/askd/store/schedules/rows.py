"""What the tables of schedules and slots can be asked to change.

A slot is handled once: a row says so, written in the transaction of the prompt that is sent for
it. That is why neither a crash nor a clock that was set back sends it twice. Old rows
leave, but for the last of each day, which tells how far slots were handled before a clock
was set.
"""

import sqlite3
from dataclasses import dataclass
from typing import Literal

from askd.core.events import Event, TurnFinished
from askd.core.schedules import WAITING_LIMIT, Schedule
from askd.errors import Busy, RequestError, StaleFence
from askd.store.batch import Change, Done
from askd.store.bodies import encode_text
from askd.store.log import Firing
from askd.store.refusals import schedule_not_found
from askd.store.schedules.queries import find_schedule

SCHEDULES_LIMIT = 200
"""All of them fit one answer, and are looked through whenever a slot has come."""
KEPT_SLOTS = 200
"""Of each schedule: what it did lately."""
ERA_S = 86_400.0
"""A row is not needed any more if slots were handled after it within this."""
ERROR_LENGTH = 1000
"""Characters of one error, as of a job's."""
DELETED = "Its conversation was deleted."


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A slot for which nothing was sent. `skipped`: how many, with those before it."""

    schedule_id: str
    slot: float
    state: Literal["skipped", "refused"]
    skipped: int = 0
    code: int | None = None
    error: str | None = None


def add_schedule(schedule: Schedule) -> Change[None]:
    """Keep a schedule, whose slots count from now on; raise `RequestError`."""
    prompt = encode_text(schedule.prompt)

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        (count,) = connection.execute("SELECT count(*) FROM schedules").fetchone()
        if count >= SCHEDULES_LIMIT:
            raise RequestError(f"There are {count} schedules already, and no more are kept.")
        if (
            schedule.name is not None
            and connection.execute(
                "SELECT 1 FROM schedules WHERE name = ?", (schedule.name,)
            ).fetchone()
        ):
            raise RequestError(
                f"There is a schedule with the name {schedule.name!r}. Choose another.",
                reason="name_taken",
            )
        connection.execute(
            "INSERT INTO schedules (id, name, cron, zone, missed, session, conversation_id,"
            " prompt, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                schedule.id,
                schedule.name,
                schedule.cron,
                schedule.zone,
                schedule.missed,
                schedule.session,
                schedule.conversation_id,
                prompt,
                at,
            ),
        )
        _begin(connection, schedule.id, at)
        return Done(None)

    return change


def remove_schedule(schedule_id: str) -> Change[None]:
    """Forget a schedule and its slots; what it has sent stays. Raises `NotFound`."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        found = find_schedule(connection, schedule_id)
        connection.execute("DELETE FROM schedules WHERE id = ?", (found.id,))
        return Done(None, forgets=True)

    return change


def pause_schedule(schedule_id: str, *, why: str | None = None) -> Change[None]:
    """Send nothing from now on; one that is paused stays as it is. Raises `NotFound`."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        found = find_schedule(connection, schedule_id)
        connection.execute(
            "UPDATE schedules SET paused_at = ?, paused_why = ? WHERE id = ? AND paused_at IS NULL",
            (at, why, found.id),
        )
        return Done(None)

    return change


def resume_schedule(schedule_id: str, *, conversation_id: str | None) -> Change[None]:
    """Go on with the next slot; what a pause passed over was not missed. Raises `NotFound`.

    `conversation_id`: of the conversation that is meant now; None: it is not there yet.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        found = find_schedule(connection, schedule_id)
        if found.paused_at is not None:
            connection.execute(
                "UPDATE schedules SET paused_at = NULL, paused_why = NULL, conversation_id = ?"
                " WHERE id = ?",
                (conversation_id, found.id),
            )
            _begin(connection, found.id, at)
        return Done(None)

    return change


def begin_slots(schedule_id: str, *, since: float) -> Change[None]:
    """Count slots from a moment on, behind which there was all that was handled before.

    It is the moment at which that was seen: the clock may have been set again since then, and what
    lies between is missed, not passed over.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        _begin(connection, find_schedule(connection, schedule_id).id, since)
        return Done(None)

    return change


def pass_slot(passed: Passed) -> Change[None]:
    """Handle a slot without a prompt; harmless for one that was handled meanwhile."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        error = None if passed.error is None else passed.error[:ERROR_LENGTH]
        connection.execute(
            "INSERT INTO slots (schedule_id, slot, state, skipped, code, error, at, finished_at)"
            " SELECT id, ?, ?, ?, ?, ?, ?, ? FROM schedules WHERE id = ?"
            " ON CONFLICT (schedule_id, slot) WHERE slot IS NOT NULL DO NOTHING",
            (
                passed.slot,
                passed.state,
                passed.skipped,
                passed.code,
                error,
                at,
                at,
                passed.schedule_id,
            ),
        )
        _drop_old(connection, passed.schedule_id)
        return Done(None)

    return change


# ---- in the transactions of the log --------------------------------------------------


def note_firing(
    connection: sqlite3.Connection, firing: Firing, conversation_id: str, turn_id: str, *, at: float
) -> None:
    """The prompt of a slot is accepted in this transaction.

    Raises:
        NotFound: the schedule was removed meanwhile.
        StaleFence: it was paused, or the slot is handled.
        Busy: too many of its prompts are not over.
    """
    found = connection.execute(
        "SELECT paused_at FROM schedules WHERE id = ?", (firing.schedule_id,)
    ).fetchone()
    if found is None:
        raise schedule_not_found(firing.schedule_id)
    if firing.slot is not None:
        if found[0] is not None:
            raise StaleFence("The schedule is paused.")
        if connection.execute(
            "SELECT 1 FROM slots WHERE schedule_id = ? AND slot = ?",
            (firing.schedule_id, firing.slot),
        ).fetchone():
            raise StaleFence("The schedule's slot is handled.")
    (waiting,) = connection.execute(
        "SELECT count(*) FROM slots JOIN open_turns USING (conversation_id, turn_id)"
        " WHERE schedule_id = ?",
        (firing.schedule_id,),
    ).fetchone()
    if waiting >= WAITING_LIMIT:
        raise Busy(f"{waiting} of its prompts are not over yet: this one is not sent.")
    connection.execute(
        "INSERT INTO slots (schedule_id, slot, state, skipped, conversation_id, turn_id, at)"
        " VALUES (?, ?, 'accepted', ?, ?, ?, ?)",
        (firing.schedule_id, firing.slot, firing.skipped, conversation_id, turn_id, at),
    )
    connection.execute(
        "UPDATE schedules SET conversation_id = ?"
        " WHERE id = ? AND session IS NOT NULL AND conversation_id IS NULL",
        (conversation_id, firing.schedule_id),
    )
    _drop_old(connection, firing.schedule_id)


def follow_firing(connection: sqlite3.Connection, event: Event) -> None:
    """Keep the slot of a turn true to its end, if it was sent for one."""
    match event.body:
        case TurnFinished() as end:
            error = None if end.message is None else end.message[:ERROR_LENGTH]
            connection.execute(
                "UPDATE slots SET state = ?, code = ?, error = ?, finished_at = ?"
                " WHERE turn_id = ? AND state = 'accepted'",
                (end.outcome, end.code, error, event.at, end.turn_id),
            )
        case _:
            pass


def leave_conversation(connection: sqlite3.Connection, conversation_id: str, *, at: float) -> None:
    """A conversation is deleted: what is sent to it is paused, and what was is forgotten."""
    connection.execute(
        "UPDATE schedules SET conversation_id = NULL, paused_why = CASE WHEN paused_at IS NULL"
        " THEN ? ELSE paused_why END, paused_at = coalesce(paused_at, ?) WHERE conversation_id = ?",
        (DELETED, at, conversation_id),
    )
    connection.execute(
        "UPDATE slots SET conversation_id = NULL, turn_id = NULL, error = NULL,"
        " state = CASE state WHEN 'accepted' THEN 'withdrawn' ELSE state END"
        " WHERE conversation_id = ?",
        (conversation_id,),
    )


def _begin(connection: sqlite3.Connection, schedule_id: str, at: float) -> None:
    connection.execute(
        "INSERT INTO slots (schedule_id, slot, state, at, finished_at) VALUES (?, ?, 'begun', ?, ?)"
        " ON CONFLICT (schedule_id, slot) WHERE slot IS NOT NULL DO NOTHING",
        (schedule_id, at, at, at),
    )


def _drop_old(connection: sqlite3.Connection, schedule_id: str) -> None:
    """Of a schedule's rows keep the last ones, those not over, and the last of each era."""
    connection.execute(
        "DELETE FROM slots WHERE schedule_id = :id AND state <> 'accepted' AND number <="
        " (SELECT number FROM slots WHERE schedule_id = :id ORDER BY number DESC"
        " LIMIT 1 OFFSET :kept)"
        " AND (slot IS NULL OR EXISTS (SELECT 1 FROM slots AS later"
        " WHERE later.schedule_id = :id AND later.slot > slots.slot"
        " AND later.slot <= slots.slot + :era))",
        {"id": schedule_id, "kept": KEPT_SLOTS, "era": ERA_S},
    )
