"""A database made anew holds what the lost one held; what nobody has is said."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askd.errors import NewerSchema, StorageFailed
from askd.store.digests import ANY_DIGEST
from askd.store.log import Write
from askd.store.migrations import MIGRATIONS, split_statements
from askd.store.recovery.rebuild import Rebuilt, rebuild
from tests.store.builders import create, key, note, open_store, prompt
from tests.store.recovery import ruins

LEAF = 0x0A
"""A page with rows of an index, or of a table that is one: fileformat2, 1.6."""


@pytest.fixture
def rollouts(path: Path) -> Path:
    return path.parent / "rollouts"


@pytest.fixture
async def files(path: Path, rollouts: Path) -> dict[str, Path]:
    await ruins.build(path)
    return await ruins.mirror(path, rollouts)


def run(path: Path, rollouts: Path, **options: Path) -> Rebuilt:
    return rebuild(path, options.get("source", rollouts), mirror=rollouts, at=5000.0)


def lose(path: Path) -> None:
    for each in path.parent.glob("ask.db*"):
        each.unlink()


async def test_a_lost_database_comes_back_from_the_rollouts(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path)
    lose(path)
    told = run(path, rollouts)
    ruins.check(path)
    after = ruins.dump(path)
    for table in ruins.FROM_EVENTS:
        assert after[table] == before[table], table
    assert (told.conversations, told.files, told.aside) == (4, 4, None)
    assert told.events == len(before["events"])
    assert (told.lost, told.lost_blobs, told.bad_lines, told.from_old) == (0, 0, 0, 0)
    digests = {dict(row)["key"]: dict(row)["digest"] for row in after["keys"]}
    names = ("key-w1", "key-w2", "key-p1", "key-f1")
    assert digests == dict.fromkeys(names, ANY_DIGEST), "and none for what was copied or imported"
    assert after["terminals"] == after["jobs"] == after["partials"] == []
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "ask.db",
        "reserve.bin",
        "rollouts",
    ]


async def test_what_the_old_one_knows_beside_the_events_is_kept(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path)
    told = run(path, rollouts)
    ruins.check(path)
    assert ruins.dump(path) == before
    assert (told.kept["terminals"], told.kept["jobs"]) == (1, 1)
    assert (told.faults, told.trouble) == (0, None)
    assert told.aside is not None
    assert told.aside.name == "ask.db.backup-before-rebuild-19700101T012320Z"
    assert ruins.dump(told.aside) == before


async def test_the_jobs_of_an_older_schema_are_kept(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    schema = MIGRATIONS[0].step
    assert isinstance(schema, str)
    (old_table,) = [each for each in split_statements(schema) if "TABLE jobs (" in each]
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        (conversation_id,) = old.execute("SELECT conversation_id FROM jobs").fetchone()
        old.execute("DROP TABLE jobs")
        old.execute(old_table)
        old.execute(
            "INSERT INTO jobs (id, kind, unique_key, conversation_id, arguments, state, run_at,"
            " max_attempts, created_at) VALUES ('j', 'title', 'u', ?, '{}', 'executing', 1, 3, 1)",
            (conversation_id,),
        )
    assert run(path, rollouts).kept["jobs"] == 1
    with closing(sqlite3.connect(path)) as new:
        assert new.execute("SELECT id, state, uncounted FROM jobs").fetchall() == [
            ("j", "running", 0)
        ]


async def test_without_rollouts_all_of_it_comes_from_the_old_one(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path)
    shutil.rmtree(rollouts)
    told = run(path, rollouts)
    assert ruins.dump(path) == before
    assert (told.conversations, told.from_old, told.files) == (4, 4, 0)


async def test_a_repeated_key_does_not_run_twice_whatever_its_digest(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    lose(path)
    run(path, rollouts)
    async with open_store(path) as store:
        again = Write(
            conversation_id=ruins.WORK,
            bodies=[prompt("new")],
            key=key("key-w1", "new", "a digest of today"),
        )
        committed = await store.writer.append(again)
        assert committed.events == ()
        assert committed.repeated is not None
        assert (committed.repeated.turn_id, committed.repeated.seq) == ("w1", 3)


async def test_unfinished_turns_stay_unfinished(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    lose(path)
    run(path, rollouts)
    async with open_store(path) as store:
        assert await store.reader.unfinished() == [ruins.PLAY]
    assert (await ruins.fold_one(path, ruins.PLAY)).running == "p1"


async def test_words_are_found_again(path: Path, rollouts: Path, files: dict[str, Path]) -> None:
    lose(path)
    run(path, rollouts)
    async with open_store(path) as store:
        assert (await store.reader.search("quagga", limit=5)).rows, "in a blob"
        assert len((await store.reader.search("zebra", limit=5)).rows) == 2


async def test_a_torn_tail_and_a_bad_line_cost_what_is_on_them(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path, ("events",))["events"]
    content = files[ruins.WORK].read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(content) if b'"seq":4,' in line and b"ask_event" in line)
    content[at] = b"\x00" * len(content[at][:-1]) + b"\n"
    files[ruins.WORK].write_bytes(b"".join(content)[:-20])
    lose(path)
    told = run(path, rollouts)
    ruins.check(path)
    assert (told.lost, told.bad_lines, told.torn) == (1, 1, 1)
    after = {(dict(row)["conversation_id"], dict(row)["seq"]): dict(row) for row in
             ruins.dump(path, ("events",))["events"]}  # fmt: skip
    assert after[ruins.WORK, 4]["type"] == "lost"
    was = {(dict(row)["conversation_id"], dict(row)["seq"]): dict(row) for row in before}
    same = [place for place in after if after[place] == was[place]]
    assert len(same) == len(after) - 1
    assert len(was) - len(after) <= 1, "the event on the torn line alone"


async def test_the_old_database_fills_what_the_files_lack(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path)
    content = files[ruins.WORK].read_bytes()
    files[ruins.WORK].write_bytes(content[: len(content) // 2])
    files[ruins.PLAY].unlink()
    told = run(path, rollouts)
    assert ruins.dump(path) == before
    assert (told.from_old, told.lost, told.lost_blobs) == (2, 0, 0)


async def test_the_files_fill_what_the_old_database_lacks(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path)
    ruins.change(path, "DELETE FROM events WHERE conversation_id = ? AND seq = 5", ruins.WORK)
    ruins.change(path, "UPDATE events SET body = '{' WHERE seq = 3")
    ruins.change(path, "DELETE FROM conversations WHERE id = ?", ruins.CODEX)
    run(path, rollouts)
    assert ruins.dump(path, ("events", "conversations", "usage")) == {
        name: before[name] for name in ("events", "conversations", "usage")
    }


async def test_of_a_damaged_database_every_page_that_can_be_read_counts(
    path: Path, rollouts: Path
) -> None:
    async with open_store(path) as store:
        for number in range(40):
            id = f"{number:08d}-0000-4000-8000-000000000000"
            await store.writer.append(create(id, *(note("x" * 500, f"n{n}") for n in range(10))))
    content = bytearray(ruins.read(path))
    middle = len(content) // 2 // 4096 * 4096
    while content[middle] != LEAF:
        middle += 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    ruins.write(path, content)
    with pytest.raises(sqlite3.DatabaseError):
        ruins.query(path, "SELECT * FROM events")
    told = run(path, rollouts)
    ruins.check(path)
    assert told.faults > 0
    assert told.conversations >= 38
    assert told.aside is not None
    assert told.aside.read_bytes() == bytes(content)


async def test_a_database_that_is_none_is_put_aside_with_its_log(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    before = ruins.dump(path)
    ruins.write(path, b"no database " * 1000)
    path.with_name("ask.db-wal").write_bytes(b"nor this a log")
    told = run(path, rollouts)
    ruins.check(path)
    assert ruins.dump(path, ruins.FROM_EVENTS) == {n: before[n] for n in ruins.FROM_EVENTS}
    assert told.trouble is not None
    assert told.aside is not None
    assert told.aside.with_name(f"{told.aside.name}-wal").read_bytes() == b"nor this a log"
    assert not path.with_name("ask.db-wal").exists()


async def test_what_lies_in_the_write_ahead_log_is_not_lost(path: Path, rollouts: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create(ruins.WORK))
        killed = path.parent.parent / "killed"
        shutil.copytree(path.parent, killed)
    assert (killed / "ask.db-wal").stat().st_size > 0
    told = run(killed / "ask.db", rollouts)
    assert told.conversations == 1
    assert told.aside is not None
    assert ruins.query(told.aside, "SELECT count(*) FROM events") == [(1,)]
    assert not (killed / "ask.db-wal").exists()


async def test_a_name_taken_twice_stays_with_the_later(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    other = path.parent.parent / "other" / "ask.db"
    async with open_store(other) as store:
        store.clock.at = 2000.0
        await store.writer.append(create(ruins.PLAY, name="work"))
        store.clock.at = 400.0
        await store.writer.append(create("z" * 36, name="old talk"))
    await ruins.mirror(other, rollouts)
    files[ruins.PLAY].unlink()
    lose(path)
    told = run(path, rollouts)
    ruins.check(path)
    assert sorted(told.unnamed) == [(ruins.WORK, "work"), ("z" * 36, "old talk")]
    names = dict(ruins.query(path, "SELECT id, name FROM conversations WHERE name IS NOT NULL"))
    assert names == {ruins.PLAY: "work", ruins.CODEX: "old talk"}
    assert (await ruins.fold_one(path, ruins.WORK)).name is None, "the log says so too"


async def test_files_of_others_are_counted_and_left_alone(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    codex = rollouts / "2026" / "rollout-2026-01-01T00-00-00-codex.jsonl"
    codex.parent.mkdir(parents=True)
    record = {"type": "session_meta", "payload": {"id": "codex"}, "timestamp": "2026-01-01"}
    codex.write_text(json.dumps(record) + "\n")
    (rollouts / "empty.jsonl").write_bytes(b"")
    (rollouts / "link.jsonl").symlink_to(codex)
    lose(path)
    told = run(path, rollouts)
    assert (told.foreign, told.files, told.conversations) == (2, 4, 4)
    assert codex.read_text() == json.dumps(record) + "\n"


async def test_deleted_conversations_stay_deleted(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    stored = str(files[ruins.CODEX].relative_to(path.parent))
    ruins.change(path, "DELETE FROM usage")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM conversations WHERE id = ?", (ruins.CODEX,))
        connection.execute("INSERT INTO rollout_removals (path) VALUES (?)", (stored,))
    connection.close()
    run(path, rollouts)
    assert ruins.query(path, "SELECT 1 FROM conversations WHERE id = ?", ruins.CODEX) == []


async def test_what_was_scrubbed_does_not_come_back_from_a_file(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    ruins.change(
        path,
        "UPDATE events SET body = replace(body, 'zebra', '*****') WHERE conversation_id = ?",
        ruins.WORK,
    )
    ruins.change(path, "INSERT INTO rollouts VALUES (?, 'x', 0, 0)", ruins.WORK)
    run(path, rollouts)
    assert ruins.query(path, "SELECT 1 FROM events WHERE body GLOB '*zebra*'") == []
    ((stored, seq, size),) = ruins.query(
        path, "SELECT path, seq, bytes FROM rollouts WHERE conversation_id = ?", ruins.WORK
    )
    assert (stored, seq, size) == (str(files[ruins.WORK].relative_to(path.parent)), 0, 0)


async def test_the_mirror_goes_on_where_the_file_ends(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    lose(path)
    run(path, rollouts)
    rows = ruins.query(path, "SELECT conversation_id, path, seq, bytes FROM rollouts")
    assert len(rows) == 4
    for id, stored, seq, size in rows:
        content = files[id].read_bytes()
        assert path.parent / stored == files[id]
        rest = content[size:]
        assert content[:size].endswith(b"\n")
        (last,) = (n for (n,) in ruins.query(path, "SELECT last_seq FROM conversations"
                                              " WHERE id = ?", id))  # fmt: skip
        assert seq == last - 1
        assert rest.count(b'"ask_event"') == 1


async def test_another_directory_than_the_mirrors_is_read_and_not_gone_on_with(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    aside = rollouts.with_name("rollouts.backup-before-restore-x")
    shutil.move(rollouts, aside)
    lose(path)
    told = run(path, rollouts, source=aside)
    assert told.conversations == 4
    assert ruins.query(path, "SELECT * FROM rollouts") == []


async def test_attachments_that_nobody_has_are_named_in_their_place(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    file = files[ruins.PLAY]
    lines = [
        line for line in file.read_bytes().splitlines(keepends=True) if b"ask_blob" not in line
    ]
    file.write_bytes(b"".join(lines))
    lose(path)
    told = run(path, rollouts)
    ruins.check(path)
    assert told.lost_blobs == 1
    (item,) = (await ruins.fold_one(path, ruins.PLAY)).turns["p1"].prompt.items
    assert "not in the file" in item.parts[0].text


def test_nothing_to_rebuild_from_changes_nothing(path: Path, rollouts: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all")
    with pytest.raises(StorageFailed, match=r"Nothing was changed\."):
        run(path, rollouts)
    assert path.read_bytes() == b"no database at all"
    assert [each.name for each in path.parent.iterdir()] == ["ask.db"]


async def test_a_database_of_a_newer_version_is_left_alone(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    ruins.change(path, "INSERT INTO migrations VALUES (999, 'tomorrow', 1.0)")
    before = ruins.read(path)
    with pytest.raises(NewerSchema, match="schema 999"):
        run(path, rollouts)
    assert ruins.read(path) == before


async def test_what_came_back_is_new_to_whoever_cleans_up(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    ruins.change(path, "UPDATE conversations SET imported_at = 77 WHERE id = ?", ruins.CODEX)
    ruins.change(path, "DELETE FROM conversations WHERE id = ?", ruins.PLAY)
    ruins.change(path, "DELETE FROM events WHERE conversation_id = ?", ruins.PLAY)
    run(path, rollouts)
    found = dict(ruins.query(path, "SELECT id, imported_at FROM conversations"))
    assert found[ruins.CODEX] == 77.0
    assert found[ruins.PLAY] == 5000.0


async def test_what_the_old_one_was_is_told(
    path: Path, rollouts: Path, files: dict[str, Path]
) -> None:
    told = run(path, rollouts)
    assert (told.was_empty, told.was_ours, told.faults) == (False, True, 0)
    lose(path)
    ruins.write(path, b"")
    told = run(path, rollouts)
    assert (told.was_empty, told.was_ours, told.faults) == (True, True, 0)
    lose(path)
    ruins.change(path, "CREATE TABLE recipes (id TEXT)")
    told = run(path, rollouts)
    assert (told.was_empty, told.was_ours, told.faults) == (False, False, 0)
    content = bytearray(ruins.read(path))
    (page,) = ruins.query(path, "SELECT rootpage FROM sqlite_master WHERE name = 'open_turns'")[0]
    content[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    ruins.write(path, content)
    told = run(path, rollouts)
    assert (told.was_ours, told.trouble) == (True, None)
    assert told.faults > 0, "though nothing had to be read there"
