"""The reserve is really allocated, private, and given up once."""

import os
import stat
from pathlib import Path

import pytest

from askd.store.reserve import START_BYTES, Reserve

SIZE = 64 * 1024


def test_kept_and_released(tmp_path: Path) -> None:
    path = tmp_path / "reserve.bin"
    reserve = Reserve(path, size=SIZE)
    assert reserve.keep()
    assert reserve.keep()
    found = path.stat()
    assert found.st_size == SIZE
    assert found.st_blocks * 512 >= SIZE
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert reserve.release()
    assert not reserve.release()
    assert not path.exists()


def test_never_the_last_of_a_disk(tmp_path: Path) -> None:
    disk = os.statvfs(tmp_path)
    reserve = Reserve(tmp_path / "reserve.bin", size=disk.f_bavail * disk.f_frsize // 4)
    assert not reserve.keep()
    assert not (tmp_path / "reserve.bin").exists()


def test_a_failed_allocation_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, offset: int, length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert not Reserve(tmp_path / "reserve.bin", size=SIZE).keep()
    assert not (tmp_path / "reserve.bin").exists()


def test_a_start_on_a_full_disk_is_lent_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reserve.bin"
    reserve = Reserve(path, size=2 * START_BYTES + 1)
    assert not reserve.lend()  # there is nothing to lend yet
    assert reserve.keep()
    assert not reserve.lend()  # the disk has room
    found = os.statvfs(tmp_path)
    full = os.statvfs_result((*found[:4], 0, *found[5:]))
    with monkeypatch.context() as patched:
        patched.setattr(os, "statvfs", lambda path: full)
        assert reserve.lend()
        assert path.stat().st_size == START_BYTES + 1
        assert not reserve.keep()  # whole it is not, and there is no room to make it so
        assert reserve.lend()
        assert reserve.lend()
        assert path.stat().st_size == 0
        assert not reserve.lend()
    assert reserve.keep()
    assert path.stat().st_size == 2 * START_BYTES + 1
    assert path.stat().st_blocks * 512 >= 2 * START_BYTES


def test_one_that_a_power_cut_has_emptied_is_made_whole(tmp_path: Path) -> None:
    path = tmp_path / "reserve.bin"
    path.touch(mode=0o600)
    assert Reserve(path, size=SIZE).keep()
    assert path.stat().st_blocks * 512 >= SIZE


def test_without_a_directory_nothing_is_raised(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "gone" / "reserve.bin", size=SIZE)
    assert not reserve.keep()
    assert not reserve.lend()
    assert not reserve.release()
