"""Modes, owners and times of files, changed for a confined command where it may write.

Landlock does not see these calls, and a filter does not see the paths that they name. So
the filter stops them and asks the launcher, which reads what is meant, opens it, looks at
what it has opened, and only then does it itself: nothing that the command does meanwhile
can make it another file. Standard library only. It reads a process's memory and changes
files of its own user's; set-user-ID bits it gives to none.

How calls are handed over: seccomp_unotify(2), linux/seccomp.h
"""

import contextlib
import errno
import fcntl
import os
import struct
import time
from collections.abc import Sequence

from askd.processes.grants import is_beneath
from askd.processes.seccomp import METADATA, OWNERS
from askd.processes.syscalls import MACHINE, TABLES

# ioctl numbers of a listener, and the structures that they take.
RECEIVE, SEND, IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
REQUEST, RESPONSE = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")

AT_FDCWD, NO_FOLLOW, EMPTY_PATH = -100, 0x100, 0x1000
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
"""In place of nanoseconds (linux/stat.h)."""

PATH_BYTES = 4096
SECOND_NS = 10**9

# Each call: which argument is the directory (None: the working directory), the path (None: the
# directory is what is meant), the mode, the owner (its group follows) or the times, and the flags.
SHAPES: dict[str, tuple[int | None, int | None, int, int | None]] = {
    "chmod": (None, 0, 1, None),
    "fchmod": (0, None, 1, None),
    "fchmodat": (0, 1, 2, None),
    "fchmodat2": (0, 1, 2, 3),
    "chown": (None, 0, 1, None),
    "fchown": (0, None, 1, None),
    "lchown": (None, 0, 1, None),
    "fchownat": (0, 1, 2, 4),
    "utime": (None, 0, 1, None),
    "utimes": (None, 0, 1, None),
    "futimesat": (0, 1, 2, None),
    "utimensat": (0, 1, 2, 3),
}
UNITS_NS = {"utime": SECOND_NS, "utimes": 1000, "futimesat": 1000, "utimensat": 1}
"""What the part beside the seconds counts in; `utime` has seconds alone."""

NAMES = {TABLES[MACHINE][name]: name for name in METADATA if name in TABLES.get(MACHINE, {})}


class Listener:
    """Answers the calls of one confined command, one at a time."""

    def __init__(
        self, fd: int, *, writable: Sequence[str], kept: Sequence[str], owner: int
    ) -> None:
        self.fd = fd
        self._writable = writable
        self._kept = kept
        self._owner = owner

    def answer(self) -> None:
        """Take one call that waits, and say what came of it."""
        request = bytearray(REQUEST.size)
        try:
            fcntl.ioctl(self.fd, RECEIVE, request)
        except OSError:  # it was ended while it waited
            return
        number, pid, _, call, _, _, *arguments = REQUEST.unpack(request)
        try:
            self._act(number, pid, NAMES[call], arguments)
            trouble = 0
        except OSError as error:
            trouble = -(error.errno or errno.EPERM)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.fd, SEND, RESPONSE.pack(number, 0, trouble, 0))

    def _act(self, number: int, pid: int, name: str, arguments: list[int]) -> None:
        at, path_at, value_at, flags_at = SHAPES[name]
        flags = arguments[flags_at] if flags_at is not None else 0
        flags |= NO_FOLLOW if name == "lchown" else 0
        directory = AT_FDCWD if at is None else _as_int(arguments[at])
        address = 0 if path_at is None else arguments[path_at]
        path = _read_path(pid, address) if address else ""
        if not path and address and not flags & EMPTY_PATH:
            raise OSError(errno.ENOENT, "no path")
        times = b""
        if name in UNITS_NS and arguments[value_at]:
            times = _read(pid, arguments[value_at], 16 if name == "utime" else 32)
        target = _open(pid, directory, path, follow=not flags & NO_FOLLOW)
        try:
            # Whose directories these were is certain only if it still waits.
            fcntl.ioctl(self.fd, IS_VALID, struct.pack("=Q", number))
            found = self._check(target)
            if name in UNITS_NS:
                _set_times(target, times, UNITS_NS[name], found)
            elif name in OWNERS:
                _check_owner(found, *arguments[value_at : value_at + 2])
            else:
                os.chmod(f"/proc/self/fd/{target}", arguments[value_at] & 0o1777)
        finally:
            os.close(target)

    def _check(self, target: int) -> os.stat_result:
        """What is open, if a command may change it."""
        path = os.readlink(f"/proc/self/fd/{target}")
        found = os.fstat(target)
        if not any(is_beneath(path, each) for each in self._writable) or any(
            is_beneath(path, each) for each in self._kept
        ):
            raise OSError(errno.EPERM, "not beneath what is writable")
        if found.st_uid != self._owner:
            raise OSError(errno.EPERM, "somebody else's")
        return found


def _open(pid: int, directory: int, path: str, *, follow: bool) -> int:
    """What the process means, opened as a place only. Its `/proc/self` is its own."""
    own = f"/proc/{pid}"
    base = f"{own}/cwd" if directory == AT_FDCWD else f"{own}/fd/{directory}"
    for alias in ("/proc/self/", "/proc/thread-self/"):
        if path.startswith(alias):
            path = f"{own}/{path.removeprefix(alias)}"
    start = os.open(base, os.O_PATH | os.O_CLOEXEC)
    if not path:
        return start
    try:
        mode = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        return os.open(path, mode, dir_fd=start)
    finally:
        os.close(start)


def _check_owner(found: os.stat_result, owner: int, group: int) -> None:
    """Giving files away is nobody's but root's; that nothing changes can be had."""
    for wanted, had in ((owner, found.st_uid), (group, found.st_gid)):
        if _as_int(wanted) not in (-1, had):
            raise OSError(errno.EPERM, "another owner")


def _set_times(target: int, times: bytes, unit_ns: int, found: os.stat_result) -> None:
    now = time.time_ns()
    wanted = [now, now]
    if len(times) == 16:
        wanted = [seconds * SECOND_NS for seconds in struct.unpack("=2q", times)]
    elif times:
        parts = struct.unpack("=4q", times)
        for index, had in enumerate((found.st_atime_ns, found.st_mtime_ns)):
            seconds, part = parts[2 * index : 2 * index + 2]
            if unit_ns == 1 and part in (NOW, OMIT):
                wanted[index] = now if part == NOW else had
            else:
                wanted[index] = seconds * SECOND_NS + part * unit_ns
    os.utime(f"/proc/self/fd/{target}", ns=(wanted[0], wanted[1]))


def _read_path(pid: int, address: int) -> str:
    data = _read(pid, address, PATH_BYTES)
    if b"\0" not in data:
        raise OSError(errno.ENAMETOOLONG, "no end")
    return os.fsdecode(data.partition(b"\0")[0])


def _read(pid: int, address: int, size: int) -> bytes:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(memory, size, address)
    finally:
        os.close(memory)


def _as_int(argument: int) -> int:
    """The lower half, with its sign: how the kernel takes a descriptor."""
    value: int = struct.unpack("=i", struct.pack("=I", argument & 0xFFFFFFFF))[0]
    return value
