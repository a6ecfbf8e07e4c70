"""From a path that a model gives to an open file of the workspace, or to a sentence.

Whatever is opened is first opened as a mere place (O_PATH), which touches nothing: a named
pipe would wait, a device might act. What a path means is what was opened, never its words.
It reads and writes no content.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from askd.processes.grants import is_beneath
from askd.tools.base import CannotRun
from askd.tools.beneath import PATH_BYTES, open_beneath
from askd.tools.workspace import Workspace, read_path

PATH_CHARACTERS = 200
"""Of a path that is named in a complaint; all of it can be longer than what is said of it."""


def _check_text(text: str) -> str:
    if not _is_utf8(text):
        raise ValueError("half a character (a lone surrogate) cannot be written")
    return text


FileText = Annotated[str, AfterValidator(_check_text)]
"""A path, or other text that is written to a disk: whole characters only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something in the workspace, opened as a place; closed when its block ends.

    Attributes:
        relative: where it really is, free of links; `.` is the workspace.
    """

    fd: int
    status: os.stat_result
    relative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a file is to be written.

    Attributes:
        directory: the nearest directory that is there, open.
        missing: the directories that have to be made in it, the outermost first.
        relative: where the file really is or will be, free of links.
        found: what is there now; None: nothing.
    """

    directory: int
    missing: tuple[str, ...]
    name: str
    relative: str
    found: Found | None


@contextmanager
def open_place(workspace: Workspace, path: str) -> Iterator[Found]:
    """What a path leads to, of whatever kind; `CannotRun` says why it does not."""
    with ExitStack() as stack, _in_words(workspace, path):
        found = _open_found(workspace, name_inside(workspace, path), stack)
        if workspace.is_own(found.relative):
            raise CannotRun(
                f"{show_path(path)} belongs to ask itself, and tools do not look at it."
            )
        yield found


@contextmanager
def open_spot(workspace: Workspace, path: str) -> Iterator[Spot]:
    """Where a path would be written; makes nothing. `CannotRun` says why it must not be."""
    relative = name_inside(workspace, path)
    if relative.endswith("/") or relative.rpartition("/")[2] in (".", ".."):
        raise CannotRun(f"{show_path(path)} names a directory, not a file.")
    with ExitStack() as stack, _in_words(workspace, path):
        try:
            found = _open_found(workspace, relative, stack)
        except FileNotFoundError:
            spot = _find_new(workspace, relative, path, stack)
        else:
            refuse_other_kinds(found, path)
            spot = _find_old(workspace, found, path, stack)
        if workspace.is_protected(spot.relative):
            raise CannotRun(
                f"{show_path(path)} is read-only: what git keeps, and what is ask's own, "
                "is not changed by tools."
            )
        _refuse_unwritable(spot, path)
        yield spot


