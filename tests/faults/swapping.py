"""Another process that swaps what a path means, as fast as it can: the other half of a race.

In each directory, `door` and `trap` change places, by one system call: at no moment is one
of them missing. It runs unconfined, as an editor or another tool of the user's would.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 20.0

SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
directories = [os.open(each, os.O_PATH) for each in sys.argv[1:]]
parent = os.getppid()
while os.getppid() == parent:
    for pause in range(200):
        for directory in directories:
            libc.renameat2(directory, b"door", directory, b"trap", 2)  # RENAME_EXCHANGE
        for _ in range(pause * pause // 4):
            pass
"""


@contextmanager
def swapped(*directories: Path) -> Iterator[None]:
    """While this lasts, `door` and `trap` in each directory change places without an end."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAP, *map(str, directories)])
    try:
        last = directories[-1] / "door"
        first = os.lstat(last).st_ino
        deadline = time.monotonic() + PATIENCE_S
        while os.lstat(last).st_ino == first:
            assert time.monotonic() < deadline, "nothing is swapped"
        yield
    finally:
        child.kill()
        child.wait()
