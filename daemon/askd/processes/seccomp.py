"""seccomp: a filter that refuses a confined process the system calls that lead out.

It sees numbers and plain arguments, never what a pointer points to; what depends on
paths is Landlock's, or the mount namespace's. Standard library only: the programs of
this room load it before they become a command. Refused calls fail with an error as if a
kernel did not have them, or had said no; only foreign machine code ends the process.

Filters and their instructions: https://docs.kernel.org/userspace-api/seccomp_filter.html,
linux/filter.h, linux/seccomp.h
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Sequence

from askd.processes.syscalls import AUDIT_ARCH, MACHINE, TABLES

# Instructions: load a word of the call, test the loaded word, give the verdict.
LOAD, EQUALS, HAS_BIT, AND, RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
ALLOW, KILL, FAIL, ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
NUMBER_AT, ARCH_AT, ARGUMENTS_AT, ARGUMENT_BYTES = 0, 4, 16, 8
"""Where the parts of a call stand in what a filter sees (struct seccomp_data)."""

X32 = 0x40000000
"""The bit of the numbers of x32, a second door to the same kernel on x86-64."""

SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5
"""The last: who waits for a listener is not disturbed by signals that do not end it."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPES = 1, 5, 0xF

TIOCSTI, TIOCLINUX, TIOCSETD = 0x5412, 0x541C, 0x5423
SET_FLAGS, SET_XFLAGS = 0x40086602, 0x401C5820
"""Attributes of files, like `chattr`, by a descriptor that only reads."""
F_SETLEASE = 1024

OUTWARD = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "pidfd_getfd", "kcmp", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
    "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare",
    "setns", "kexec_load", "kexec_file_load", "bpf", "add_key", "request_key", "keyctl",
    "perf_event_open", "userfaultfd", "fanotify_init", "open_by_handle_at", "init_module",
    "finit_module", "delete_module", "swapon", "swapoff", "reboot", "acct", "quotactl",
    "quotactl_fd", "sethostname", "setdomainname", "settimeofday", "clock_settime",
    "clock_adjtime", "syslog", "iopl", "ioperm", "vhangup", "move_pages", "migrate_pages",
)  # fmt: skip
"""Reach other processes or the machine, or open what most attacks on a kernel began with."""

NOT_THERE = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2")
"""As if the kernel were older, and programs have another way: the first make calls past every
filter, and what the last two would make stands behind a pointer."""

SHARED = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd",
    "msgrcv", "msgctl", "mq_open", "mq_unlink",
)  # fmt: skip
"""Without namespaces: memory and queues of others."""

ATTRIBUTES = (
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr",
    "fremovexattr", "removexattrat", "file_setattr",
)  # fmt: skip
"""The same for attributes of files outside: `cp` and `tar` go on without."""

OF_OTHERS = (
    ("prlimit64", 0), ("sched_setparam", 0), ("sched_setscheduler", 0), ("sched_setaffinity", 0),
    ("sched_setattr", 0), ("setpriority", 1), ("ioprio_set", 1),
)  # fmt: skip
"""May be meant for any process of the user's: which argument says whose, 0 for the own."""

TIMES = ("utime", "utimes", "futimesat", "utimensat")
OWNERS = ("chown", "fchown", "lchown", "fchownat")
METADATA = ("chmod", "fchmod", "fchmodat", "fchmodat2", *OWNERS, *TIMES)
"""Modes, owners and times of files: Landlock does not see them, and a path is behind a pointer.
They are asked about (`metadata`)."""

MODES = (
    ("chmod", None, 1), ("fchmod", None, 1), ("fchmodat", None, 2), ("fchmodat2", None, 2),
    ("open", 1, 2), ("openat", 2, 3), ("creat", None, 1), ("mknod", None, 1), ("mknodat", None, 2),
)  # fmt: skip
"""Calls that set a mode: which argument it is, and where others say whether it counts."""
SET_ID = 0o6000
"""What was so marked would run as this user for everybody, outside and later."""
CREATES = 0o100 | 0o20000000
"""O_CREAT, and what makes O_TMPFILE of O_DIRECTORY."""

Instruction = tuple[int, int, int, int]


def is_known() -> bool:
    """Whether there is a filter for this machine."""
    return MACHINE in TABLES


