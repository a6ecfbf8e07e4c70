"""The launcher alone, as a process, over its socket: what it starts, tells and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from askd.processes.supervise import LAUNCHER

PATIENCE_S = 20.0

STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('ready', flush=True); time.sleep(600)"
)


class Launched:
    """A launcher, its socket and its command's standard output."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        assert process.stdout is not None
        self.process = process
        self.control = control
        self.stdout = process.stdout
        self._lines = control.makefile("rb")

    def tell(self, *argv: str, **spec: Any) -> None:
        """Send the spec."""
        whole = {"argv": argv, "env": {"PATH": os.environ["PATH"]}, "cwd": None, "rlimits": {}}
        self.control.sendall(json.dumps({**whole, **spec}).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        """The next line."""
        message: dict[str, Any] = json.loads(self._lines.readline())
        return message

    def hang_up(self) -> None:
        """Close the socket, as a daemon that was killed does."""
        self._lines.close()
        self.control.close()


@contextmanager
def launched() -> Iterator[Launched]:
    """A launcher that has not been told anything yet; it ends with the block."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_S)
    with theirs:
        # Not with -I -S as the daemon does it: so its coverage is measured.
        process = subprocess.Popen(
            [sys.executable, str(LAUNCHER), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
        )
    one = Launched(process, ours)
    try:
        yield one
    finally:
        one.hang_up()
        process.wait(PATIENCE_S)
        one.stdout.close()


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -15 $$", -15)]
)
def test_status_is_relayed(script: str, status: int) -> None:
    with launched() as one:
        one.tell("sh", "-c", script)
        assert one.hear()["pid"] > 0
        assert one.hear() == {"status": status}
        assert one.process.wait(PATIENCE_S) == 0


def test_command_leads_a_session_and_a_group_of_its_own() -> None:
    program = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    with launched() as one:
        one.tell(sys.executable, "-c", program)
        assert one.stdout.readline() == b"True\n"


def test_command_gets_exactly_its_environment_directory_and_limits(tmp_path: Path) -> None:
    program = (
        "import os, resource, json; print(json.dumps("
        "[os.environ.get('X'), 'HOME' in os.environ, os.getcwd(), "
        "resource.getrlimit(resource.RLIMIT_NOFILE), sorted(map(int, os.listdir('/proc/self/fd')))"
        "[:4]]))"
    )
    with launched() as one:
        one.tell(
            sys.executable, "-c", program, env={"X": "é"}, cwd=str(tmp_path), rlimits={"NOFILE": 50}
        )
        assert one.hear()["pid"] > 0
        found = json.loads(one.stdout.readline())
        # Descriptor 3 is the listing's own: nothing of the launcher's was passed on.
        assert found == ["é", False, str(tmp_path), [50, 50], [0, 1, 2, 3]]
        assert one.hear() == {"status": 0}


@pytest.mark.parametrize(
    ("argv", "spec", "sentence"),
    [
        (["no-such-program"], {}, "no-such-program: No such file or directory"),
        (["/"], {}, "/: Permission denied"),
        (["true"], {"cwd": "/nowhere"}, "/nowhere: No such file or directory"),
    ],
)
def test_what_cannot_start_is_a_sentence(
    argv: list[str], spec: dict[str, Any], sentence: str
) -> None:
    with launched() as one:
        one.tell(*argv, **spec)
        assert one.hear() == {"error": sentence}
        assert one.process.wait(PATIENCE_S) == 1


def test_closed_socket_ends_the_command() -> None:
    with launched() as one:
        one.tell("sleep", "600")
        pid = one.hear()["pid"]
        one.hang_up()
        assert one.process.wait(PATIENCE_S) == 0
        assert not is_running(pid)


def test_whole_group_is_ended_also_after_its_leader() -> None:
    with launched() as one:
        one.tell("sh", "-c", "sleep 600 & echo $!; exit 3")
        assert one.hear()["pid"] > 0
        background = int(one.stdout.readline())
        assert one.hear() == {"status": 3}
        assert not is_running(background)


def test_who_does_not_listen_is_killed_after_the_grace() -> None:
    with launched() as one:
        one.tell(sys.executable, "-c", STUBBORN)
        pid = one.hear()["pid"]
        assert one.stdout.readline() == b"ready\n"
        started = time.monotonic()
        one.control.shutdown(socket.SHUT_WR)
        assert one.hear() == {"status": -9}
        assert time.monotonic() - started >= 1.9
        assert not is_running(pid)


def test_launcher_told_to_stop_stops_its_command() -> None:
    with launched() as one:
        one.tell("sleep", "600")
        pid = one.hear()["pid"]
        one.process.send_signal(signal.SIGTERM)
        assert one.hear() == {"status": -15}
        assert not is_running(pid)


def test_daemon_that_is_gone_before_the_spec() -> None:
    with launched() as one:
        one.hang_up()
        assert one.process.wait(PATIENCE_S) == 1


def test_pipes_of_the_command_close_with_it() -> None:
    with launched() as one:
        one.tell("sh", "-c", "exec >&-; exec sleep 600")
        assert one.stdout.read() == b""  # the launcher would hold it open
