"""Opening what lies beneath a directory, and nothing else, whatever the path says.

The kernel resolves the path and holds it in the directory while it does
(openat2, Linux 5.6): `..`, absolute links, links of /proc and a directory that is swapped
for a link in the same moment lead nowhere else. Comparing names before opening could
not do that. Where the kernel has none, or a filter forbids it, the path is walked one
part at a time, and no link is followed at all. This module knows nothing of tools.
"""

import ctypes
import errno
import os
import stat
from functools import cache

# Of include/uapi/linux/openat2.h and the table of system calls; 437 on every architecture
# that Python's wheels are built for.
SYS_OPENAT2 = 437
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

TRIES = 64
"""The kernel says EAGAIN where something was renamed while it followed a `..`."""

PATH_BYTES = 4095
"""PATH_MAX without its NUL: no kernel opens a longer one."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(root: int, path: str, flags: int, *, links: bool = True) -> int:
    """Open what `path` names below the directory `root`; a descriptor that no child inherits.

    Creates nothing. Raises `OSError`: EXDEV for what leads out, ELOOP for a link that is not
    followed, and whatever opening raises.

    Args:
        path: relative to `root`; an absolute one leads out.
        links: follow those that stay beneath; only as far as the kernel sees to that.
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise _error(errno.EINVAL, path)
    if len(name) > PATH_BYTES:
        raise _error(errno.ENAMETOOLONG, path)
    if not name:
        raise _error(errno.ENOENT, path)
    flags |= os.O_CLOEXEC
    if has_openat2():
        return _open_by_kernel(root, name, flags, links)
    return _walk(root, name, flags)


@cache
def has_openat2() -> bool:
    """Whether the kernel resolves paths beneath a directory, and lets us have it done."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        os.close(_openat2(root, b".", os.O_PATH | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def _openat2(root: int, name: bytes, flags: int, *, links: bool = True) -> int:
    resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (0 if links else RESOLVE_NO_SYMLINKS)
    how = _OpenHow(flags, 0, resolve)
    found: int = _LIBC.syscall(
        ctypes.c_long(SYS_OPENAT2),
        ctypes.c_int(root),
        ctypes.c_char_p(name),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if found < 0:
        raise _error(ctypes.get_errno(), os.fsdecode(name))
    return found


def _open_by_kernel(root: int, name: bytes, flags: int, links: bool) -> int:
    for _ in range(TRIES):
        try:
            return _openat2(root, name, flags, links=links)
        except (BlockingIOError, InterruptedError):
            continue
    raise _error(errno.EAGAIN, os.fsdecode(name))


def _walk(root: int, name: bytes, flags: int) -> int:
    """Part by part, each below the directory that the one before has opened."""
    if name.startswith(b"/"):
        raise _error(errno.EXDEV, os.fsdecode(name))
    parts = [each for each in name.split(b"/") if each not in (b"", b".")]
    if b".." in parts:
        # Going up again is the kernel's to allow; without links there is no need for it.
        raise _error(errno.EXDEV, os.fsdecode(name))
    if name.endswith((b"/", b"/.")):
        flags |= os.O_DIRECTORY
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    try:
        for part in parts[:-1]:
            inner = _open_part(here, part, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            os.close(here)
            here = inner
        return _open_part(here, parts[-1] if parts else b".", flags)
    finally:
        os.close(here)


def _open_part(parent: int, part: bytes, flags: int) -> int:
    try:
        found = os.open(part, flags | os.O_NOFOLLOW, dir_fd=parent)
    except NotADirectoryError:
        if _is_link(part, parent):
            raise _error(errno.ELOOP, os.fsdecode(part)) from None
        raise
    # With O_PATH and O_NOFOLLOW the link itself is opened, and that is no way to anything.
    if flags & os.O_PATH and _is_link(b"", found):
        os.close(found)
        raise _error(errno.ELOOP, os.fsdecode(part))
    return found


def _is_link(part: bytes, descriptor: int) -> bool:
    """Whether a name in an open directory is a link; no name: whether what is open is one."""
    try:
        if part:
            status = os.stat(part, dir_fd=descriptor, follow_symlinks=False)
        else:
            status = os.fstat(descriptor)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
