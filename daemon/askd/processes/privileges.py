"""Gives up what root may do beyond other users: a confined command has no capabilities.

Landlock asks nobody who they are, but much of what root can do is no matter of files:
to set the clock, to load modules, to make devices. Standard library only.

Capabilities: capabilities(7), linux/capability.h, linux/prctl.h
"""

import ctypes
import os

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522
CAPABILITIES_MAX = 64

_libc = ctypes.CDLL(None, use_errno=True)


def drop() -> None:
    """Keep no capability, also over what is executed later, set-user-ID programs included.

    Raises:
        OSError: the kernel would not.
    """
    forbid_new()
    for capability in range(CAPABILITIES_MAX):
        # Without CAP_SETPCAP they cannot be taken from the bound, nor gained from there.
        if _libc.prctl(PR_CAPBSET_DROP, *map(ctypes.c_ulong, (capability, 0, 0, 0))) < 0:
            break
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    had = (ctypes.c_uint32 * 6)()
    if _libc.capget(header, had) < 0:
        raise _trouble()
    # Where there is nothing to give up, a service may not even be allowed to.
    if any(had) and _libc.capset(header, (ctypes.c_uint32 * 6)()) < 0:
        raise _trouble()


def forbid_new() -> None:
    """Let nothing that is executed from here on gain more than this process has."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _prctl(option: int, argument: int) -> None:
    if _libc.prctl(option, *map(ctypes.c_ulong, (argument, 0, 0, 0))) < 0:
        raise _trouble()


def _trouble() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), "capabilities")
