"""The launcher alone, as a process, over its socket: what it starts, tells and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from askd.processes.launcher import OOM_SCORE
from askd.processes.supervise import LAUNCHER
from tests.fakes import unconfinable

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
def launched(*fds: int, before: Sequence[str] = ()) -> Iterator[Launched]:
    """A launcher that has not been told anything yet; it ends with the block."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_S)
    with theirs:
        # Not with -I -S as the daemon does it: so its coverage is measured.
        process = subprocess.Popen(
            [*before, sys.executable, str(LAUNCHER), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=(theirs.fileno(), *fds),
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


def test_the_grace_is_the_commands_own() -> None:
    with launched() as one:
        one.tell(sys.executable, "-c", STUBBORN, grace_s=0.0)
        assert one.hear()["pid"] > 0
        assert one.stdout.readline() == b"ready\n"
        started = time.monotonic()
        one.control.shutdown(socket.SHUT_WR)
        assert one.hear() == {"status": -9}
        assert time.monotonic() - started < 1.9


OF_MEMORY = "cat /proc/self/oom_score_adj; cat /proc/$PPID/oom_score_adj"


@pytest.mark.parametrize(("spec", "adds"), [({}, True), ({"leaves_daemons": True}, False)])
def test_where_memory_runs_out_the_command_goes_first(spec: dict[str, Any], adds: bool) -> None:
    ours = int(Path("/proc/self/oom_score_adj").read_text())
    with launched() as one:
        one.tell("sh", "-c", OF_MEMORY, **spec)
        assert int(one.stdout.readline()) == (max(ours, OOM_SCORE) if adds else ours)
        assert int(one.stdout.readline()) == ours


def test_who_would_go_earlier_still_stays_so() -> None:
    first = ("sh", "-c", 'echo 700 > /proc/self/oom_score_adj; exec "$@"', "sh")
    with launched(before=first) as one:
        one.tell("cat", "/proc/self/oom_score_adj")
        assert one.stdout.readline() == b"700\n"


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


CONFINED = {"writable": [], "read_only": [], "hidden": [], "network": False, "private_tmp": True}


def test_the_directory_is_the_one_that_was_open(tmp_path: Path) -> None:
    """Whatever stands in its place when the command starts."""
    (tmp_path / "here").mkdir()
    fd = os.open(tmp_path / "here", os.O_RDONLY)
    os.rename(tmp_path / "here", tmp_path / "meant")
    (tmp_path / "here").mkdir()
    with launched(fd) as one:
        one.tell("sh", "-c", "pwd; ls /proc/self/fd", cwd=str(tmp_path / "here"), cwd_fd=fd)
        assert one.stdout.readline().decode().strip() == str(tmp_path / "meant")
        # The fourth is the listing's own: the directory's was not passed on.
        assert one.stdout.read().split() == [b"0", b"1", b"2", b"3"]
    os.close(fd)


def test_what_wraps_keeps_the_directory(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    with launched(fd) as one:
        one.tell("readlink", f"/proc/self/fd/{fd}", cwd_fd=fd, wraps=True)
        assert one.stdout.readline().decode().strip() == str(tmp_path)
    os.close(fd)


def test_confined_command_has_its_own_temporary_files(tmp_path: Path) -> None:
    script = """echo $TMPDIR; echo x > $TMPDIR/x; mkdir -m 0 $TMPDIR/d; stat -c %a $TMPDIR
        echo x > ../out; echo x > in; read line"""
    with launched() as one:
        confinement = {**CONFINED, "writable": [str(tmp_path)]}
        one.tell("sh", "-c", script, cwd=str(tmp_path), confinement=confinement)
        assert one.hear()["pid"] > 0
        own = Path(one.stdout.readline().decode().strip())
        assert own.parent == Path("/tmp")
        assert one.stdout.readline() == b"700\n"
        assert "status" in one.hear()
        assert one.process.wait(PATIENCE_S) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert not own.exists()


def test_what_cannot_be_confined_does_not_run(tmp_path: Path) -> None:
    with launched(before=[sys.executable, unconfinable.__file__]) as one:
        one.tell("touch", str(tmp_path / "x"), confinement=CONFINED)
        assert "confinement" in one.hear()["error"]
        assert one.process.wait(PATIENCE_S) == 1
    assert not list(tmp_path.iterdir())


def test_too_many_processes_are_ended() -> None:
    with launched() as one:
        one.tell("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 600 & done; wait", processes=5)
        assert one.hear()["pid"] > 0
        assert one.hear() == {"status": -9}


@pytest.mark.parametrize("stays", [False, True])
def test_who_left_its_session_stays_only_where_that_is_meant(stays: bool) -> None:
    # Not through the command's pipe: it would be read to its end.
    with launched() as one:
        one.tell("sh", "-c", "setsid sleep 600 & echo $!; sleep 0.2", leaves_daemons=stays)
        pid = int(one.stdout.readline())
        assert one.hear()["pid"] > 0
        assert one.hear() == {"status": 0}
        assert one.process.wait(PATIENCE_S) == 0
        assert is_running(pid) == stays
        if stays:
            os.kill(pid, signal.SIGKILL)


def test_what_wraps_is_not_asked_itself() -> None:
    """Else what it runs would be killed with it, without a chance to end well."""
    shell = "trap 'echo wrapper' TERM; sh -c 'trap \"echo inner; exit\" TERM; echo; sleep 9 & wait'"
    with launched() as one:
        one.tell("sh", "-c", shell, wraps=True)
        assert one.stdout.readline() == b"\n"
        one.control.shutdown(socket.SHUT_WR)
        assert one.stdout.read() == b"inner\n"


def test_every_child_waits_for_it_so_it_loads_little() -> None:
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", LAUNCHER],
        capture_output=True,
        check=False,  # without a socket it ends at once
        text=True,
    ).stderr
    loaded = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert "askd.processes.descendants" in loaded
    assert not loaded & {"typing", "socket", "shutil", "subprocess", "askd.processes.enclosure"}
