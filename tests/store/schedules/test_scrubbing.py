"""A secret leaves schedules with all the rest, and they go on with what is left."""

import sqlite3
from pathlib import Path

import pytest

from askd.core.items import Text
from askd.core.scrubbing import Scrub
from askd.store.batch import commit_batch
from askd.store.schedules import queries, rows
from askd.store.schedules.rows import Passed
from askd.store.scrub.replacing import count_rest, scrub_rest
from askd.store.scrub.texts import read_texts
from tests.fakes.schedules import make_prompt, make_schedule

SECRET = 'hunter22"ö'


@pytest.fixture
def schedules(connection: sqlite3.Connection) -> sqlite3.Connection:
    said = make_schedule("a", prompt=make_prompt(f"say {SECRET}", model=f"m/{SECRET}"))
    named = make_schedule("b", name=SECRET, session=f"about {SECRET}")
    passed = Passed(schedule_id="a", slot=60.0, state="refused", error=f"no {SECRET}")
    for change in (
        rows.add_schedule(said),
        rows.add_schedule(named),
        rows.add_schedule(make_schedule("c", name="[scrubbed]")),
        rows.pass_slot(passed),
    ):
        commit_batch(connection, [change], at=1.0)
    return connection


def test_it_is_found_and_counted_and_nothing_is_changed(schedules: sqlite3.Connection) -> None:
    before = list(schedules.iterdump())
    assert count_rest(schedules, Scrub([SECRET])) == 3
    assert list(schedules.iterdump()) == before
    texts = [text for page in read_texts(schedules, list[Path]()) for text in page]
    assert sum(SECRET in text for text in texts) == 5


def test_it_is_replaced(schedules: sqlite3.Connection) -> None:
    scrub = Scrub([SECRET])
    commit_batch(schedules, [scrub_rest(scrub)], at=2.0)
    assert count_rest(schedules, scrub) == 0
    assert not any("hunter22" in line for line in schedules.iterdump())
    first, second, third = queries.list_schedules(schedules)
    assert first.prompt.items[0].parts == (Text("say [scrubbed]"),)
    assert first.prompt.options.detach, "it is the prompt that it was"
    assert second.session == "about [scrubbed]"
    assert (second.name, third.name) == (None, "[scrubbed]"), "a name is one schedule's"


@pytest.mark.parametrize("prompt", [f"{{ {SECRET}", f"{SECRET}".encode()])
def test_what_is_damaged_is_cleaned_too(schedules: sqlite3.Connection, prompt: str | bytes) -> None:
    schedules.execute("UPDATE schedules SET prompt = ?, name = NULL WHERE id = 'a'", (prompt,))
    scrub = Scrub([SECRET])
    assert count_rest(schedules, scrub) == 3
    commit_batch(schedules, [scrub_rest(scrub)], at=2.0)
    assert count_rest(schedules, scrub) == 0
    assert not any("hunter22" in str(row) for row in schedules.execute("SELECT * FROM schedules"))
