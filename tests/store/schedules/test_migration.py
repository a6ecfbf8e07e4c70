"""The tables of schedules: what they refuse, and that they come to a database that has none."""

import sqlite3

import pytest

from askd.store.migrations import MIGRATIONS
from askd.store.schedules.migration import TABLES

ADD = (
    "INSERT INTO schedules (id, name, cron, zone, missed, prompt, created_at)"
    " VALUES (?, ?, '* * * * *', 'UTC', ?, '{}', 1.0)"
)
SLOT = "INSERT INTO slots (schedule_id, slot, state, at) VALUES (?, ?, ?, 1.0)"


def test_it_is_the_tenth_step() -> None:
    assert [(each.number, each.name) for each in MIGRATIONS if each.step == TABLES] == [
        (10, "schedules")
    ]


def test_what_makes_no_sense_is_refused(connection: sqlite3.Connection) -> None:
    connection.execute(ADD, ("s", "one", "once"))
    for row in (("s", None, "once"), ("t", "one", "once"), ("t", None, "never")):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(ADD, row)
    connection.execute(SLOT, ("s", 60.0, "accepted"))
    for slot in (("s", 60.0, "skipped"), ("nobody", 60.0, "skipped"), ("s", 61.0, "odd")):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(SLOT, slot)
    for _ in range(2):
        connection.execute(SLOT, ("s", None, "accepted"))  # by hand, as often as one likes


def test_slots_go_with_their_schedule(connection: sqlite3.Connection) -> None:
    connection.execute(ADD, ("s", None, "once"))
    connection.execute(SLOT, ("s", 60.0, "accepted"))
    connection.execute("DELETE FROM schedules")
    assert connection.execute("SELECT count(*) FROM slots").fetchone() == (0,)
