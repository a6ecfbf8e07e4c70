"""Rebuilds and restores that are killed at their Nth step; a step is a call that a disk sees.

Each line on stdin is `KIND N DIRECTORY`: a fork does it there and ends without a
word at the start of step N. Said on stdout: `killed`, or `done` if there were not
so many. Forks of one warm process, for the imports would be most of the time.
"""

import os
import sys
from pathlib import Path
from typing import Any

from askd.store.recovery import filling, rebuild, restore

KILLED = 9
STEPS = ("link", "rename", "replace", "unlink", "fsync", "open")
"""Of the module `os`; pathlib goes through them too."""


def plant(at: int) -> None:
    """End the process at the start of the step with this number, from 1."""
    done = 0

    def count(work: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done == at:
                os._exit(KILLED)
            return work(*arguments, **options)

        return counted

    for name in STEPS:
        setattr(os, name, count(getattr(os, name)))
    for name in ("add", "insert", "close"):
        setattr(filling.Filling, name, count(getattr(filling.Filling, name)))


def do(kind: str, directory: Path) -> None:
    """One whole run."""
    database, rollouts = directory / "ask.db", directory / "rollouts"
    if kind == "rebuild":
        rebuild.rebuild(database, rollouts, mirror=rollouts, at=5000.0)
    else:
        backup = restore.find_backup(database, "ask.db.backup-5")
        restore.restore(database, backup, rollouts=rollouts, at=5000.0)


def main() -> None:
    for line in sys.stdin:
        kind, at, directory = line.rstrip("\n").split(" ", 2)
        pid = os.fork()
        if pid == 0:
            plant(int(at))
            do(kind, Path(directory))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        print({KILLED: "killed", 0: "done"}.get(code, f"failed {code}"), flush=True)


if __name__ == "__main__":
    main()
