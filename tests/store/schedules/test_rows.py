"""Schedules and slots: a slot is handled once, in the transaction of its prompt, or not at all."""

import sqlite3
from typing import Any

import pytest

from askd.core.events import Body, PromptAccepted, TurnFinished, TurnStarted
from askd.core.items import Text, UserMessage
from askd.core.schedules import WAITING_LIMIT
from askd.errors import Busy, NotFound, RequestError, StaleFence
from askd.store import changes
from askd.store.batch import Change, Done, commit_batch
from askd.store.log import Firing, Write
from askd.store.schedules import queries, rows
from askd.store.schedules.rows import DELETED, ERA_S, KEPT_SLOTS, SCHEDULES_LIMIT, Passed
from tests.fakes.schedules import make_schedule
from tests.store.builders import create, key

ID = "s" * 8


def do(connection: sqlite3.Connection, change: Change[Any], *, at: float = 10.0) -> Any:
    (outcome,) = commit_batch(connection, [change], at=at)
    if isinstance(outcome, Done):
        return outcome.value
    raise outcome


@pytest.fixture
def schedules(connection: sqlite3.Connection) -> sqlite3.Connection:
    do(connection, changes.append(create("c")), at=1.0)
    do(connection, rows.add_schedule(make_schedule(ID)), at=10.0)
    return connection


def fire(
    connection: sqlite3.Connection,
    slot: float | None,
    *,
    turn: str = "t",
    skipped: int = 0,
    at: float = 100.0,
) -> Any:
    """The prompt of a slot is accepted, as the turn `turn`."""
    accepted = PromptAccepted(turn, turn, (UserMessage(f"{turn}.0", (Text("hi"),)),))
    firing = Firing(schedule_id=ID, slot=slot, skipped=skipped)
    write = Write(conversation_id="c", bodies=[accepted], key=key(turn, turn), firing=firing)
    return do(connection, changes.append(write), at=at)


def end(connection: sqlite3.Connection, turn: str = "t", outcome: str = "completed") -> None:
    bodies: list[Body] = [TurnStarted(turn, 1), TurnFinished(turn, outcome, 0)]  # type: ignore[arg-type]
    do(connection, changes.append(Write(conversation_id="c", bodies=bodies)), at=200.0)


def slots(connection: sqlite3.Connection) -> list[tuple[float | None, str]]:
    found = queries.list_slots(connection, ID, limit=1000)
    return [(each.slot, each.state) for each in found][::-1]