def build(
    *, families: Sequence[int], shares: bool, ask: bool = False, machine: str = MACHINE
) -> bytes:
    """The filter: `families` of sockets that can be made; AF_UNIX is never among them.

    `shares`: the process has no namespaces of its own. `ask`: what it does to modes, owners
    and times of files is asked of a listener, and not refused.
    """
    numbers = TABLES[machine]
    code: list[Instruction] = [_load(ARCH_AT), _jump(EQUALS, AUDIT_ARCH[machine], 1, 0)]
    code += [_give(KILL), _load(NUMBER_AT)]
    if machine == "x86_64":
        code += [_jump(HAS_BIT, X32, 0, 1), _give(KILL)]

    def rule(name: str, *block: Instruction) -> None:
        if name in numbers:
            code.extend((_jump(EQUALS, numbers[name], 0, len(block)), *block))

    def refuse(names: Iterable[str], error: int) -> None:
        for name in names:
            rule(name, _give(FAIL | error))

    refuse(OUTWARD, errno.EPERM)
    refuse(NOT_THERE, errno.ENOSYS)
    rule("clone", *_when(0, HAS_BIT, (NEW_NAMESPACES,), errno.EPERM))
    controls = (TIOCSTI, TIOCLINUX, TIOCSETD, *((SET_FLAGS, SET_XFLAGS) if shares else ()))
    rule("ioctl", *_when(1, EQUALS, controls, errno.EPERM))
    rule("socket", *_unless(0, families, errno.EACCES))
    # A pair of datagram sockets could still be turned to any socket in the file system.
    rule("socketpair", *_unless(1, (SOCK_STREAM, SOCK_SEQPACKET), errno.EACCES, mask=SOCK_TYPES))
    for name, flags, mode in MODES:
        after = _give(ASK if ask else FAIL | errno.EPERM) if shares and name in METADATA else None
        rule(name, *_unless_set_id(flags, mode, after or _give(ALLOW)))
    if shares:
        refuse(SHARED, errno.EPERM)
        refuse(ATTRIBUTES, errno.ENOTSUP)
        for name, argument in OF_OTHERS:
            rule(name, *_unless(argument, (0,), errno.EPERM))
        rule("fcntl", *_when(1, EQUALS, (F_SETLEASE,), errno.EPERM))
        for name in (*OWNERS, *TIMES):
            rule(name, _give(ASK if ask else FAIL | errno.EPERM))
    code.append(_give(ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def install(program: bytes, *, listener: bool = False) -> int:
    """Filter this process and whatever it starts from now on; the listener's descriptor, or 0.

    Raises:
        OSError: the kernel takes no filter, or no_new_privs is not set.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: how many instructions, and where; the kernel reads it at once.
    whole = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    result: int = libc.syscall(
        ctypes.c_long(TABLES[MACHINE]["seccomp"]),
        ctypes.c_uint(SET_MODE_FILTER),
        ctypes.c_uint(NEW_LISTENER | WAIT_KILLABLE if listener else 0),
        whole,
    )
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "seccomp")
    return result


def _load(at: int) -> Instruction:
    return (LOAD, 0, 0, at)


def _jump(test: int, value: int, hit: int, miss: int) -> Instruction:
    return (test, hit, miss, value)


def _give(verdict: int) -> Instruction:
    return (RETURN, 0, 0, verdict)


def _load_argument(index: int) -> Instruction:
    # The lower half: the kernel itself looks at no more of these, and both machines are
    # little-endian.
    return _load(ARGUMENTS_AT + index * ARGUMENT_BYTES)


def _when(argument: int, test: int, values: Sequence[int], error: int) -> list[Instruction]:
    """Fail if the argument passes the test with one of the values."""
    block = [_load_argument(argument)]
    for value in values:
        block += [_jump(test, value, 0, 1), _give(FAIL | error)]
    return [*block, _give(ALLOW)]


def _unless(
    argument: int, values: Sequence[int], error: int, *, mask: int = 0
) -> list[Instruction]:
    """Fail unless the argument is one of the values."""
    block = [_load_argument(argument)]
    block += [(AND, 0, 0, mask)] if mask else []
    for value in values:
        block += [_jump(EQUALS, value, 0, 1), _give(ALLOW)]
    return [*block, _give(FAIL | error)]


def _unless_set_id(flags: int | None, mode: int, after: Instruction) -> list[Instruction]:
    """Fail if a mode that counts has a set-ID bit."""
    block = [_load_argument(mode), _jump(HAS_BIT, SET_ID, 0, 1), _give(FAIL | errno.EPERM), after]
    if flags is None:
        return block
    return [_load_argument(flags), _jump(HAS_BIT, CREATES, 0, len(block) - 1), *block]
