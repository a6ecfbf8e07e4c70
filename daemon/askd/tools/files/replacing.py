"""Putting a file's new content in place: whole or not at all, and never through a link.

The content is written beside the file, under a name that nobody knows, and takes the
file's name once it is on the disk. So a file that has other names elsewhere (hard links)
keeps its content there. It asks nobody, and it makes no copy of what was there before.
"""

import os
import secrets
import stat
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import trio

from askd.tools.base import CannotRun, Site
from askd.tools.files.places import Found, Spot, open_content, show_path

OPEN_FILE = 0o644
OPEN_DIRECTORY = 0o755
"""The most that others get of what is new; less where its directory gives them less."""

SIGHTS = 512
"""States of files that were shown to somebody and are remembered until the call runs."""

State = tuple[int, int, int, int, int]
"""What changes when a file does: device, inode, size, and both times in nanoseconds."""


@dataclass(slots=True)
class Desk:
    """What the tools that write share: one writer at a time a workspace, and what was shown.

    The states are kept in memory: after a restart of the daemon nothing is known of them,
    and the call runs as it was allowed.
    """

    _locks: WeakValueDictionary[str, trio.Lock] = field(default_factory=WeakValueDictionary)
    _sights: OrderedDict[tuple[str, str, str], "Sight"] = field(default_factory=OrderedDict)

    def find_lock(self, site: Site) -> trio.Lock:
        """The lock of the directory that a call runs in."""
        return self._locks.setdefault(site.cwd or "", trio.Lock())

    def note_sight(self, site: Site, sight: "Sight") -> None:
        """Remember what a call would replace; the first look counts, it is what was shown."""
        self._sights.setdefault(_name_call(site), sight)
        while len(self._sights) > SIGHTS:
            self._sights.popitem(last=False)

    def take_sight(self, site: Site) -> "Sight | None":
        """What was shown of a call that now runs; None: nothing is known of that."""
        return self._sights.pop(_name_call(site), None)


def refuse_changed(shown: "Sight | None", now: "Sight") -> None:
    """Raise `CannotRun` if what was shown is known, and is no longer so."""
    if shown not in (None, now):
        name = show_path(now.relative)
        raise CannotRun(f"{name} has changed since that was decided; read it again.")


@dataclass(frozen=True, slots=True)
class Sight:
    """What a call was shown with: where it really is, and what was there; None: nothing.

    For an edit, which fits what it finds or is refused, the state is None always.
    """

    relative: str
    state: State | None = None


def _name_call(site: Site) -> tuple[str, str, str]:
    return site.conversation_id, site.turn_id, site.call_id


def see(spot: Spot) -> Sight:
    """What is there now, in short."""
    return Sight(spot.relative, None if spot.found is None else _state(spot.found.status))


def read_content(spot: Spot, most: int) -> bytes | None:
    """What a file holds; None: more than `most` bytes. Raises `OSError`."""
    if spot.found is None:
        return b""
    if spot.found.status.st_size > most:
        return None
    with os.fdopen(open_content(spot.found), "rb") as stream:
        content = stream.read(most + 1)
    return content if len(content) <= most else None


def replace_content(spot: Spot, content: bytes, path: str) -> None:
    """Write `content` to where `spot` is; directories above it are made. Raises `OSError`.

    `CannotRun`: what is there is no longer what `spot` found.
    """
    directory = os.dup(spot.directory)
    try:
        for name in spot.missing:
            inner = _make_directory(directory, name)
            os.close(directory)
            directory = inner
        _replace(directory, spot, content, path)
    finally:
        os.close(directory)


def _make_directory(parent: int, name: str) -> int:
    mode = stat.S_IMODE(os.fstat(parent).st_mode) & OPEN_DIRECTORY | stat.S_IRWXU
    with suppress(FileExistsError):
        os.mkdir(name, mode, dir_fd=parent)
        made = os.open(name, _DIRECTORY, dir_fd=parent)
        os.fchmod(made, mode)
        return made
    return os.open(name, _DIRECTORY, dir_fd=parent)


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _replace(directory: int, spot: Spot, content: bytes, path: str) -> None:
    temporary = f".ask-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            _give_away(handle, directory, spot.found)
            os.fsync(handle)
        if _look(directory, spot.name) != see(spot).state:
            raise CannotRun(f"{show_path(path)} was changed in this moment; read it again.")
        os.rename(temporary, spot.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        raise
    os.fsync(directory)


def _give_away(handle: int, directory: int, found: Found | None) -> None:
    """Owner and mode of what is replaced; for what is new, what the directory suggests."""
    if found is None:
        # The daemon's own mask is for its secrets; the caller's is not known.
        os.fchmod(handle, stat.S_IMODE(os.fstat(directory).st_mode) & OPEN_FILE | 0o600)
        return
    with suppress(PermissionError):
        os.fchown(handle, found.status.st_uid, found.status.st_gid)
    os.fchmod(handle, found.status.st_mode & 0o777)


def _look(directory: int, name: str) -> State | None:
    try:
        return _state(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _state(status: os.stat_result) -> State:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
