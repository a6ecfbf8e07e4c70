"""Landlock as the kernel has it: what a process can do that has restricted itself."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from askd.processes import landlock

PROGRAM = """
import json, os, socket, sys
from askd.processes import landlock
grants, network, tries = json.loads(sys.argv[1])
landlock.restrict(grants, version=landlock.find_version(), network=network)
for each in tries:
    try:
        exec(each)
    except OSError as error:
        print(error.errno)
    else:
        print(0)
"""


def restricted(grants: list[tuple[str, int]], *tries: str, network: bool = False) -> list[int]:
    """What each line of Python comes to: 0, or the number of its error."""
    everything = [("/", landlock.READ), ("/dev/null", landlock.WRITE), *grants]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([everything, network, tries])],
        capture_output=True,
        check=True,
    )
    return [int(each) for each in done.stdout.split()]


def test_this_kernel_has_it() -> None:
    assert landlock.find_version() >= landlock.VERSION_MIN


def test_writes_go_where_they_are_granted(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/file").touch()
    assert restricted(
        [(str(tmp_path / "in"), landlock.WRITE)],
        f"open({str(tmp_path / 'in/new')!r}, 'w')",
        f"os.symlink('x', {str(tmp_path / 'in/link')!r})",
        f"open({str(tmp_path / 'out/new')!r}, 'w')",
        f"open({str(tmp_path / 'out/file')!r}, 'a')",
        f"os.truncate({str(tmp_path / 'out/file')!r}, 0)",
        f"os.rename({str(tmp_path / 'in/new')!r}, {str(tmp_path / 'out/new')!r})",
        f"open({str(tmp_path / 'out/file')!r})",
    ) == [0, 0, errno.EACCES, errno.EACCES, errno.EACCES, errno.EACCES, 0]


def test_a_file_can_be_granted_alone_and_a_link_is_none(tmp_path: Path) -> None:
    for each in ("one", "two"):
        (tmp_path / each).touch()
    (tmp_path / "link").symlink_to("two")
    assert restricted(
        [
            (str(tmp_path / "one"), landlock.WRITE),
            (str(tmp_path / "link"), landlock.WRITE),
            ("/nowhere", landlock.WRITE),
        ],
        *(f"open({str(tmp_path / each)!r}, 'a')" for each in ("one", "two", "link")),
    ) == [0, errno.EACCES, errno.EACCES]


@pytest.mark.parametrize("network", [False, True])
def test_the_network(network: bool) -> None:
    expected = 0 if network else errno.EACCES
    bind = "socket.socket().bind(('127.0.0.1', 0))"
    assert restricted([], bind, network=network) == [expected]


def test_signals_stay_inside() -> None:
    kill = "os.kill({}, 0)"
    assert restricted([], kill.format(os.getpid()), kill.format("os.getpid()")) == [errno.EPERM, 0]


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7])
def test_each_version_knows_more(version: int) -> None:
    rights = landlock.handled(version)
    assert rights & landlock.handled(version - 1) == landlock.handled(version - 1)
    assert bool(rights & landlock.REFER) == (version >= 2)
    assert bool(rights & landlock.TRUNCATE) == (version >= 3)
    assert bool(rights & landlock.IOCTL_DEV) == (version >= 5)
    assert rights & landlock.MAKE_BLOCK  # always handled, never granted
    assert not landlock.WRITE & (landlock.MAKE_BLOCK | landlock.MAKE_CHAR)
