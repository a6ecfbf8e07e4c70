"""The database and every file beside it, and what could not be reached is named."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from askd.core.scrubbing import Scrub
from askd.errors import RequestError, StorageFailed
from askd.store.batch import Done
from askd.store.scrub.scrubber import ERASE_TRIES, Places, Scrubber
from askd.store.writer import Writer
from tests.store.builders import Store, answer, create, finish, note, open_store, prompt

SECRET = "hunter22xyzzy"
SCRUB = Scrub([SECRET])


@pytest.fixture
def places(path: Path, tmp_path: Path) -> Places:
    """A home with the secret in every file."""
    data, state = path.parent, tmp_path / "state"
    rollouts, archive = data / "rollouts", data / "archive"
    for directory in (data, state, rollouts, archive):
        directory.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"type": "x", "text": SECRET}) + "\n"
    for each in (rollouts / "c.jsonl", rollouts / "lost.jsonl", archive / "old.jsonl"):
        each.write_text(line)
    for each in (state / "askd.log", state / "askd.log.1", state / "models.json"):
        each.write_text(SECRET)
    (data / "keys.json").write_text(SECRET)
    (data / "ask.db.backup-4").write_text("an older state")
    return Places(
        database=path,
        data=data,
        state=state,
        log_file=state / "askd.log",
        archive=archive,
        rollouts=rollouts,
        caches=[state / "models.json"],
    )


@asynccontextmanager
async def open_scrubber(places: Places) -> AsyncIterator[tuple[Store, Scrubber]]:
    async with open_store(places.database) as store:
        await store.writer.append(
            create("c", prompt("t", SECRET), answer("t", "x"), finish("t"), name="c")
        )
        await store.writer.append(create("d", note("nothing")))
        await store.writer.apply(_mirror)
        yield store, Scrubber(store.writer, places=lambda: places)


def _mirror(connection: sqlite3.Connection, at: float) -> Done[None]:
    connection.execute("INSERT INTO rollouts VALUES ('c', 'rollouts/c.jsonl', 4, 9)")
    return Done(None)


async def test_all_that_holds_it_is_found_and_nothing_changed(places: Places) -> None:
    before = (places.data / "keys.json").stat()
    async with open_scrubber(places) as (store, scrubber):
        found = await scrubber.find(SCRUB)
        assert [each.conversation_id for each in found.conversations] == ["c"]
        assert found.rows == 0
        assert sorted(each.name for each in found.files) == [
            "askd.log",
            "askd.log.1",
            "c.jsonl",
            "keys.json",
            "lost.jsonl",
            "models.json",
            "old.jsonl",
        ]
        assert SECRET in repr(await store.reader.load("c"))
    assert (places.data / "keys.json").stat().st_mtime_ns == before.st_mtime_ns


async def test_everything_is_scrubbed_but_what_has_to_hold_it(places: Places) -> None:
    async with open_scrubber(places) as (_, scrubber):
        done = await scrubber.scrub("c", SCRUB)
        assert done.occurrences == 1
        assert not (places.rollouts / "c.jsonl").exists(), "gone before anybody is told"
        cleaned = await scrubber.finish(SCRUB, backups=False)
        assert sorted(each.name for each in cleaned.files) == [
            "askd.log",
            "askd.log.1",
            "lost.jsonl",
            "models.json",
            "old.jsonl",
        ]
        assert [each.name for each in cleaned.left] == ["keys.json", "ask.db.backup-4"]
        assert (cleaned.backups, cleaned.is_erased) == ([], True)
    holding = [
        each.name
        for each in places.data.parent.rglob("*")
        if each.is_file() and SECRET.encode() in each.read_bytes()
    ]
    assert holding == ["keys.json"]
    assert (places.state / "askd.log").read_text() == "[scrubbed]***"
    assert json.loads((places.archive / "old.jsonl").read_text())["text"] == "[scrubbed]"
    assert not (places.state / "models.json").exists()


async def test_what_others_appended_to_a_rollout_is_masked_in_place(places: Places) -> None:
    async with open_scrubber(places) as (_, scrubber):
        size = (places.rollouts / "c.jsonl").stat().st_size
        await scrubber.finish(SCRUB, backups=False)
        text = (places.rollouts / "c.jsonl").read_text()
        assert len(text) == size
        assert json.loads(text) == {"type": "x", "text": "[scrubbed]***"}


async def test_copies_of_the_database_go_if_they_are_meant(places: Places) -> None:
    async with open_scrubber(places) as (_, scrubber):
        cleaned = await scrubber.finish(SCRUB, backups=True)
        assert [each.name for each in cleaned.backups] == ["ask.db.backup-4"]
        assert not (places.data / "ask.db.backup-4").exists()
        assert [each.name for each in cleaned.left] == ["keys.json"]


async def test_an_expression_is_looked_for_in_files_too(places: Places) -> None:
    async with open_scrubber(places) as (_, scrubber):
        (places.state / "askd.log").write_text("only here: hunter99\n")
        found = await scrubber.find_texts(r"hunter\w+", allow_short=False)
        assert sorted(found) == ["hunter22xyzzy", "hunter99"]
        with pytest.raises(RequestError):
            await scrubber.find_texts("(", allow_short=False)


async def test_a_log_of_changes_that_somebody_reads_is_said(
    places: Places, autojump_clock: trio.testing.MockClock
) -> None:
    class Held(Writer):
        """A writer whose log of changes is never free."""

        tries = 0

        async def erase(self) -> bool:
            self.tries += 1
            return False

    held = Held(places.database, observe=print, now=lambda: 1.0, boot_id="b")
    async with trio.open_nursery() as nursery:
        await nursery.start(held.run)
        scrubber = Scrubber(held, places=lambda: places)
        cleaned = await scrubber.finish(SCRUB, backups=False)
        assert (cleaned.is_erased, held.tries) == (False, ERASE_TRIES)
        await held.close()


async def test_a_database_that_cannot_be_read(places: Places) -> None:
    async with open_scrubber(places) as (store, _):
        nowhere = replace(places, database=places.data / "none" / "ask.db")
        scrubber = Scrubber(store.writer, places=lambda: nowhere)
        with pytest.raises(StorageFailed):
            await scrubber.find(SCRUB)
