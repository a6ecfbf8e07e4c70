"""One database takes the place of another, which stays under its new name."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askd.errors import StorageFailed
from askd.store.backups import drop_old_backups, find_backups
from askd.store.recovery import placing
from tests.store.builders import create, open_store
from tests.store.recovery import ruins


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """A database and a newer one beside it."""
    old, new = tmp_path / "ask.db", tmp_path / "ask.db.rebuilding"
    old.write_bytes(placing.HEADER + b"old")
    new.write_bytes(placing.HEADER + b"new")
    return old, new


def test_the_new_is_in_place_and_the_old_aside(two: tuple[Path, Path]) -> None:
    old, new = two
    (old.parent / "ask.db-shm").write_bytes(b"x")
    (old.parent / "ask.db-wal").write_bytes(b"")
    aside = placing.name_aside(old, "rebuild", at=0.0)
    assert aside.name == "ask.db.backup-before-rebuild-19700101T000000Z"
    assert placing.put_in_place(new, old, aside) == aside
    assert old.read_bytes().endswith(b"new")
    assert aside.read_bytes().endswith(b"old")
    assert sorted(each.name for each in old.parent.iterdir()) == ["ask.db", aside.name]
    assert placing.name_aside(old, "rebuild", at=0.0).name == f"{aside.name}-2"


def test_where_there_is_none_nothing_is_put_aside(two: tuple[Path, Path]) -> None:
    old, new = two
    old.unlink()
    (old.parent / "ask.db-wal").write_bytes(b"of one that is gone")
    aside = placing.name_aside(old, "rebuild", at=0.0)
    assert placing.put_in_place(new, old, aside) is None
    assert old.read_bytes().endswith(b"new")
    names = sorted(each.name for each in old.parent.iterdir())
    assert names == ["ask.db", f"{aside.name}-wal"]


def test_a_disk_without_links_gets_a_copy(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    old, new = two
    old.chmod(0o600)
    aside = placing.name_aside(old, "rebuild", at=0.0)
    placing.put_in_place(new, old, aside)
    assert aside.read_bytes().endswith(b"old")
    assert aside.stat().st_mode & 0o777 == 0o600
    assert old.read_bytes().endswith(b"new")


def test_a_second_name_that_was_left_behind_goes_with_its_log_put_back(
    two: tuple[Path, Path],
) -> None:
    old, _ = two
    other = placing.name_aside(old, "rebuild", at=5.0)
    other.write_bytes(b"another one")
    aside = placing.name_aside(old, "rebuild", at=0.0)
    os.link(old, aside)
    (old.parent / f"{aside.name}-wal").write_bytes(b"log")
    placing.drop_links(old)
    assert not aside.exists()
    assert (old.parent / "ask.db-wal").read_bytes() == b"log"
    assert other.exists()


async def test_the_log_is_taken_in_before(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        killed = path.parent.parent / "killed"
        shutil.copytree(path.parent, killed)
    assert placing.settle(killed / "ask.db") is None
    assert not (killed / "ask.db-wal").exists()
    assert ruins.query(killed / "ask.db", "SELECT count(*) FROM events") == [(1,)]
    assert placing.settle(killed / "none.db") is None


async def test_whoever_else_reads_it_is_asked_to_leave(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        with pytest.raises(StorageFailed, match="in use by another"):
            _settle_fast(path)


def _settle_fast(path: Path) -> None:
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        placing.settle(path)


def test_what_is_put_aside_is_found_and_never_cleaned_up(two: tuple[Path, Path]) -> None:
    old, new = two
    aside = placing.name_aside(old, "restore", at=0.0)
    placing.put_in_place(new, old, aside)
    os.utime(aside, (1.0, 1.0))
    drop_old_backups(old, at=1e9)
    assert find_backups(old) == [aside]
