"""Modes, owners and times under Landlock: changed where the command may write, else refused."""

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from tests.processes.test_launcher import CONFINED, PATIENCE_S, launched

BEGINNING = """
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *arguments):
    return ctypes.get_errno() if function(*arguments) else 0
"""

DENIED = errno.EPERM


def run(tmp_path: Path, *tries: str) -> list[object]:
    """What each line of Python comes to, in a directory of which `kept` is read-only."""
    (tmp_path / "in/kept").mkdir(parents=True)
    (tmp_path / "in/sub").mkdir()
    for each in ("in/file", "in/kept/file", "file"):
        (tmp_path / each).touch(mode=0o600)
    (tmp_path / "in/link").symlink_to("../file")
    script = BEGINNING + "".join(
        f"\ntry:\n    print(repr({each}))\nexcept OSError as error:\n    print(error.errno)\n"
        for each in tries
    )
    confinement = {
        **CONFINED,
        "writable": [str(tmp_path / "in")],
        "read_only": [str(tmp_path / "in/kept")],
    }
    with launched() as one:
        one.tell(sys.executable, "-c", script, cwd=str(tmp_path / "in"), confinement=confinement)
        assert one.hear()["pid"] > 0
        said = one.stdout.read().decode().splitlines()
        assert one.hear() == {"status": 0}
        assert one.process.wait(PATIENCE_S) == 0
    return [None if each == "None" else json.loads(each) for each in said]


def test_modes(tmp_path: Path) -> None:
    assert run(
        tmp_path,
        "os.chmod('file', 0o751)",
        "os.stat('file').st_mode & 0o7777",
        "os.chmod('sub', 0o1700)",
        "os.chmod('.', 0o700)",
        "os.fchmod(os.open('file', os.O_RDONLY), 0o640)",
        "os.stat('file').st_mode & 0o7777",
        "os.chmod('file', 0o644, dir_fd=os.open('.', os.O_RDONLY))",
        "os.chmod(f'/proc/self/fd/{os.open(\"file\", os.O_RDONLY)}', 0o600)",
        "os.stat('file').st_mode & 0o7777",
    ) == [None, 0o751, None, None, None, 0o640, None, None, 0o600]


def test_modes_elsewhere(tmp_path: Path) -> None:
    outside = str(tmp_path / "file")
    before = os.stat("/etc").st_mode
    assert run(
        tmp_path,
        "os.chmod('../file', 0o777)",
        "os.chmod('link', 0o777)",
        f"os.chmod({outside!r}, 0o777)",
        f"os.fchmod(os.open({outside!r}, os.O_RDONLY), 0o777)",
        "os.chmod('kept/file', 0o777)",
        "os.chmod('kept', 0o777)",
        "os.chmod('/etc', 0o777)",
        "os.chmod('file', 0o4700)",
        "os.chmod('none', 0o700)",
        "os.fchmod(99, 0o700)",
        "os.fchmod(os.pipe()[0], 0o700)",
    ) == [*[DENIED] * 8, errno.ENOENT, errno.ENOENT, DENIED]
    assert os.stat(outside).st_mode & 0o777 == 0o600
    assert os.stat("/etc").st_mode == before


def test_what_is_no_path_is_an_error(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "call(libc.chmod, ctypes.c_void_p(1), 0o700)",
        "call(libc.chmod, b'', 0o700)",
        "call(libc.chmod, b'x' * 5000, 0o700)",
    )
    assert found[1:] == [errno.ENOENT, errno.ENAMETOOLONG]
    assert found[0] in (errno.EFAULT, errno.EIO)


def test_times(tmp_path: Path) -> None:
    assert run(
        tmp_path,
        "os.utime('file', (1, 2.5))",
        "[os.stat('file').st_atime, os.stat('file').st_mtime]",
        "os.utime(os.open('file', os.O_RDONLY), (3, 4))",
        "os.stat('file').st_mtime",
        "os.utime('link', (5, 6), follow_symlinks=False)",
        "os.lstat('link').st_mtime",
        "os.utime('file')",
        "int(os.stat('file').st_mtime > 10**9)",
        "os.utime('../file')",
        "os.utime('link')",
        "os.utime('kept/file', (1, 1))",
    ) == [None, [1.0, 2.5], None, 4.0, None, 6.0, None, 1, DENIED, DENIED, DENIED]


@pytest.mark.parametrize(("seconds", "part", "expected"), [(7, 500_000, 7.5), (8, 0, 8.0)])
def test_times_of_older_calls(tmp_path: Path, seconds: int, part: int, expected: float) -> None:
    four = f"(ctypes.c_long * 4)({seconds}, {part}, {seconds}, {part})"
    two = "(ctypes.c_long * 2)(9, 10)"
    kept, now = (1 << 30) - 2, (1 << 30) - 1
    omit = f"(ctypes.c_long * 4)(0, {kept}, 0, {now})"
    assert run(
        tmp_path,
        f"call(libc.utimes, b'file', {four})",
        "os.stat('file').st_mtime",
        f"call(libc.utime, b'file', {two})",
        "os.stat('file').st_mtime",
        f"call(libc.utimensat, -100, b'file', {omit}, 0)",
        "[os.stat('file').st_atime, int(os.stat('file').st_mtime > 10**9)]",
    ) == [0, expected, 0, 10.0, 0, [9.0, 1]]


def test_owners_stay(tmp_path: Path) -> None:
    uid = os.getuid()
    assert run(
        tmp_path,
        "os.chown('file', -1, -1)",
        f"os.chown('file', {uid}, -1)",
        f"os.lchown('link', {uid}, -1)",
        f"os.chown('link', {uid}, -1)",
        f"os.chown('file', {uid + 7}, -1)",
        "os.chown('file', -1, 54321)",
        f"os.fchown(os.open('file', os.O_RDONLY), {uid}, -1)",
    ) == [None, None, None, DENIED, DENIED, DENIED, None]
