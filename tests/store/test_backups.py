"""All copies of the database are found, none that is no copy, and each says what it holds."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from askd.errors import NotFound
from askd.store.backups import (
    BACKUP_AGE_S,
    Backups,
    backup_path,
    drop_old_backups,
    find_asides,
    find_backups,
    holds_any,
    remove_backup,
)
from askd.store.rollouts.rows import place_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ask.db"
    path.write_bytes(b"the database")
    return path


def make(path: Path, label: object, ids: Sequence[str] = ()) -> Path:
    backup = backup_path(path, label)
    with closing(sqlite3.connect(backup)) as copy, copy:
        copy.execute("CREATE TABLE conversations (id TEXT PRIMARY KEY)")
        copy.executemany("INSERT INTO conversations VALUES (?)", [(id,) for id in ids])
    return backup


def test_copies_are_found_with_what_belongs_to_them(path: Path) -> None:
    four, word = make(path, 4), make(path, "damaged-2026")
    torn = path.with_name("ask.db.backup-5.partial")
    for name in ("ask.db-wal", "ask.db.bak", "reserve.bin", "other.db.backup-1"):
        path.with_name(name).touch()
    torn.write_bytes(b"half")
    Path(f"{four}-wal").write_bytes(b"x")
    alone = path.with_name("ask.db.backup-9-wal")
    alone.write_bytes(b"a log without its database still holds text")
    assert find_backups(path) == [four, torn, alone, word]
    remove_backup(four)
    remove_backup(four)
    assert not four.exists()
    assert not Path(f"{four}-wal").exists()
    assert path.read_bytes() == b"the database"


def test_a_copy_says_what_it_holds(path: Path) -> None:
    copy = make(path, 4, [f"c{number}" for number in range(3)])
    assert holds_any(copy, ["x", "c2"])
    assert not holds_any(copy, ["x", "c3"])
    assert not holds_any(copy, [])
    assert holds_any(copy, [*(f"x{number}" for number in range(1200)), "c1"])
    assert sorted(each.name for each in path.parent.iterdir()) == ["ask.db", copy.name]


def test_what_cannot_be_read_may_hold_anything(path: Path) -> None:
    torn = backup_path(path, 4)
    torn.write_bytes(b"SQLite format 3\x00" + b"?" * 5000)
    assert holds_any(torn, ["a"])
    logged = make(path, 5)
    Path(f"{logged}-wal").write_bytes(b"what is in here is not looked at")
    assert holds_any(logged, ["a"])
    Path(f"{logged}-wal").write_bytes(b"")
    assert not holds_any(logged, ["a"])


def test_old_copies_go(path: Path) -> None:
    old, young = make(path, 4), make(path, 5)
    os.utime(old, (100.0, 100.0))
    os.utime(young, (200.0, 200.0))
    drop_old_backups(path, at=150.0 + BACKUP_AGE_S)
    assert find_backups(path) == [young]


async def test_copies_are_described_and_removed_by_name(path: Path) -> None:
    four, five = make(path, 4, ["a"]), make(path, 5, ["b"])
    os.utime(four, (100.0, 100.0))
    backups = Backups(path, find_mirror=lambda: path.parent / "rollouts")
    found = await backups.find()
    assert [each.name for each in found] == [four.name, five.name]
    assert (found[0].at, found[0].bytes) == (100.0, four.stat().st_size)
    assert [each.name for each in await backups.find(["b"])] == [five.name]
    for name in ("ask.db", "../ask.db.backup-4", "", "ask.db.backup-6"):
        with pytest.raises(NotFound, match="There is no copy"):
            await backups.remove(name)
    await backups.remove(four.name)
    assert [each.name for each in await backups.find()] == [five.name]


def put_aside(mirror: Path, *ids: str, at: str = "20260102T030405Z") -> Path:
    """A directory of rollouts that a restore left, with the files of these conversations."""
    aside = mirror.with_name(f"{mirror.name}.backup-before-restore-{at}")
    for id in ids:
        file = place_file(aside, id, 100.0)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"what was said")
    return aside


async def test_rollouts_that_were_put_aside_are_copies_too(path: Path) -> None:
    mirror = path.parent / "rollouts"
    one = put_aside(mirror, "a", "no plain id!")
    two = put_aside(mirror, "b", at="20260102T030405Z-2")
    backups = Backups(path, find_mirror=lambda: mirror)
    assert [each.name for each in await backups.find(["a"])] == [one.name]
    assert [each.name for each in await backups.find(["no plain id!"])] == [one.name]
    assert [each.name for each in await backups.find(["c"])] == []
    assert [(each.name, each.bytes) for each in await backups.find()] == [
        (one.name, 26),
        (two.name, 13),
    ]
    await backups.remove(one.name)
    await backups.remove(two.name)
    assert sorted(each.name for each in path.parent.iterdir()) == ["ask.db"]


async def test_directories_of_other_names_are_nobodys_to_remove(
    path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mirror = tmp_path_factory.mktemp("elsewhere") / "mine"
    far, near = put_aside(mirror, "a"), put_aside(path.parent / "rollouts", "a")
    for name in ("mine.backup-before-lunch", "mine.backup-1", "other.backup-before-restore-1"):
        (mirror.parent / name).mkdir()
    others = put_aside(mirror.with_name("other"), "a")
    link = mirror.with_name("mine.backup-before-restore-20270102T030405Z")
    link.symlink_to(others)
    assert find_asides(path, mirror) == sorted([far, near])
    assert find_asides(path, path.parent / "gone" / "mine") == [near]
    backups = Backups(path, find_mirror=lambda: mirror)
    for name in (others.name, link.name, "mine.backup-1"):
        with pytest.raises(NotFound):
            await backups.remove(name)
