"""Landlock: this process, and whatever it starts, may do with files what a list allows.

Standard library only: the programs of this room load it before they become a command.
Landlock allows and cannot forbid: what is granted on a directory is granted on all
beneath it. What should be granted is not known here (`grants`), and what Landlock does not
see is `seccomp`'s to refuse: modes and times of files, sockets other than TCP.

System calls, structures and rights: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import struct
from collections.abc import Iterable

from askd.processes import privileges

# The same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK = 1 << 6, 1 << 7, 1 << 8, 1 << 9
MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 1 << 10, 1 << 11, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = (
    WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM
    | REFER | TRUNCATE
)  # fmt: skip
"""All that writing is, but for making devices, which nobody is granted."""
ON_FILES = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
"""What can be granted on something that is no directory."""

HANDLED = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
"""From which version on which rights are known."""

NET_SINCE, BIND_TCP, CONNECT_TCP = 4, 1 << 0, 1 << 1
SCOPE_SINCE, ABSTRACT_SOCKETS, SIGNALS = 6, 1 << 0, 1 << 1

VERSION_MIN = 6
"""Linux 6.12. Below, a command could signal every process of the user's."""

_libc = ctypes.CDLL(None, use_errno=True)


def find_version() -> int:
    """The version of this kernel's Landlock; 0: it has none, or it is switched off."""
    version: int = _libc.syscall(
        ctypes.c_long(CREATE_RULESET),
        None,
        ctypes.c_size_t(0),
        ctypes.c_uint32(CREATE_RULESET_VERSION),
    )
    return max(version, 0)


def handled(version: int) -> int:
    """All rights on files that a version knows."""
    known = 0
    for since, rights in HANDLED:
        known |= rights if version >= since else 0
    return known


def restrict(grants: Iterable[tuple[str, int]], *, version: int, network: bool) -> None:
    """Keep this process to what is granted, a path and rights each; there is no way back.

    Signals to processes outside, and abstract sockets of theirs, are refused, too, and
    without `network` all TCP. A path that is not there grants nothing; links are not followed.

    Raises:
        OSError: Landlock would not; the process is then as free as before.
    """
    net = BIND_TCP | CONNECT_TCP if version >= NET_SINCE and not network else 0
    scope = ABSTRACT_SOCKETS | SIGNALS if version >= SCOPE_SINCE else 0
    size = 24 if version >= SCOPE_SINCE else 16 if version >= NET_SINCE else 8
    attributes = struct.pack("=QQQ", handled(version), net, scope)[:size]
    ruleset = _call(CREATE_RULESET, attributes, size, 0)
    try:
        for path, rights in grants:
            _grant(ruleset, path, rights & handled(version))
        privileges.forbid_new()
        _call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        is_directory = os.path.isdir(f"/proc/self/fd/{place}")
        rights &= -1 if is_directory else ON_FILES
        if rights:
            rule = struct.pack("=Qi", rights, place)
            _call(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: int | bytes) -> int:
    # Whole registers: the kernel reads them so, whatever the width of an argument.
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *whole))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "Landlock")
    return result
