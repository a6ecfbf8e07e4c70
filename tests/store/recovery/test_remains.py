"""What is left of a database is read, from both ends of what is broken."""

from pathlib import Path

from askd.store.recovery.remains import Remains
from tests.store.builders import add, create, note, open_store
from tests.store.recovery import ruins


async def test_all_of_a_whole_database(path: Path) -> None:
    await ruins.build(path)
    remains = Remains(path)
    assert remains.find_conversations() == set(ruins.ALL)
    rows = remains.read_rows(ruins.WORK)
    assert sorted(rows) == list(range(1, len(rows) + 1))
    assert rows[1].kind == "conversation_created"
    assert remains.read_blob(ruins.LONG_ID) == ruins.LONG
    assert remains.read_blob("none") is None
    assert len(remains.read_table("keys", ("key",), order="key")) == 5
    assert (remains.faults, remains.trouble) == (0, None)
    remains.close()
    remains.close()
    assert remains.find_conversations() == set()


async def test_events_without_a_row_are_found_too(path: Path) -> None:
    await ruins.build(path)
    ruins.change(path, "DELETE FROM conversations")
    remains = Remains(path)
    assert remains.find_conversations() == set(ruins.ALL)
    remains.close()


async def test_reading_goes_on_from_the_other_end(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        for number in range(60):
            await store.writer.append(add("c", note("x" * 900, f"n{number}")))
    content = bytearray(ruins.read(path))
    middle = content.index(b"n30")
    page = middle // 4096 * 4096
    content[page : page + 4096] = b"\x00" * 4096
    ruins.write(path, content)
    remains = Remains(path)
    rows = remains.read_rows("c")
    remains.close()
    assert remains.faults >= 1
    assert {1, 2, 60, 61} <= set(rows)
    assert 32 not in rows
    assert len(rows) > 50


async def test_a_record_that_is_no_record_is_passed_over_or_kept_as_bytes(path: Path) -> None:
    await ruins.build(path)
    ruins.change(path, "UPDATE events SET body = CAST(x'ff00' AS TEXT), at = 'x' WHERE seq = 3")
    remains = Remains(path)
    row = remains.read_rows(ruins.WORK)[3]
    remains.close()
    assert (row.text, row.at) == (b"\xff\x00", 0.0)


def test_nothing_is_left_of_what_is_not_there(tmp_path: Path) -> None:
    for content in (None, b"", b"no database"):
        path = tmp_path / "ask.db"
        if content is not None:
            path.write_bytes(content)
        remains = Remains(path)
        assert remains.find_conversations() == set()
        assert remains.read_rows("c") == {}
        assert remains.read_table("jobs", ("id",), order="id") == []
        assert (remains.trouble is None) == (not content)
        remains.close()
        assert not path.with_name("ask.db-wal").exists()


def test_an_older_schema_lacks_tables_and_that_is_no_fault(path: Path) -> None:
    path.parent.mkdir()
    ruins.change(path, "CREATE TABLE conversations (id TEXT)")
    remains = Remains(path)
    assert remains.find_conversations() == set()
    assert remains.read_table("usage", ("at",), order="at") == []
    assert remains.faults == 0
    remains.close()
