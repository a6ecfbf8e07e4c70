"""A start finds what somebody who was killed left, and says that a database is missing."""

import logging
import os
from pathlib import Path

import pytest

from askd.errors import StorageFailed
from askd.store.recovery.entry import LOOKED_AT, enter, has_rollouts
from tests.store.recovery import ruins


@pytest.fixture
def mirror(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    return path.parent / "rollouts"


async def test_what_was_not_finished_goes(path: Path, mirror: Path) -> None:
    await ruins.build(path)
    before = ruins.read(path)
    kept = {each.name for each in path.parent.iterdir()} | {"ask.db.backup-4"}
    path.with_name("ask.db.backup-4").write_bytes(b"a copy")
    for name in ("rebuilding", "rebuilding-wal", "rebuilding-shm", "restoring", "restoring-wal"):
        path.with_name(f"ask.db.{name}").write_bytes(b"what was said")
    path.with_name("ask.db.backup-before-rebuild-20260102T030405Z.partial").write_bytes(b"half")
    os.link(path, path.with_name("ask.db.backup-before-rebuild-20260102T030405Z"))
    enter(path, mirror)
    assert {each.name for each in path.parent.iterdir()} == kept
    assert ruins.read(path) == before


async def test_rollouts_without_a_database_are_told(
    path: Path, mirror: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    enter(path, mirror)
    await ruins.build(path)
    await ruins.mirror(path, mirror)
    enter(path, mirror)
    assert caplog.messages == []
    ruins.write(path, b"")
    enter(path, mirror)
    os.unlink(path)
    enter(path, mirror)
    assert len(caplog.messages) == 2
    assert "Bring them back: ask doctor --rebuild" in caplog.messages[0]


def test_files_of_others_are_no_reason_to_warn(mirror: Path) -> None:
    mirror.mkdir()
    for number in range(LOOKED_AT + 5):
        mirror.joinpath(f"rollout-{number:04}.jsonl").write_text('{"type": "session_meta"}\n')
    assert not has_rollouts(mirror)


def test_what_cannot_be_removed_keeps_nobody(
    path: Path, mirror: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.with_name("ask.db.rebuilding").mkdir()
    enter(path, mirror)
    assert "cannot be removed" in caplog.text


def test_a_directory_in_its_place_is_said(path: Path, mirror: Path) -> None:
    path.mkdir()
    with pytest.raises(StorageFailed, match="is a directory; the database belongs there"):
        enter(path, mirror)
