"""A backup comes back whole, or nothing is touched."""

import os
import shutil
from pathlib import Path

import pytest

from askd.errors import NewerSchema, NotFound, RequestError, StorageFailed
from askd.store.recovery.restore import Restored, find_backup, restore
from tests.store.builders import create, open_store
from tests.store.recovery import ruins


@pytest.fixture
async def backup(path: Path) -> Path:
    """A backup of a database that has had one more conversation since."""
    await ruins.build(path)
    backup = path.with_name("ask.db.backup-4")
    shutil.copy(path, backup)
    async with open_store(path) as store:
        await store.writer.append(create("later"))
    (path.parent / "rollouts").mkdir()
    (path.parent / "rollouts" / "file").write_bytes(b"x")
    return backup


def run(path: Path, backup: Path) -> Restored:
    return restore(path, backup, rollouts=path.parent / "rollouts", at=5000.0)


def listing(path: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in path.parent.rglob("*") if each.is_file()}


async def test_a_backup_takes_the_place(path: Path, backup: Path) -> None:
    newer, older = ruins.dump(path), ruins.dump(backup)
    kept = ruins.read(backup)
    told = run(path, backup)
    ruins.check(path)
    assert ruins.dump(path) == older
    assert told.aside is not None
    assert ruins.dump(told.aside) == newer
    assert told.rollouts_aside is not None
    assert (told.rollouts_aside / "file").exists()
    assert not (path.parent / "rollouts").exists()
    assert (told.conversations, told.events) == (4, len(older["events"]))
    assert ruins.read(backup) == kept
    assert ruins.size(path) > 0
    assert os.stat(path).st_mode & 0o777 == 0o600
    back = run(path, told.aside)
    assert ruins.dump(path) == newer, "and what was put aside is a backup like another"
    assert back.rollouts_aside is None


async def test_where_there_is_no_database_none_is_put_aside(path: Path, backup: Path) -> None:
    older = ruins.dump(backup)
    os.unlink(path)
    assert run(path, backup).aside is None
    assert ruins.dump(path) == older


async def test_files_are_written_anew(path: Path, backup: Path) -> None:
    ruins.change(backup, "INSERT INTO rollouts VALUES (?, 'x', 5, 500)", ruins.WORK)
    run(path, backup)
    assert ruins.query(path, "SELECT seq, bytes FROM rollouts") == [(0, 0)]


async def test_a_log_that_was_put_aside_with_it_is_taken_in(path: Path, backup: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("latest"))
        aside = path.with_name("ask.db.backup-before-x")
        shutil.copy(path, aside)
        shutil.copy(path.with_name("ask.db-wal"), aside.with_name(f"{aside.name}-wal"))
    told = run(path, aside)
    assert told.conversations == 6


@pytest.mark.parametrize("kind", ["text", "empty", "torn", "page", "strange"])
async def test_a_bad_backup_is_refused_and_nothing_touched(
    path: Path, backup: Path, kind: str
) -> None:
    content = bytearray(ruins.read(backup))
    match kind:
        case "text":
            content = bytearray(b"hello " * 1000)
        case "empty":
            content = bytearray()
        case "torn":
            content = content[: len(content) // 2]
        case "page":
            content[8192:12288] = b"\xff" * 4096
        case _:
            os.unlink(backup)
            ruins.change(backup, "CREATE TABLE recipes (id TEXT)")
            content = bytearray(ruins.read(backup))
    ruins.write(backup, content)
    before = listing(path)
    with pytest.raises(StorageFailed, match="Nothing was changed") as caught:
        run(path, backup)
    assert caught.value.reason == "bad_backup"
    assert listing(path) == before


async def test_a_backup_of_a_newer_version_is_refused(path: Path, backup: Path) -> None:
    ruins.change(backup, "INSERT INTO migrations VALUES (999, 'tomorrow', 1.0)")
    before = listing(path)
    with pytest.raises(NewerSchema):
        run(path, backup)
    assert listing(path) == before


async def test_rollouts_that_cannot_be_moved_stop_it(
    path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listing(path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StorageFailed, match="cannot be put aside: Permission denied"):
        run(path, backup)
    assert listing(path) == before


async def test_a_disk_that_fails_at_the_end_gets_the_rollouts_back(
    path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = ruins.dump(path)

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StorageFailed):
        run(path, backup)
    assert ruins.dump(path) == newer
    assert (path.parent / "rollouts" / "file").exists()


async def test_a_backup_is_a_path_or_a_name(path: Path, backup: Path) -> None:
    assert find_backup(path, str(backup)) == backup
    assert find_backup(path, backup.name) == backup
    with pytest.raises(NotFound, match=r"There are: ask\.db\.backup-4"):
        find_backup(path, "ask.db.backup-9")
    with pytest.raises(RequestError, match="is the database itself"):
        find_backup(path, str(path))
    aside = path.with_name("rollouts.backup-before-restore-20260102T030405Z")
    aside.mkdir()
    os.mkfifo(path.with_name("pipe"))
    path.with_name("text").write_bytes(b"hello " * 100)
    for said, told in (
        ("", r"Say which backup\. There are: ask\.db\.backup-4$"),
        (str(path.parent), r"is a directory; a backup is a copy of the database\.$"),
        (aside.name, "is a directory; a backup is a copy"),
        ("pipe", "is no file; a backup is a copy of the database"),
        ("/dev/zero", "^/dev/zero is no file"),
    ):
        with pytest.raises(RequestError, match=told):
            find_backup(path, said)
    (aside / "rollout-1.jsonl").touch()
    with pytest.raises(RequestError, match=f"ask doctor --rebuild --from {aside}"):
        find_backup(path, aside.name)
    with pytest.raises(StorageFailed, match="is no whole database"):
        find_backup(path, "text")
    for name in ("x" * 5000, "nul\0"):
        with pytest.raises(NotFound, match="No such backup"):
            find_backup(path, name)
    os.unlink(backup)
    with pytest.raises(NotFound, match="None lies beside"):
        find_backup(path, "x")
