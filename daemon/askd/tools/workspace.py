"""The workspace: the directory that the caller stood in, held open while a call runs.

It is opened once, and it is the one that was meant: a name may come to mean another
directory while a prompt waits. It says what in it is not for a model to change: what git
keeps of a project, and what is our own. It reads and writes no file of the caller's.
"""

import os
import pwd
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from askd.processes.grants import is_beneath
from askd.tools.base import CannotRun, Site
from askd.tools.gitdirs import find_gitdirs, is_git_name, is_gitdir, lies_in_gitdir
from askd.tools.installed import INSTALLED

ENVIRONMENT = frozenset(
    ("PATH", "HOME", "LANG", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
"""The variables of the caller that a tool's process gets, besides LC_*; never a key."""

TOO_LARGE = "{path} is large: not every repository in it was looked for."


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The caller's directory, open.

    Attributes:
        path: absolute, and free of links.
        given: by which path the caller knew it.
        fd: the directory itself; closed when the block ends that opened it.
        is_wide: it is `/` or holds the caller's home: too much to be written to freely.
        own: our own directories, absolute, wherever they are.
    """

    path: str
    given: str
    fd: int
    is_wide: bool
    own: tuple[str, ...] = ()

    def is_protected(self, relative: str) -> bool:
        """Whether a path in it, free of links, is read-only for a model."""
        if is_protected(relative) or is_protected(self.path) or self.is_own(relative):
            return True
        whole = os.path.normpath(os.path.join(self.path, relative))
        if any(is_beneath(whole, each) for each in INSTALLED):
            return True
        return lies_in_gitdir(self.fd, relative)

    def is_private(self, relative: str) -> bool:
        """Whether reading a path, free of links, is more than to look at a project's files.

        Where the caller stands in a home, what is hidden holds keys; `/` is everybody's.
        """
        if not self.is_wide:
            return False
        return self.path == "/" or any(
            part.startswith(".") for part in relative.split("/") if part != "."
        )

    def is_own(self, relative: str) -> bool:
        """Whether a path in it, free of links, is in one of our own directories."""
        whole = os.path.normpath(os.path.join(self.path, relative))
        return any(is_beneath(whole, each) for each in self.own)


@contextmanager
def open_workspace(site: Site, own: Sequence[str] = ()) -> Iterator[Workspace]:
    """The directory that the caller stood in; `CannotRun` if it is not there, or not that one.

    Args:
        own: directories that hold keys, settings or conversations, absolute.
    """
    if site.cwd is None or not site.cwd.startswith("/") or "\0" in site.cwd:
        raise CannotRun("Where you stood is not known, or is gone: there is nowhere to work.")
    try:
        fd = os.open(site.cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise CannotRun(f"The directory you stood in ({site.cwd}) is gone.") from None
    except OSError as error:
        raise CannotRun(
            f"The directory you stood in ({site.cwd}) cannot be opened: {error.strerror}."
        ) from None
    try:
        status = os.fstat(fd)
        if site.cwd_id is not None and site.cwd_id != f"{status.st_dev}:{status.st_ino}":
            raise CannotRun(f"The directory you stood in ({site.cwd}) is another one now.")
        path = read_path(fd)
        if not path.startswith("/") or (status.st_nlink == 0 and path.endswith(" (deleted)")):
            raise CannotRun(f"The directory you stood in ({site.cwd}) is gone.")
        if path != os.fsencode(path).decode("utf-8", "replace"):
            # Neither an event nor a message could hold it.
            raise CannotRun("The name of the directory you stood in is not in UTF-8.")
        yield Workspace(
            path=path,
            given=site.cwd,
            fd=fd,
            is_wide=is_wide(path, site.env),
            own=tuple(dict.fromkeys(os.path.realpath(each) for each in own)),
        )
    finally:
        os.close(fd)


def read_path(fd: int) -> str:
    """Where an open file or directory is now, absolute and free of links (proc(5), fd)."""
    return os.readlink(f"/proc/self/fd/{fd}")


def is_wide(path: str, env: Mapping[str, str]) -> bool:
    """Whether a directory is `/` or holds the home of the caller, or of the account."""
    if path == "/":
        return True
    homes = [env.get("HOME", "")]
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    real = os.path.realpath(path)
    return any(is_beneath(os.path.realpath(each), real) for each in homes if each.startswith("/"))


def is_protected(relative: str) -> bool:
    """Whether a path, free of links, lies in what git keeps, by its names alone."""
    return any(is_git_name(part) for part in relative.split("/"))


def find_protected(
    workspace: Workspace, report: Callable[[str], None] = lambda sentence: None
) -> list[str]:
    """What in a workspace a sandbox has to make read-only: absolute paths, free of links.

    `.git` wherever it is, what a file of that name points to, what looks like a repository of
    its own, and our own directories. What is not there yet cannot be found.

    Args:
        report: is told where only a part of a large workspace was looked through.
    """
    found, is_cut = find_gitdirs(workspace.fd, workspace.path)
    if is_cut:
        report(TOO_LARGE.format(path="This directory"))
    for each in workspace.own:
        if is_beneath(workspace.path, each):
            found.append(workspace.path)
        elif is_beneath(each, workspace.path) and os.path.exists(each):
            found.append(each)
    if is_protected(workspace.path) or is_gitdir(workspace.fd):
        found.append(workspace.path)
    return [
        each
        for each in sorted(set(found))
        if not any(other != each and is_beneath(each, other) for other in found)
    ]


def find_repositories(path: str, report: Callable[[str], None]) -> list[str]:
    """What git keeps in another directory that commands may write to; as `find_protected`."""
    real = os.path.realpath(path)
    try:
        fd = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        found, is_cut = find_gitdirs(fd, real)
    finally:
        os.close(fd)
    if is_cut:
        report(TOO_LARGE.format(path=real))
    return found


def pick_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Of the caller's variables those that a tool's process gets."""
    return {
        name: value for name, value in env.items() if name in ENVIRONMENT or name.startswith("LC_")
    }
