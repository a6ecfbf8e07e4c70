"""The project: from the caller's directory up to the top of its git work tree, held open.

Where no repository is, the project is the directory alone; `/`, a home, and what holds one
are none, unless they are in a repository. It asks no git and reads no content; no directory
beyond the top, and none on another file system, is looked at.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from askd.processes.grants import is_beneath
from askd.tools.gitdirs import find_repository_owner
from askd.tools.workspace import Workspace, read_path

DEPTH = 64
"""Directories between the caller's and the top; nobody's project is deeper."""

ROOT_UID = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What the caller works on.

    Attributes:
        path: of its top, absolute and free of links.
        fd: the top itself; closed when the block ends that opened it.
        directories: from the top to the caller's own, below the top, free of links; `.` is the
            top.
        owners: user ids whose files count: ours, root's, and who owns the caller's directory. In
            a directory where everybody may write, others could leave some.
    """

    path: str
    fd: int
    directories: tuple[str, ...]
    owners: frozenset[int]


@contextmanager
def open_project(workspace: Workspace) -> Iterator[Project | None]:
    """The project that a workspace is in; None: it is in none. Raises `OSError`."""
    owners = frozenset((os.geteuid(), ROOT_UID, os.fstat(workspace.fd).st_uid))
    with ExitStack() as stack:
        top = _find_top(workspace, owners, stack)
        if top is None and workspace.is_wide:
            yield None
            return
        fd = workspace.fd if top is None else top
        path = read_path(fd)
        if not is_beneath(workspace.path, path):
            yield None  # something is being moved in this moment
            return
        parts = [each for each in workspace.path[len(path) :].split("/") if each]
        yield Project(
            path=path,
            fd=fd,
            directories=tuple("/".join(parts[:n]) or "." for n in range(len(parts) + 1)),
            owners=owners,
        )


def _find_top(workspace: Workspace, owners: frozenset[int], stack: ExitStack) -> int | None:
    """The nearest directory upwards that git takes for the top of a work tree, opened."""
    here, status = workspace.fd, os.fstat(workspace.fd)
    for _ in range(DEPTH):
        # Git refuses a repository of somebody else's, too ("dubious ownership").
        if find_repository_owner(here) in owners:
            return here
        # Only as a place: who may pass through a directory need not be able to list it.
        above = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
        stack.callback(os.close, above)
        upper = os.fstat(above)
        if os.path.samestat(upper, status) or upper.st_dev != status.st_dev:
            return None
        here, status = above, upper
    return None
