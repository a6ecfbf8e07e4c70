"""The look through all events: bounded, and true about how far it came."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askd.core.events import Titled
from askd.store import surveys
from askd.store.database import open_readonly
from askd.store.surveys import NAMED, START, Place, Survey, look_on
from tests.store.builders import create, open_store


async def write(path: Path, conversations: int) -> None:
    async with open_store(path) as store:
        for number in range(conversations):
            await store.writer.append(create(f"c{number:03}", *[Titled("x")] * 3))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET body = '{' WHERE seq IN (2, 4)")


async def test_all_are_counted_and_the_first_are_named(path: Path) -> None:
    await write(path, NAMED + 3)
    async with open_store(path) as store:
        survey = await store.reader.count_unreadable()
    assert survey.complete
    assert (survey.records, survey.unreadable, survey.lost) == (4 * 23, 2 * 23, 0)
    assert survey.conversations == NAMED + 3
    assert [each.conversation_id for each in survey.damaged] == [f"c{n:03}" for n in range(NAMED)]
    assert {each.unreadable for each in survey.damaged} == {2}
    assert survey.damaged[0].first.startswith("seq 2 (titled): Expecting")


async def test_part_by_part_says_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(path, 3)
    whole = Survey()
    parts = Survey()
    with closing(open_readonly(path)) as connection:
        place: Place | None = START
        while place is not None:
            place = look_on(whole, place, connection)
        monkeypatch.setattr(surveys, "PART_EVENTS", 1)
        place, steps = START, 0
        while place is not None:
            place = look_on(parts, place, connection)
            steps += 1
    assert steps == 3 * 4 + 1
    assert parts == whole


async def test_it_stops_in_time_and_says_so(path: Path) -> None:
    await write(path, 2)
    async with open_store(path) as store:
        survey = await store.reader.count_unreadable(limit_s=0.0)
    assert (survey.records, survey.complete) == (0, False)


async def test_nothing_stored_is_nothing_found(path: Path) -> None:
    async with open_store(path) as store:
        assert await store.reader.count_unreadable() == Survey(complete=True)
