"""The real client and the real daemon without their locks: a program for a proof's control.

As `ask`, but whoever finds no daemon starts one, and every daemon takes itself for the owner,
and the socket's place for its own.
`unlocked.py askd run` is that daemon.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def main() -> None:
    """Run as the client or, with `askd run`, as the daemon. Does not return."""
    if sys.argv[1:2] == ["askd"]:
        fcntl.flock = _lock_nothing
        sys.argv = ["askd", *sys.argv[2:]]
        from askd.__main__ import main as run_daemon
        from askd.server import listener

        listener.is_answered = _find_nobody
        sys.exit(run_daemon())
    from ask import spawn
    from ask.__main__ import main as run_client

    spawn._hold_start_lock = _hold_nothing
    real = subprocess.Popen

    def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        assert command[-2:] == ["askd", "run"]
        return real([sys.executable, __file__, "askd", "run"], **options)

    subprocess.Popen = start  # type: ignore[assignment, misc]
    run_client()


@contextmanager
def _hold_nothing(path: Path) -> Iterator[None]:
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    yield


def _lock_nothing(descriptor: object, operation: int) -> None:
    """All who ask get it."""


def _find_nobody(path: Path) -> bool:
    """Whose socket it takes it does not ask."""
    return False


if __name__ == "__main__":
    main()
