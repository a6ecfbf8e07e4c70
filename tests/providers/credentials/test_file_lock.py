"""The lock between processes: one at a time, also against another process, and it has an end."""

import fcntl
import os
import stat
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from askd.errors import Unavailable
from askd.providers.credentials.file_lock import hold_lock


async def test_one_at_a_time(tmp_path: Path, autojump_clock: MockClock) -> None:
    inside = 0
    most = 0

    async def work() -> None:
        nonlocal inside, most
        async with hold_lock(tmp_path / "auth.json"):
            inside += 1
            most = max(most, inside)
            await trio.sleep(1)
            inside -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(work)
    assert most == 1
    lock = tmp_path / "auth.json.lock"
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600


async def test_another_process_has_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    # A lock of another open file is as good as one of another process.
    descriptor = os.open(tmp_path / "auth.json.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(Unavailable, match="held by another process for 40 seconds"):
        async with hold_lock(tmp_path / "auth.json"):
            raise AssertionError
    os.close(descriptor)
    async with hold_lock(tmp_path / "auth.json"):
        pass


async def test_who_is_cancelled_lets_go(tmp_path: Path, autojump_clock: MockClock) -> None:
    with trio.move_on_after(1):
        async with hold_lock(tmp_path / "auth.json"):
            await trio.sleep_forever()
    with trio.fail_after(1):
        async with hold_lock(tmp_path / "auth.json"):
            pass


async def test_no_place_for_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        async with hold_lock(tmp_path / "nowhere" / "auth.json"):
            pass
    (tmp_path / "auth.json.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        async with hold_lock(tmp_path / "auth.json"):
            pass