def count_events(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


def test_a_prompt_and_its_slot_are_one_transaction(schedules: sqlite3.Connection) -> None:
    fire(schedules, 60.0, skipped=3)
    (row,) = queries.list_slots(schedules, ID, limit=9)
    assert (row.slot, row.state, row.skipped, row.turn_id) == (60.0, "accepted", 3, "t")
    assert queries.find_schedule(schedules, ID).conversation_id == "c", "it is known from now on"
    end(schedules)
    (row,) = queries.list_slots(schedules, ID, limit=9)
    assert (row.state, row.code, row.finished_at) == ("completed", 0, 200.0)


def test_a_slot_that_is_handled_takes_no_prompt(schedules: sqlite3.Connection) -> None:
    fire(schedules, 60.0)
    before = count_events(schedules)
    with pytest.raises(StaleFence):
        fire(schedules, 60.0, turn="t2")
    assert count_events(schedules) == before, "all of it, or nothing"
    assert slots(schedules) == [(60.0, "accepted")]


def test_a_schedule_that_is_paused_or_gone_takes_no_prompt(schedules: sqlite3.Connection) -> None:
    do(schedules, rows.pause_schedule(ID))
    before = count_events(schedules)
    with pytest.raises(StaleFence):
        fire(schedules, 60.0)
    fire(schedules, None, turn="by hand")  # whoever asks for it gets it
    do(schedules, rows.remove_schedule(ID))
    with pytest.raises(NotFound):
        fire(schedules, 120.0, turn="t2")
    assert count_events(schedules) == before + 1


def test_the_prompt_of_one_that_is_gone_is_to_leave_the_log(schedules: sqlite3.Connection) -> None:
    assert not rows.pause_schedule(ID)(schedules, 1.0).forgets
    assert rows.remove_schedule(ID)(schedules, 1.0).forgets


def test_prompts_that_are_not_over_are_limited(schedules: sqlite3.Connection) -> None:
    for number in range(WAITING_LIMIT):
        fire(schedules, 60.0 * (number + 1), turn=f"t{number}")
    with pytest.raises(Busy):
        fire(schedules, 9000.0, turn="more")
    end(schedules, "t0")
    fire(schedules, 9000.0, turn="more")


def test_what_is_passed_over_is_handled_once(schedules: sqlite3.Connection) -> None:
    passed = Passed(schedule_id=ID, slot=60.0, state="refused", code=4, error="x" * 5000)
    do(schedules, rows.pass_slot(passed))
    do(schedules, rows.pass_slot(passed))
    (row,) = queries.list_slots(schedules, ID, limit=9)
    assert (row.state, row.code, len(row.error or "")) == ("refused", 4, rows.ERROR_LENGTH)
    do(schedules, rows.pass_slot(Passed(schedule_id="gone", slot=1.0, state="skipped")))
    assert slots(schedules) == [(60.0, "refused")]


def test_slots_are_handled_up_to_the_last_one_that_is_not_ahead(
    schedules: sqlite3.Connection,
) -> None:
    def handled(now: float) -> float | None:
        return queries.find_handled(schedules, ID, now=now)

    assert handled(10.0) == 10.0, "since it was added"
    fire(schedules, 60.0)
    fire(schedules, 9e8, turn="far")
    assert (handled(9.0), handled(59.0), handled(61.0), handled(1e9)) == (None, 10.0, 60.0, 9e8)
    do(schedules, rows.begin_slots(ID, since=5.0), at=70.0)
    assert handled(9.0) == 5.0


def test_pausing_and_resuming(schedules: sqlite3.Connection) -> None:
    do(schedules, rows.pause_schedule(ID, why="Because."), at=20.0)
    do(schedules, rows.pause_schedule(ID), at=30.0)
    found = queries.find_schedule(schedules, ID)
    assert (found.paused_at, found.paused_why) == (20.0, "Because.")
    assert queries.count_enabled(schedules) == 0
    for _ in range(2):
        do(schedules, rows.resume_schedule(ID, conversation_id="c"), at=300.0)
    found = queries.find_schedule(schedules, ID)
    assert (found.paused_at, found.paused_why, found.conversation_id) == (None, None, "c")
    assert queries.count_enabled(schedules) == 1
    assert queries.find_handled(schedules, ID, now=400.0) == 300.0, "a pause misses nothing"


def test_a_deleted_conversation_pauses_what_is_sent_to_it(schedules: sqlite3.Connection) -> None:
    fire(schedules, 60.0)
    do(schedules, changes.delete("c"), at=99.0)
    found = queries.find_schedule(schedules, ID)
    assert (found.paused_at, found.paused_why) == (99.0, DELETED)
    assert (found.conversation_id, found.session) == (None, "work")
    (row,) = queries.list_slots(schedules, ID, limit=9)
    assert (row.state, row.conversation_id, row.turn_id) == ("withdrawn", None, None)


def test_one_that_was_paused_keeps_its_reason(schedules: sqlite3.Connection) -> None:
    fire(schedules, 60.0)
    do(schedules, rows.pause_schedule(ID), at=20.0)
    do(schedules, changes.delete("c"), at=99.0)
    found = queries.find_schedule(schedules, ID)
    assert (found.paused_at, found.paused_why, found.conversation_id) == (20.0, None, None)


def test_a_name_is_one_schedules_and_their_number_is_limited(
    connection: sqlite3.Connection,
) -> None:
    do(connection, rows.add_schedule(make_schedule("a", name="one")))
    with pytest.raises(RequestError) as caught:
        do(connection, rows.add_schedule(make_schedule("b", name="one")))
    assert caught.value.reason == "name_taken"
    for number in range(SCHEDULES_LIMIT - 1):
        do(connection, rows.add_schedule(make_schedule(f"n{number}")))
    with pytest.raises(RequestError, match="200 schedules already"):
        do(connection, rows.add_schedule(make_schedule("more")))


def test_old_rows_leave_but_for_the_last_of_each_day(schedules: sqlite3.Connection) -> None:
    early = 60.0
    do(schedules, rows.pass_slot(Passed(schedule_id=ID, slot=early, state="skipped")))
    fire(schedules, 120.0, turn="open")
    later = [1e9 + 60.0 * number for number in range(KEPT_SLOTS + 50)]
    assert later[0] - early > ERA_S
    for slot in later:
        do(schedules, rows.pass_slot(Passed(schedule_id=ID, slot=slot, state="skipped")))
    left = [slot for slot, _ in slots(schedules)]
    assert left == [120.0, *later[-KEPT_SLOTS:]], "and those that are not over"
    assert queries.find_handled(schedules, ID, now=9e8) == 120.0
