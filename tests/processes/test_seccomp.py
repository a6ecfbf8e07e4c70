"""The filter, run by a small machine of our own and by the kernel's."""

import errno
import struct
import subprocess
import sys

import pytest

from askd.processes import seccomp
from askd.processes.syscalls import AUDIT_ARCH, MACHINE, TABLES

EPERM = seccomp.FAIL | errno.EPERM
EACCES = seccomp.FAIL | errno.EACCES
ENOSYS = seccomp.FAIL | errno.ENOSYS


def judge(program: bytes, name: str | int, *arguments: int, machine: str = MACHINE) -> int:
    """What a filter says to a call: classic BPF, as far as ours goes."""
    number = name if isinstance(name, int) else TABLES[machine][name]
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, AUDIT_ARCH[machine], 0, *padded)
    code = list(struct.iter_unpack("=HBBI", program))
    at = word = 0
    while True:
        what, hit, miss, value = code[at]
        at += 1
        match what:
            case seccomp.LOAD:
                (word,) = struct.unpack_from("=I", data, value)
            case seccomp.AND:
                word &= value
            case seccomp.EQUALS:
                at += hit if word == value else miss
            case seccomp.HAS_BIT:
                at += hit if word & value else miss
            case seccomp.RETURN:
                return int(value)
            case _:
                raise AssertionError(what)


@pytest.mark.parametrize("machine", TABLES)
@pytest.mark.parametrize("shares", [False, True])
def test_what_is_refused_everywhere(machine: str, shares: bool) -> None:
    program = seccomp.build(families=(), shares=shares, machine=machine)
    for name in seccomp.OUTWARD:
        if name in TABLES[machine]:
            assert judge(program, name, machine=machine) == EPERM, name
    assert judge(program, "clone3", machine=machine) == ENOSYS
    assert judge(program, "io_uring_setup", machine=machine) == ENOSYS
    assert judge(program, "clone", 0x10000000 | 17, machine=machine) == EPERM
    assert judge(program, "clone", 17, machine=machine) == seccomp.ALLOW
    assert judge(program, "ioctl", 0, seccomp.TIOCSTI, machine=machine) == EPERM
    assert judge(program, "ioctl", 0, 0x5401, machine=machine) == seccomp.ALLOW
    # The kernel looks at the lower half of it alone.
    assert judge(program, "ioctl", 0, seccomp.TIOCSTI | 1 << 40, machine=machine) == EPERM


def test_every_name_is_a_call() -> None:
    named = {
        *seccomp.OUTWARD, *seccomp.NOT_THERE, *seccomp.SHARED, *seccomp.ATTRIBUTES,
        *seccomp.METADATA, *dict(seccomp.OF_OTHERS), *(name for name, _, _ in seccomp.MODES),
    }  # fmt: skip
    assert named <= set(TABLES["x86_64"])


@pytest.mark.parametrize("network", [False, True])
def test_sockets(network: bool) -> None:
    families = (seccomp.AF_INET, seccomp.AF_INET6) if network else ()
    program = seccomp.build(families=families, shares=True)
    assert judge(program, "socket", seccomp.AF_UNIX, 1) == EACCES
    assert judge(program, "socket", 17, 3) == EACCES  # packets
    assert judge(program, "socket", 40, 1) == EACCES  # to other machines on this one
    assert judge(program, "socket", seccomp.AF_INET, 1) == (seccomp.ALLOW if network else EACCES)
    cloexec = 0o2000000
    assert judge(program, "socketpair", 1, 1 | cloexec) == seccomp.ALLOW
    assert judge(program, "socketpair", 1, 5) == seccomp.ALLOW
    assert judge(program, "socketpair", 1, 2 | cloexec) == EACCES


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("chmod", (0, 0o4755)), ("fchmod", (3, 0o2755)), ("fchmodat", (3, 0, 0o6755)),
        ("openat", (3, 0, 0o101, 0o4755)), ("openat", (3, 0, 0o20200002, 0o4755)),
    ],
)  # fmt: skip
def test_no_file_runs_as_its_owner(name: str, arguments: tuple[int, ...]) -> None:
    if name in TABLES[MACHINE]:
        program = seccomp.build(families=(), shares=False)
        assert judge(program, name, *arguments) == EPERM
        assert judge(program, name, *(each & ~0o6000 for each in arguments)) == seccomp.ALLOW


def test_a_mode_counts_only_where_a_file_is_made() -> None:
    program = seccomp.build(families=(), shares=True)
    assert judge(program, "openat", 3, 0, 0, 0o7777) == seccomp.ALLOW


def test_without_namespaces_others_are_left_alone() -> None:
    shared = seccomp.build(families=(), shares=True)
    alone = seccomp.build(families=(), shares=False)
    for name, argument in seccomp.OF_OTHERS:
        other = [7 if index == argument else 0 for index in range(3)]
        assert judge(shared, name, *other) == EPERM
        assert judge(shared, name, 0, 0) == judge(alone, name, *other) == seccomp.ALLOW
    assert judge(shared, "shmget") == EPERM
    assert judge(alone, "shmget") == seccomp.ALLOW
    assert judge(shared, "fcntl", 3, seccomp.F_SETLEASE) == EPERM
    assert judge(shared, "fcntl", 3, 1) == seccomp.ALLOW


def test_metadata_is_asked_about_or_refused() -> None:
    for name in seccomp.METADATA:
        if name in TABLES[MACHINE]:
            asks = seccomp.build(families=(), shares=True, ask=True)
            refuses = seccomp.build(families=(), shares=True)
            assert judge(asks, name) == seccomp.ASK
            assert judge(refuses, name) == EPERM


def test_the_other_doors_end_the_process() -> None:
    program = seccomp.build(families=(), shares=False, machine="x86_64")
    assert judge(program, seccomp.X32 | 39, machine="x86_64") == seccomp.KILL
    # Of a filter for another machine, every call is foreign.
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}
    foreign = seccomp.build(families=(), shares=False, machine=other[MACHINE])
    assert judge(foreign, 0) == seccomp.KILL


def test_the_kernel_takes_it() -> None:
    script = """
import socket
from askd.processes import privileges, seccomp
assert seccomp.is_known()
privileges.forbid_new()
seccomp.install(seccomp.build(families=(), shares=False))
try:
    socket.socket(socket.AF_UNIX)
except PermissionError:
    print("refused")
socket.socketpair()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"refused\n"


def test_what_is_no_filter_is_an_error() -> None:
    script = """
from askd.processes import privileges, seccomp
privileges.forbid_new()
try:
    seccomp.install(b"x" * 8)
except OSError as error:
    print(error.filename)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"seccomp\n"
