"""What git keeps of a project: where it is in a tree, by name and by look.

Whoever writes there has programs run by the next `git status` (hooks, filters, a pager), so
a model must not. It reads a few bytes of what it finds, follows no link, and runs no git.
"""

import os
import stat
import unicodedata
from collections import deque
from collections.abc import Iterator

from askd.processes.grants import is_beneath
from askd.tools.beneath import open_beneath

SCAN_DIRECTORIES = 5_000
"""A bounded look: about a tenth of a second for a tree that is in memory."""

POINTER_BYTES = 4_096
"""A `.git` file is one line with a path."""

SHORT_NAME = "git~1"
"""What file systems with short names call `.git`; git itself refuses it, too."""


def is_git_name(name: str) -> bool:
    """Whether some file system takes a name for `.git`: in any case, with what it ignores.

    Other systems' file systems are mounted here, too: those leave out formatting characters,
    dots and blanks at the end, and what follows a colon.
    """
    kept = "".join(each for each in name if unicodedata.category(each) != "Cf")
    bare = kept.partition(":")[0].rstrip(". ").casefold()
    return bare in (".git", SHORT_NAME)


def is_gitdir(directory: int) -> bool:
    """Whether an open directory looks to git like a repository, or like one of its worktrees."""
    if not _is_there(directory, "HEAD"):
        return False
    if _is_there(directory, "commondir"):
        return True
    return _is_there(directory, "objects") and _is_there(directory, "refs")


def find_repository_owner(directory: int) -> int | None:
    """The user id whose repository an open directory is the top of; None: it is the top of none.

    Its work tree may be one of several: then `.git` is a file that says where the repository is.
    """
    try:
        status = os.stat(".git", dir_fd=directory)
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        points = stat.S_ISREG(status.st_mode) and _read_line(directory, ".git", "gitdir: ")
        return status.st_uid if points else None
    try:
        gitdir = os.open(".git", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    try:
        return status.st_uid if is_gitdir(gitdir) else None
    finally:
        os.close(gitdir)


def lies_in_gitdir(root: int, relative: str) -> bool:
    """Whether a path below an open directory, free of links, leads through a repository's own."""
    parts = relative.split("/")[:-1]
    for length in range(len(parts) + 1):
        above = "/".join(parts[:length]) or "."
        try:
            here = open_beneath(root, above, os.O_RDONLY | os.O_DIRECTORY, links=False)
        except OSError:
            return False
        try:
            if is_gitdir(here):
                return True
        finally:
            os.close(here)
    return False


def find_gitdirs(root: int, path: str) -> tuple[list[str], bool]:
    """What git keeps in a tree, absolute; and whether it has more directories than are looked at.

    It looks at all of one depth before it goes deeper.

    Args:
        root: the open directory that `path` names.
    """
    found: list[str] = []
    waiting = deque([""])
    seen = 0
    while waiting:
        relative = waiting.popleft()
        if seen == SCAN_DIRECTORIES:
            return found, True
        seen += 1
        try:
            here = open_beneath(root, relative or ".", os.O_RDONLY | os.O_DIRECTORY, links=False)
        except OSError:
            continue
        try:
            if relative and is_gitdir(here):
                found.append(_join(path, relative))
                continue
            for name, is_directory in _read_names(here):
                inner = f"{relative}/{name}" if relative else name
                if is_git_name(name):
                    found.append(_join(path, inner))
                    found += _follow_pointer(here, name, path, _join(path, relative))
                elif is_directory:
                    waiting.append(inner)
        finally:
            os.close(here)
    return found, False


def _read_names(directory: int) -> Iterator[tuple[str, bool]]:
    """Yield (name, is it a directory) of each entry."""
    try:
        with os.scandir(directory) as entries:
            for each in entries:
                yield each.name, each.is_dir(follow_symlinks=False)
    except OSError:
        return


def _follow_pointer(directory: int, name: str, workspace: str, base: str) -> Iterator[str]:
    """Yield where a `.git` file or link points, and what that shares with others.

    A tree can hold any such file: what is no repository, or holds the workspace, is left out.
    """
    gitdir = _read_line(directory, name, "gitdir: ")
    if gitdir is None:
        try:
            gitdir = os.readlink(name, dir_fd=directory)
        except OSError:
            return
    target = os.path.realpath(os.path.join(base, gitdir))
    try:
        opened = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return
    try:
        if not is_gitdir(opened):
            return
        common = _read_line(opened, "commondir", "")
    finally:
        os.close(opened)
    yield from (each for each in _with_common(target, common) if not is_beneath(workspace, each))


def _with_common(gitdir: str, common: str | None) -> list[str]:
    shared = None if common is None else os.path.realpath(os.path.join(gitdir, common))
    return [gitdir] if shared is None or not os.path.isdir(shared) else [gitdir, shared]


def _read_line(directory: int, name: str, prefix: str) -> str | None:
    """The line of a small regular file, without its prefix; None: it is not that."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        opened = os.open(name, flags, dir_fd=directory)
    except OSError:
        return None
    try:
        content = os.read(opened, POINTER_BYTES)
    except OSError:
        return None
    finally:
        os.close(opened)
    text = os.fsdecode(content).rstrip("\r\n")
    if not text.startswith(prefix) or "\0" in text or not text:
        return None
    return text.removeprefix(prefix)


def _is_there(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def _join(path: str, relative: str) -> str:
    return os.path.join(path, relative) if relative else path
