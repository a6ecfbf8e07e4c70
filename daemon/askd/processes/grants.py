"""What Landlock has to be told to grant, so that a confinement holds.

Landlock only ever adds: a right on a directory holds for everything beneath. So what
shall be left out is gone around: its parents get nothing for themselves, and everything
that stands beside it gets its own grant. What appears there later has none. Standard
library only; it looks at directories and changes nothing.
"""

import os
from collections.abc import Iterator, Sequence

from askd.processes.landlock import IOCTL_DEV, READ, READ_DIR, READ_FILE, WRITE, WRITE_FILE

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""May be written to by anybody, to no effect on anybody."""

Grant = tuple[str, int]


def plan_grants(
    *,
    writable: Sequence[str],
    read_only: Sequence[str] = (),
    hidden: Sequence[str] = (),
) -> list[Grant]:
    """Paths and rights: all may be read but what is hidden, and nothing else be written.

    What is hidden is neither read nor executed; its names can be listed, for else `/` could
    not be. Paths are absolute and free of links.
    """
    grants: list[Grant] = [("/", READ_DIR)]
    grants += [(path, READ) for path in go_around("/", hidden)]
    kept = (*read_only, *hidden)
    for directory in writable:
        grants += [(path, WRITE) for path in go_around(directory, kept)]
    # Also the devices of a hidden place in which /dev would lie: they hold nothing.
    grants += [(path, READ_FILE | WRITE_FILE | IOCTL_DEV) for path in DEVICES]
    return grants


def go_around(top: str, kept: Sequence[str]) -> Iterator[str]:
    """The fewest places beneath `top`, itself included, that hold all of it but what is kept."""
    inside = [each for each in kept if is_beneath(each, top)]
    if any(is_beneath(top, each) for each in kept):
        return
    if not inside:
        yield top
        return
    try:
        entries = sorted(os.scandir(top), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():
            yield from go_around(entry.path, inside)


def is_beneath(path: str, other: str) -> bool:
    """Whether an absolute path is another, or lies in it, by their names alone."""
    return path == other or path.startswith(other.rstrip("/") + "/")
