"""A lock between processes: one of them at a time renews a sign-in.

An `flock` on a file beside what it guards, never on the file itself, since that
one is replaced. It is advisory: it holds those who ask for it, other programs'
changes are found by reading again.
"""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from askd.errors import Unavailable
from askd.files import PRIVATE_FILE

LOCK_S = 40.0
"""To get it: longer than whoever holds it waits for a server."""

POLL_S = 0.05
"""Between two tries: a thread that blocks in the kernel could not be cancelled."""


@asynccontextmanager
async def hold_lock(path: Path) -> AsyncIterator[None]:
    """Hold the lock that guards `path` (its file is `path` with `.lock` after it).

    Raises:
        OSError: the file cannot be made; nothing could be written there either.
        Unavailable: somebody has held it for 40 seconds.
    """
    lock = path.with_name(f"{path.name}.lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
    try:
        await _acquire(descriptor, lock)
        yield
    finally:
        os.close(descriptor)  # which releases it


async def _acquire(descriptor: int, lock: Path) -> None:
    with trio.move_on_after(LOCK_S):
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await trio.sleep(POLL_S)
            else:
                return
    raise Unavailable(f"{lock} was held by another process for {LOCK_S:g} seconds")