def open_content(found: Found) -> int:
    """Open a regular file for reading; the very one that was found. Raises `OSError`."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    return os.open(f"/proc/self/fd/{found.fd}", flags)


def refuse_other_kinds(found: Found, path: str) -> None:
    """Raise `CannotRun` unless it is a regular file, and one that is kept on some disk."""
    mode = found.status.st_mode
    if not stat.S_ISREG(mode):
        raise CannotRun(f"{show_path(path)} is {describe_kind(mode)}, not a file.")
    # Files of /proc are views of the system, of the daemon's own memory among them.
    with suppress(OSError):
        if found.status.st_dev == os.stat("/proc").st_dev:
            raise CannotRun(f"{show_path(path)} is a view of the system, not a file.")


def name_inside(workspace: Workspace, path: str) -> str:
    """A path as it is below the workspace; what `..` and links in it mean is not looked at."""
    if not path:
        raise CannotRun("The path is empty.")
    if len(os.fsencode(path)) > PATH_BYTES:
        raise CannotRun(f"A path of more than {PATH_BYTES:,} bytes is too long.")
    where = show_path(path)
    if "\0" in path:
        raise CannotRun("A path cannot hold a NUL character.")
    if path == "~" or path.startswith("~/"):
        raise CannotRun(f"{where}: `~` means nothing here; give a path in {workspace.path}.")
    if not path.startswith("/"):
        return path
    for directory in (workspace.path, workspace.given):
        if is_beneath(path, directory):
            return path[len(directory.rstrip("/")) :].lstrip("/") or "."
    raise _leads_out(workspace, path)


def show_path(path: str) -> str:
    """A path on one line, with what would not be seen or would move a terminal as escapes."""
    readable = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in readable
    )


def say_number(number: int, noun: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def describe_kind(mode: int) -> str:
    """What something is, in words."""
    match stat.S_IFMT(mode):
        case stat.S_IFREG:
            return "a file"
        case stat.S_IFDIR:
            return "a directory"
        case stat.S_IFIFO:
            return "a named pipe"
        case stat.S_IFSOCK:
            return "a socket"
        case stat.S_IFLNK:
            return "a link"
        case _:
            return "a device"


def _open_found(workspace: Workspace, relative: str, stack: ExitStack) -> Found:
    fd = open_beneath(workspace.fd, relative, os.O_PATH)
    stack.callback(os.close, fd)
    return Found(fd=fd, status=os.fstat(fd), relative=_locate(workspace, fd))


def _locate(workspace: Workspace, fd: int) -> str:
    """Where something open really is, below the workspace."""
    whole = read_path(fd)
    if whole == workspace.path:
        return "."
    if not is_beneath(whole, workspace.path) or os.fstat(fd).st_nlink == 0:
        # It was moved or removed in between; the kernel then names it by other words.
        raise OSError(errno.EAGAIN, "it is being moved", whole)
    if not _is_utf8(whole):
        raise OSError(errno.EILSEQ, "its name is not in UTF-8", whole)
    return whole[len(workspace.path.rstrip("/")) + 1 :]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _find_old(workspace: Workspace, found: Found, path: str, stack: ExitStack) -> Spot:
    above, _, name = found.relative.rpartition("/")
    directory = open_beneath(workspace.fd, above or ".", os.O_RDONLY | os.O_DIRECTORY, links=False)
    stack.callback(os.close, directory)
    here = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not os.path.samestat(here, found.status):
        raise OSError(errno.EAGAIN, "it is being moved", path)
    return Spot(directory=directory, missing=(), name=name, relative=found.relative, found=found)


def _find_new(workspace: Workspace, relative: str, path: str, stack: ExitStack) -> Spot:
    """The nearest directory above what is not there."""
    parts = [each for each in relative.split("/") if each not in ("", ".")]
    for length in range(len(parts) - 1, -1, -1):
        above = "/".join(parts[:length]) or "."
        try:
            directory = open_beneath(workspace.fd, above, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        stack.callback(os.close, directory)
        *missing, name = parts[length:]
        if ".." in missing:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        first = parts[length]
        with suppress(FileNotFoundError):
            if not stat.S_ISLNK(os.stat(first, dir_fd=directory, follow_symlinks=False).st_mode):
                raise OSError(errno.EAGAIN, "it was made in this moment", path)
            raise CannotRun(f"{show_path(path)} goes through a link to what is not there.")
        base = _locate(workspace, directory)
        whole = "/".join(parts[length:])
        return Spot(
            directory=directory,
            missing=tuple(missing),
            name=name,
            relative=whole if base == "." else f"{base}/{whole}",
            found=None,
        )
    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _refuse_unwritable(spot: Spot, path: str) -> None:
    """Raise `CannotRun` or `OSError` where the system would say no: nobody is to be asked then."""
    # Replacing needs the directory's permission only; a file's own is a person's word, too.
    if spot.found is not None and not _may(spot.found.fd, os.W_OK):
        raise CannotRun(f"{show_path(path)} is read-only.")
    if not _may(spot.directory, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)


def _may(fd: int, what: int) -> bool:
    return os.access(f"/proc/self/fd/{fd}", what, effective_ids=True)


@contextmanager
def _in_words(workspace: Workspace, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explain(error, workspace, path) from None


def explain(error: OSError, workspace: Workspace, path: str) -> CannotRun:
    """What the system said about a path, as a sentence for a model."""
    where = _shorten(path)
    if os.fstat(workspace.fd).st_nlink == 0:
        return CannotRun(f"The directory you stood in ({workspace.path}) is gone.")
    match error.errno:
        case errno.EXDEV:
            return _leads_out(workspace, path)
        case errno.ELOOP:
            return CannotRun(f"{where} goes through a link that is not followed here.")
        case errno.ENOENT:
            return CannotRun(f"There is no {where} in {workspace.path}.")
        case errno.ENOTDIR:
            return CannotRun(f"{where}: a part of that path is no directory.")
        case errno.ENAMETOOLONG:
            return CannotRun(f"{where}: that path is too long.")
        case errno.EAGAIN:
            return CannotRun(f"{where} is being changed by something else; try again.")
        case _:
            reason = os.strerror(error.errno) if error.errno else str(error)
            return CannotRun(f"{where}: {reason}.")


def _leads_out(workspace: Workspace, path: str) -> CannotRun:
    return CannotRun(
        f"{_shorten(path)} is not in the workspace, {workspace.path}, and nothing else can be "
        "reached; a link with an absolute target counts as leading out."
    )


def _shorten(path: str) -> str:
    is_long = len(path) > PATH_CHARACTERS
    return show_path(path[:PATH_CHARACTERS]) + ("…" if is_long else "")
