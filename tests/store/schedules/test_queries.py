"""Schedules are found by id, name or the beginning of an id; one bad row costs no other."""

import sqlite3
from dataclasses import replace

import pytest

from askd.errors import NotFound
from askd.store.batch import commit_batch
from askd.store.schedules import queries, rows
from tests.fakes.schedules import make_schedule


@pytest.fixture
def schedules(connection: sqlite3.Connection) -> sqlite3.Connection:
    for at, (id, name) in enumerate((("aaaa-1", None), ("aaaa-2", "aaaa"), ("bbbb-3", "b"))):
        commit_batch(connection, [rows.add_schedule(make_schedule(id, name=name))], at=float(at))
    return connection


@pytest.mark.parametrize(
    ("text", "id"), [("aaaa-1", "aaaa-1"), ("aaaa", "aaaa-2"), ("b", "bbbb-3"), ("BBBB", "bbbb-3")]
)
def test_one_is_found(schedules: sqlite3.Connection, text: str, id: str) -> None:
    assert queries.find_schedule(schedules, text).id == id


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("zzzz", "schedule_not_found"),
        ("bbb", "schedule_not_found"),
        ("", "schedule_not_found"),
        ("aaaa-", "schedule_ambiguous"),
    ],
)
def test_none_or_several_are_refused(schedules: sqlite3.Connection, text: str, reason: str) -> None:
    with pytest.raises(NotFound) as caught:
        queries.find_schedule(schedules, text)
    assert caught.value.reason == reason


def test_one_is_found_by_the_conversation_that_it_prompts(schedules: sqlite3.Connection) -> None:
    for id, session in (
        ("cccc-4", "morning"),
        ("cccc-5", "b"),
        ("cccc-6", "two"),
        ("dddd-7", "two"),
    ):
        added = replace(make_schedule(id), session=session)
        commit_batch(schedules, [rows.add_schedule(added)], at=9.0)
    assert queries.find_schedule(schedules, "morning").id == "cccc-4"
    assert queries.find_schedule(schedules, "b").id == "bbbb-3"  # a name comes first
    with pytest.raises(NotFound) as caught:
        queries.find_schedule(schedules, "two")
    assert caught.value.data == {"candidates": ["cccc-6", "dddd-7"]}


def test_what_was_added_is_read_as_it_was(schedules: sqlite3.Connection) -> None:
    found = queries.list_schedules(schedules)
    assert [each.id for each in found] == ["aaaa-1", "aaaa-2", "bbbb-3"]
    assert found[0] == make_schedule("aaaa-1")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("prompt", each) for each in ("{", "[]", '{"type":"titled","title":"x"}', "[" * 9999)),
        ("prompt", b"{}"),
        ("cron", b"* * * * *"),
        ("zone", b"\xff"),
        ("created_at", "yesterday"),
        ("session", b"work"),
    ],
)
def test_a_damaged_row_costs_no_other_and_can_be_found_and_removed(
    schedules: sqlite3.Connection, column: str, value: object
) -> None:
    schedules.execute(f"UPDATE schedules SET {column} = ? WHERE id = 'aaaa-1'", (value,))
    found = {each.id: each for each in queries.list_schedules(schedules)}
    said = f"It is damaged, and cannot be sent: {column}."
    assert {id: each.damage for id, each in found.items()} == {
        "aaaa-1": said,
        "aaaa-2": None,
        "bbbb-3": None,
    }
    assert queries.find_schedule(schedules, "aaaa-1") == found["aaaa-1"]
    commit_batch(schedules, [rows.remove_schedule("aaaa-1")], at=9.0)
    assert len(queries.list_schedules(schedules)) == 2
