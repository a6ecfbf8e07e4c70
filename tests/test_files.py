"""A file is replaced whole or not at all."""

import os
from pathlib import Path

import pytest

from askd.files import replace_file, sync_file


def test_the_new_file_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == ["b"]


def test_a_file_is_synced_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    synced: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor)))
    sync_file(path)
    assert [each.st_ino for each in synced] == [path.stat().st_ino]
    with pytest.raises(FileNotFoundError):
        sync_file(tmp_path / "b")


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b"
    replace_file(path, b"one")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["b"]
