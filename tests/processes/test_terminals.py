"""The terminal of a process, as the kernel says it."""

import os
import pty
import subprocess
import sys

import pytest

from askd.processes.terminals import find_terminal, name_terminal

SHOW_TTY = "import os; print(os.ttyname(0), os.getpid(), flush=True); os.read(0, 1)"


def test_a_process_at_a_pseudo_terminal_has_its_name() -> None:
    ours, theirs = pty.openpty()
    code = f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {SHOW_TTY}"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=theirs, stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stdout is not None
        name, pid = child.stdout.readline().split()
        assert find_terminal(int(pid)) == name.decode().removeprefix("/dev/")
        os.write(ours, b"\n")
    os.close(ours)
    os.close(theirs)
    assert find_terminal(int(pid)) is None  # it is gone


def test_a_process_without_one_has_none() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as child:
        assert find_terminal(child.pid) is None
        child.communicate(b"\n")


@pytest.mark.parametrize(
    ("major", "minor", "name"),
    [
        (136, 3, "pts/3"),
        (137, 1, "pts/257"),
        (143, 255, "pts/2047"),
        (4, 1, "tty1"),
        (4, 63, "tty63"),
        (4, 64, "ttyS0"),
        (4, 0, None),
        (0, 0, None),
        (5, 1, None),
    ],
)
def test_a_device_has_a_name(major: int, minor: int, name: str | None) -> None:
    assert name_terminal(os.makedev(major, minor)) == name


def test_what_is_no_process_has_none() -> None:
    assert find_terminal(0) is None
    assert find_terminal(-5) is None
