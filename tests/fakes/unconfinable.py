"""Runs a command on a machine where nothing can be confined: no Landlock, no namespaces.

A program, `python unconfinable.py ARGV...`: the kernel answers the command, and all that
it starts, as one that never had Landlock and allows no namespaces, so bubblewrap fails
too, wherever it is. Nothing else is kept from it.
"""

import errno
import os
import struct
import sys

from askd.processes import privileges, seccomp
from askd.processes.syscalls import AUDIT_ARCH, COMMON, MACHINE, TABLES

LANDLOCK = (444, 445, 446)
NAMESPACES = (TABLES[MACHINE]["unshare"], TABLES[MACHINE]["clone"], COMMON["clone3"])

# From linux/filter.h: load a word, compare it, test its bits, answer.
LOAD, EQUALS, HAS_BIT, ANSWER = 0x20, 0x15, 0x45, 0x06
FAIL, ALLOW = 0x00050000, 0x7FFF0000


def make_filter() -> bytes:
    """The kernel's answers."""
    code = [(LOAD, 0, 0, 4), (EQUALS, 1, 0, AUDIT_ARCH[MACHINE]), (ANSWER, 0, 0, ALLOW)]
    code.append((LOAD, 0, 0, 0))
    for number in (*LANDLOCK, COMMON["clone3"]):
        code += [(EQUALS, 0, 1, number), (ANSWER, 0, 0, FAIL | errno.ENOSYS)]
    for number in NAMESPACES[:2]:
        code += [(EQUALS, 0, 4, number), (LOAD, 0, 0, 16), (HAS_BIT, 0, 1, 0x7E020000)]
        code += [(ANSWER, 0, 0, FAIL | errno.EPERM), (ANSWER, 0, 0, ALLOW)]
    code.append((ANSWER, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in code)


if __name__ == "__main__":
    privileges.forbid_new()
    seccomp.install(make_filter())
    os.execvp(sys.argv[1], sys.argv[1:])
