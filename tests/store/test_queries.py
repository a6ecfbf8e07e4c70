"""Reads: by id, name and prefix, in pages, and whatever a record has become."""

import logging
import sqlite3
from pathlib import Path

import pytest
import trio

from askd.core.events import Titled, Unreadable
from askd.errors import NotFound, RequestError, StorageFailed
from askd.store.log import Partial, Write
from askd.store.queries import Reader
from tests.store.builders import (
    Store,
    add,
    answer,
    create,
    finish,
    job,
    key,
    note,
    open_store,
    prompt,
    seqs,
)

A = "aaaa1111-0000-4000-8000-000000000001"
B = "aaaa1111-0000-4000-8000-000000000002"
C = "cccc3333-0000-4000-8000-000000000003"


async def fill(store: Store) -> None:
    await store.writer.append(create(A, name="work"))
    await store.writer.append(create(B))
    await store.writer.append(create(C, name="aaaa"))


def test_a_page_is_a_range_of_the_index(connection: sqlite3.Connection) -> None:
    plan = connection.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM conversations WHERE (updated_at, id) < (?, ?)"
        " ORDER BY updated_at DESC, id DESC LIMIT 3",
        (1.0, "x"),
    ).fetchall()
    assert len(plan) == 1, "no sorting"
    assert "SEARCH" in plan[0][3]


async def test_rows_terminals_keys(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        assert await store.reader.get("nope") is None
        row = await store.reader.get(A)
        assert row is not None
        assert (row.id, row.name, row.last_seq) == (A, "work", 1)
        write = Write(conversation_id=A, bodies=[prompt("t")], key=key("k", "t"), terminal="tty-1")
        await store.writer.append(write)
        bound = await store.reader.find_terminal("tty-1")
        assert bound is not None
        assert bound.id == A
        assert await store.reader.find_terminal("tty-2") is None
        known = await store.reader.find_key("k")
        assert known is not None
        assert (known.conversation_id, known.turn_id, known.seq) == (A, "t", 2)
        assert await store.reader.find_key("l") is None


async def test_the_list_is_stable_while_it_grows(path: Path) -> None:
    async with open_store(path) as store:
        for number in range(7):
            store.clock.at = 100.0 + number // 2  # some at the same time
            await store.writer.append(create(f"c{number}"))
        first = await store.reader.list_conversations(cursor=None, limit=3)
        assert [row.id for row in first.rows] == ["c6", "c5", "c4"]
        assert first.total == 7
        store.clock.at = 200.0
        await store.writer.append(create("new"))
        second = await store.reader.list_conversations(cursor=first.next_cursor, limit=3)
        assert [row.id for row in second.rows] == ["c3", "c2", "c1"]
        third = await store.reader.list_conversations(cursor=second.next_cursor, limit=3)
        assert [row.id for row in third.rows] == ["c0"]
        assert third.next_cursor is None
        with pytest.raises(RequestError):
            await store.reader.list_conversations(cursor="nonsense", limit=3)


async def test_events_come_in_pages_bounded_by_number_and_by_size(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", *[note("x" * 1000) for _ in range(9)]))
        reader = store.reader

        async def page(after_seq: int, limit: int, limit_bytes: int) -> tuple[list[int], bool]:
            events, more = await reader.read_events(
                "c", after_seq=after_seq, limit=limit, limit_bytes=limit_bytes
            )
            return seqs(events), more

        assert await page(0, 4, 10**6) == ([1, 2, 3, 4], True)
        assert await page(4, 6, 10**6) == ([5, 6, 7, 8, 9, 10], False)
        assert await page(10, 6, 10**6) == ([], False)
        assert await page(1, 9, 2500) == ([2, 3], True)
        assert await page(1, 9, 1) == ([2], True), "one always comes"
        assert await page(9, 9, 1) == ([10], False)
        assert seqs(await reader.load("c")) == list(range(1, 11))
        assert await reader.load("nope") == []


async def test_unfinished_turns_and_partials(path: Path) -> None:
    async with open_store(path) as store:
        for id in ("c", "d", "e"):
            await store.writer.append(create(id, prompt("t"), prompt("u")))
        await store.writer.append(add("c", finish("t"), finish("u")))
        await store.writer.append(add("d", finish("t")))
        assert await store.reader.unfinished() == ["d", "e"]
        store.writer.save_partial(Partial("d", "u", "u.1", "text", "so far"))
        await store.writer.flush()
        assert await store.reader.partials("d") == [Partial("d", "u", "u.1", "text", "so far")]
        assert await store.reader.partials("e") == []


async def test_jobs_are_read(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        await store.writer.append(Write(conversation_id="c", bodies=[], jobs=[job("j")]))
        assert await store.reader.count_open_jobs() == 1
        assert await store.reader.count_jobs() == [("title", "available", 1)]
        page = await store.reader.jobs(cursor=None, limit=5)
        assert page.rows == await store.reader.find_jobs(["j"])
        with pytest.raises(NotFound):
            await store.reader.find_jobs(["k"])


async def test_a_bad_record_does_not_cost_the_conversation(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", Titled("a"), Titled("b"), Titled("c")))
        damaged = sqlite3.connect(path, isolation_level=None)
        damaged.execute("""UPDATE events SET body = '{"type": "titled"' WHERE seq = 2""")
        damaged.execute("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 3")
        damaged.close()
        with caplog.at_level(logging.WARNING):
            events = await store.reader.load("c")
            assert events == await store.reader.load("c")
        assert seqs(events) == [1, 2, 3, 4]
        assert [type(event.body) for event in events[1:]] == [Unreadable, Unreadable, Titled]
        assert events[3].body == Titled("c")
        assert len(caplog.records) == 1, "once, not at every read"
        assert "passed over: id=c, count=2" in caplog.text
        assert "seq 2 (titled)" in caplog.text


async def test_a_reader_without_a_database_is_a_sentence(path: Path) -> None:
    reader = Reader(path)
    with pytest.raises(StorageFailed, match="cannot be opened"):
        await reader.get("c")
    reader.close()


async def test_a_file_that_is_no_database_is_a_sentence(path: Path) -> None:
    await trio.Path(path.parent).mkdir()
    await trio.Path(path).write_bytes(b"not a database at all" * 100)
    reader = Reader(path)
    with pytest.raises(StorageFailed, match="damaged"):
        await reader.get("c")
    reader.close()


async def test_a_refusal_costs_no_connection(path: Path) -> None:
    async with open_store(path) as store:
        for _ in range(3):
            with pytest.raises(NotFound):
                await store.reader.read_blob("nope")
        await store.writer.append(create("c", prompt("t"), answer("t")))
        assert len(await store.reader.load("c")) == 3


async def test_a_closed_reader_keeps_nothing_open(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        store.reader.close()
        assert await store.reader.get("c") is not None
        # SQLite removes the log when the last connection closes: the writer's, below.
    assert not await trio.Path(f"{path}-wal").exists()
