"""Pages of a log whose records, or whose pages in the file, are damaged."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from askd.core.events import Event, Titled, Unreadable
from askd.errors import StorageFailed
from askd.store.database import open_readonly
from askd.store.event_pages import EventsRead, read_page
from askd.store.queries import Reader
from tests.store.builders import add, create, note, open_store, seqs

LAST = 30


async def write_log(path: Path, size: int = 10) -> None:
    """Conversation `c` with thirty events, and `d` beside it."""
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        for number in range(2, LAST + 1):
            await store.writer.append(add("c", note("x" * size, id=f"n{number}")))
        await store.writer.append(create("d", Titled("whole")))


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql, values)


def read(path: Path, id: str = "c", *, after_seq: int = 0, limit: int = -1) -> EventsRead:
    with closing(open_readonly(path)) as connection:
        page = read_page(connection, id, after_seq=after_seq, limit=limit, limit_bytes=-1)
        assert not connection.in_transaction
        return page


def find_bad(events: list[Event]) -> list[int]:
    return [event.seq for event in events if isinstance(event.body, Unreadable)]


async def test_a_healthy_log_is_read_as_it_is(path: Path) -> None:
    await write_log(path)
    page = read(path)
    assert (seqs(page.events), page.lost, page.faults) == (list(range(1, LAST + 1)), [], [])
    assert not page.more
    assert read(path, "nobody").events == []
    assert read(path, after_seq=LAST).events == []
    assert read(path, after_seq=99).events == []


@pytest.mark.parametrize(
    "setting",
    [
        "body = '{'",
        "body = x'00ff'",
        "body = CAST(x'7b22ff227d' AS TEXT)",
        "body = 7",
        "body = ''",
        "at = x'00'",
        "at = 'noon'",
        "at = 9e999",
        "at = 1e300",
        "version = x'01'",
        "version = 'one'",
        "version = 4611686018427387904",
        "type = x'ff'",
        "type = 'titled'",
        "type = CAST(x'6974656dff' AS TEXT)",
        "seq = 'five'",
        "seq = x'05'",
        "seq = 5.5",
        "seq = 4611686018427387904",
    ],
)
async def test_one_bad_record_stands_in_its_place(path: Path, setting: str) -> None:
    await write_log(path)
    change(path, f"UPDATE events SET {setting} WHERE conversation_id = 'c' AND seq = 5")
    page = read(path)
    assert seqs(page.events) == list(range(1, LAST + 1))
    assert (find_bad(page.events), page.lost) == ([5], [])
    assert len(page.faults) == 1
    assert page.faults[0].startswith("seq 5 (")
    assert all(event.at >= 1000 for event in page.events), "a time for each"
    for after_seq in range(LAST):
        part = read(path, after_seq=after_seq, limit=1)
        assert part.events == page.events[after_seq : after_seq + 1]
        assert part.more == (after_seq < LAST - 1)
    # Whoever loads the whole log gets it: one bad record refuses no conversation.
    with closing(Reader(path)) as reader:
        assert await reader.load("c") == page.events
        survey = await reader.count_unreadable()
    assert (survey.records, survey.unreadable, survey.lost) == (LAST + 2, 1, 0)
    assert survey.complete


async def test_records_without_a_number_take_those_that_are_missing(path: Path) -> None:
    await write_log(path)
    change(path, "UPDATE events SET seq = 'b' WHERE conversation_id = 'c' AND seq = 7")
    change(path, "UPDATE events SET seq = 'a' WHERE conversation_id = 'c' AND seq = 3")
    page = read(path)
    assert (find_bad(page.events), page.lost) == ([3, 7], [])
    third, seventh = page.events[2].body, page.events[6].body
    assert isinstance(third, Unreadable)
    assert isinstance(seventh, Unreadable)
    assert "n3" in (third.text or "")
    assert "n7" in (seventh.text or "")
    assert read(path, after_seq=5, limit=3).events == page.events[5:8]


@pytest.mark.parametrize("gone", [(1,), (5,), (LAST,), (4, 5, 6)])
async def test_what_is_gone_is_said_and_nothing_is_loaded(
    path: Path, gone: tuple[int, ...]
) -> None:
    await write_log(path)
    for seq in gone:
        change(path, "DELETE FROM events WHERE conversation_id = 'c' AND seq = ?", seq)
    page = read(path)
    assert seqs(page.events) == list(range(1, LAST + 1)), "each has something in its place"
    assert (page.lost, find_bad(page.events)) == (list(gone), list(gone))
    with closing(Reader(path)) as reader:
        with pytest.raises(StorageFailed, match="ask doctor --rebuild") as caught:
            await reader.load("c")
        assert caught.value.reason == "log_not_whole"
        events, _ = await reader.read_events("c", after_seq=0, limit=-1, limit_bytes=-1, holes=True)
        assert events == page.events
        assert len(await reader.load("d")) == 2
        survey = await reader.count_unreadable()
    assert (survey.unreadable, survey.lost, survey.conversations) == (0, len(gone), 1)


def find_pages(path: Path, mark: bytes) -> list[int]:
    """The pages of the file that hold this."""
    content = path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    return [n for n in range(len(content) // size) if mark in content[n * size : (n + 1) * size]]


def overwrite(path: Path, page: int, with_what: Callable[[bytes], bytes]) -> None:
    with path.open("r+b") as file:
        content = file.read()
        size = int.from_bytes(content[16:18], "big")
        file.seek(page * size)
        file.write(with_what(content[page * size : (page + 1) * size]))


@pytest.mark.parametrize(
    "damage",
    [
        lambda page: b"\xde\xad" * (len(page) // 2),
        lambda page: bytes(len(page)),
        lambda page: b"\xde\xad" + page[2:],
    ],
    ids=["garbage", "zeroes", "its beginning"],
)
@pytest.mark.parametrize("number", [12, 16, 20])
async def test_a_damaged_page_takes_no_more_than_itself(
    path: Path, damage: Callable[[bytes], bytes], number: int
) -> None:
    await write_log(path, size=1500)
    pages = find_pages(path, b'"id":"n%d"' % number)
    assert pages
    overwrite(path, pages[0], damage)
    page = read(path)
    assert seqs(page.events) == list(range(1, LAST + 1))
    assert number in page.lost
    assert len(page.lost) < 12
    assert find_bad(page.events) == page.lost
    pieces = [read(path, after_seq=after, limit=1).events[0] for after in range(LAST)]
    assert [each.body for each in pieces] == [each.body for each in page.events]
    assert read(path, "d").lost == []
    with closing(Reader(path)) as reader:
        with pytest.raises(StorageFailed, match="cannot be read"):
            await reader.load("c")
        survey = await reader.count_unreadable()
        assert (survey.lost, survey.complete) == (len(page.lost), True)
