"""Files put into a work tree and taken out of it, whatever stands on the way.

Each step of a path is opened by itself, and none of them may be a link: whoever swaps
a directory for one while we write has us stop, and never write elsewhere. A file takes
its place whole. `.git` is no place for anything of ours.
"""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from askd.tools.gitdirs import is_git_name

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
EXECUTE = 0o111
COPY_BYTES = 1024 * 1024


class BadPath(ValueError):
    """A path that is none of a file in a work tree."""


def split_path(path: str) -> list[str]:
    """The steps of a relative path; raises `BadPath` for one that could lead elsewhere."""
    steps = path.split("/")
    for step in steps:
        if step in ("", ".", "..") or "\0" in step or is_git_name(step):
            raise BadPath(f"{path!r} is no file of a work tree")
    return steps


@contextmanager
def open_parent(top: str, folders: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """A directory below `top`, step by step; `make` what is missing. Raises `OSError`."""
    descriptor = os.open(top, FOLDER)
    try:
        for step in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
                    os.mkdir(step, mode, dir_fd=descriptor)
                    # The daemon makes all its own files private; these are not its own.
                    _set_mode(descriptor, step, mode)
            below = os.open(step, FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _set_mode(parent: int, name: str, mode: int) -> None:
    made = os.open(name, FOLDER, dir_fd=parent)
    try:
        os.fchmod(made, mode)
    finally:
        os.close(made)


def is_there(top: str, path: str) -> bool:
    """Whether anything stands at a path, or on the way to it; raises `OSError`."""
    *folders, name = split_path(path)
    try:
        with open_parent(top, folders) as parent:
            os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def take_out(top: str, path: str, *, folders_too: bool) -> None:
    """Remove a file or link, and the directories that are empty then; raises `OSError`."""
    *folders, name = split_path(path)
    with contextlib.suppress(FileNotFoundError), open_parent(top, folders) as parent:
        os.unlink(name, dir_fd=parent)
    while folders and folders_too:
        *above, last = folders
        try:
            with contextlib.suppress(FileNotFoundError), open_parent(top, above) as parent:
                os.rmdir(last, dir_fd=parent)
        except OSError:
            return  # something is in it
        folders = above


def put_link(top: str, path: str, target: str) -> None:
    """Make a link, in the place of whatever file stands there; raises `OSError`."""
    *folders, name = split_path(path)
    with open_parent(top, folders, make=True) as parent:
        draft = _name_draft()
        os.symlink(target, draft, dir_fd=parent)
        _settle(parent, draft, name)


def put_file(top: str, path: str, content: IO[bytes], *, mode: int | None, runs: bool) -> None:
    """Write a file, in the place of whatever file or link stands there; raises `OSError`.

    Args:
        mode: its permissions; None: those that it has, or that fit where it is made, with
            the right to execute as `runs` says.
    """
    *folders, name = split_path(path)
    with open_parent(top, folders, make=True) as parent:
        draft = _name_draft()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600, dir_fd=parent)
        try:
            with os.fdopen(descriptor, "wb") as sink:
                shutil.copyfileobj(content, sink, COPY_BYTES)
                sink.flush()
                os.fchmod(descriptor, _find_mode(parent, name, runs) if mode is None else mode)
        except BaseException:
            os.unlink(draft, dir_fd=parent)
            raise
        _settle(parent, draft, name)


def _find_mode(parent: int, name: str, runs: bool) -> int:
    """The mode of the file that is there, else of one that its directory's people may use."""
    mode = stat.S_IMODE(os.fstat(parent).st_mode) & 0o777 | 0o600
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            mode = stat.S_IMODE(found.st_mode)
    # Whoever may read it may run it.
    return (mode & ~EXECUTE) | ((mode & 0o444) >> 2 if runs else 0)


def _settle(parent: int, draft: str, name: str) -> None:
    try:
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        os.unlink(draft, dir_fd=parent)
        raise


def _name_draft() -> str:
    return f".ask-{secrets.token_hex(8)}"


def copy_out(top: str, path: str, source: Path, *, is_link: bool, runs: bool) -> None:
    """Put what a checkout in `source` made of a file into its place; raises `OSError`.

    A filter has made it, which may have put anything there: nothing is followed.
    """
    *folders, name = split_path(path)
    with open_parent(str(source), folders) as parent:
        if is_link:
            put_link(top, path, os.readlink(name, dir_fd=parent))
            return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(name, flags, dir_fd=parent)
    with os.fdopen(descriptor, "rb") as content:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadPath(f"{path!r} is no file")
        put_file(top, path, content, mode=None, runs=runs)
