"""What a repair takes is estimated before it begins, and a disk without that much says so."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from askd.errors import StorageFailed
from askd.store.recovery.room import (
    SPARE_BYTES,
    check_room,
    need_for_rebuild,
    need_for_restore,
)


class Usage(NamedTuple):
    """As `shutil.disk_usage` answers."""

    total: int
    used: int
    free: int


def test_what_is_needed_follows_from_what_there_is(tmp_path: Path) -> None:
    database, source = tmp_path / "ask.db", tmp_path / "rollouts"
    assert need_for_rebuild(database, source) == SPARE_BYTES
    source.mkdir()
    (source / "a.jsonl").write_bytes(b"x" * 3000)
    assert need_for_rebuild(database, source) == SPARE_BYTES + 1500
    database.write_bytes(b"x" * 5000)
    (tmp_path / "ask.db-wal").write_bytes(b"x" * 70)
    assert need_for_rebuild(database, source) == SPARE_BYTES + 5070
    assert need_for_restore(database) == SPARE_BYTES + 5070


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(9, 9, 4_000_000))
    check_room(tmp_path / "ask.db", 4_000_000)
    with pytest.raises(StorageFailed, match=r"about 4\.1 MB are needed in .*, and 4\.0 MB are"):
        check_room(tmp_path / "ask.db", 4_100_000)


def test_a_disk_that_does_not_say_keeps_nobody(tmp_path: Path) -> None:
    check_room(tmp_path / "gone" / "ask.db", 10**18)
