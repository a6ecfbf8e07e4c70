"""The files below a directory that somebody would want read: no `.git`, nothing hidden.

What git ignores is left out where git knows the directory. It follows no link,
opens nothing, and gives up at a number instead of walking a disk.
"""

import os
import stat
import subprocess
from collections.abc import Iterator
from itertools import islice

ENTRIES_LIMIT = 10_000
"""Files looked at below one directory; whoever means more has mentioned the wrong one."""
GIT_LIMIT_S = 10.0
"""How long git may take to list one; a cold repository of this size takes a second."""


class TooMany(Exception):
    """There are more than `ENTRIES_LIMIT` files."""


def list_files(directory: str) -> list[str]:
    """The paths of its regular files, relative to it, sorted.

    Raises:
        OSError: it cannot be read.
        TooMany: so many are not looked at.
    """
    os.scandir(directory).close()  # git's list would hide that it cannot be read
    # A directory that is ignored as a whole was named all the same.
    found = _ask_git(directory) or _take(_walk(directory, ""))
    return sorted(path for path in found if _is_wanted(directory, path))


def _ask_git(directory: str) -> list[str]:
    """What git tracks or would track; nothing if it does not know."""
    # A configuration could name a program to run at this.
    command = ["git", "-c", "core.fsmonitor=false", "-C", directory, "ls-files", "-z"]
    # In a hook, git's own variables name another directory.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*command, "--cached", "--others", "--exclude-standard"],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    # A file in conflict is listed once for each side.
    return _take(iter({os.fsdecode(name): None for name in done.stdout.split(b"\0") if name}))


def _walk(directory: str, below: str) -> Iterator[str]:
    """Every file, hidden ones and links left out; what cannot be read holds nothing."""
    try:
        with os.scandir(os.path.join(directory, below)) as found:
            entries = sorted(found, key=lambda each: each.name)
    except OSError:
        return
    for entry in entries:
        path = os.path.join(below, entry.name)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(directory, path)
        else:
            yield path


def _take(paths: Iterator[str]) -> list[str]:
    taken = list(islice(paths, ENTRIES_LIMIT + 1))
    if len(taken) > ENTRIES_LIMIT:
        raise TooMany
    return taken


def _is_wanted(directory: str, path: str) -> bool:
    """Whether it is a regular file, and nothing on the way to it is hidden."""
    if any(part.startswith(".") for part in path.split("/")):
        return False
    try:
        return stat.S_ISREG(os.lstat(os.path.join(directory, path)).st_mode)
    except OSError:
        return False  # deleted, and git still knows it
