"""Starts one command in a session of its own, and ends all of it when the daemon is gone.

A program, run by path (`python -I -S launcher.py FD`), standard library only: it
starts in a few milliseconds and imports nothing of ours. FD is a socket to the
daemon. It reads one JSON line there, `{argv, env, cwd, rlimits}`, answers
`{"pid": N}` when the command runs (or `{"error": "sentence"}`), and
`{"status": N}` when it has ended: negative for a signal, as `subprocess` has it.
Its own standard streams become the command's. When the socket closes, whatever
the reason, the command's process group gets SIGTERM and, 2 seconds later, SIGKILL.

Not PR_SET_PDEATHSIG: it fires when the *thread* that started the child ends, and
the daemon's threads come and go. A command that leaves its process group
escapes; a sandbox, not this program, is the answer to that.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time

GRACE_S = 2.0
"""From SIGTERM to SIGKILL."""

POLL_S = 0.01
"""Between two looks at a group that was told to end: most are gone at the first."""

SPEC_LIMIT_BYTES = 1 << 20


class Spec:
    """What to run. `rlimits` by name without `RLIMIT_`, soft and hard alike."""

    def __init__(self, line: bytes) -> None:
        data = json.loads(line)
        self.argv: list[str] = data["argv"]
        self.env: dict[str, str] = data["env"]
        self.cwd: str | None = data["cwd"]
        self.rlimits: dict[str, int] = data["rlimits"]


def main(control: int) -> int:
    """Run the command of the spec; what became of it is told over the socket."""
    os.set_inheritable(control, False)
    # Signals only wake the loop. SIGTERM to this program means what a closed socket means.
    wake, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    line = _read_line(control)
    if line is None:
        return 1
    spec = Spec(line)
    try:
        pid = _start(spec)
    except OSError as error:
        _tell(control, error=f"{error.filename}: {error.strerror}")
        return 1
    _leave_streams()
    _tell(control, pid=pid)
    _watch(pid, control, wake)
    # The leader is not reaped before its group is gone: the group's id cannot be taken meanwhile.
    _end_group(pid)
    _tell(control, status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return 0


def _read_line(control: int) -> bytes | None:
    """The first line; None if the daemon is gone already."""
    data = b""
    while not data.endswith(b"\n"):
        piece = _read(control)
        if not piece or len(data) > SPEC_LIMIT_BYTES:
            return None
        data += piece
    return data


def _start(spec: Spec) -> int:
    """Fork and execute; raise the `OSError` that kept the command from starting."""
    trouble, trouble_write = os.pipe()  # closes by itself when the command starts
    pid = os.fork()
    if pid == 0:
        place = spec.cwd or "."
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            for name, wanted in spec.rlimits.items():
                _limit(getattr(resource, f"RLIMIT_{name}"), wanted)
            os.chdir(place)
            place = spec.argv[0]
            os.execvpe(spec.argv[0], spec.argv, spec.env)
        except OSError as error:
            os.write(trouble_write, f"{error.errno} {place}".encode())
        finally:
            os._exit(127)
    os.close(trouble_write)
    said = os.read(trouble, 4096).decode()
    os.close(trouble)
    if said:
        os.waitpid(pid, 0)
        number_text, _, place = said.partition(" ")
        raise OSError(int(number_text), os.strerror(int(number_text)), place)
    return pid


def _limit(kind: int, wanted: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (value, value))


def _leave_streams() -> None:
    """Hold no end of the command's pipes: their closing must be seen at the other end."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _watch(pid: int, control: int, wake: int) -> None:
    """Wait for the command's end, or for the order to end it."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready and signal.SIGTERM in os.read(wake, 64):
            return
        if control in ready and not _read(control):
            return


def _end_group(group: int) -> None:
    """Nobody in the group runs after this: asked first, then made to end."""
    deadline = time.monotonic() + GRACE_S
    if not _is_alive(group):
        return
    _signal(group, signal.SIGTERM)
    while _is_alive(group):
        if time.monotonic() >= deadline:
            _signal(group, signal.SIGKILL)
            return
        time.sleep(POLL_S)


def _is_alive(group: int) -> bool:
    """Whether somebody in the group runs; a zombie does not."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            # A process may end between the listing and the look.
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name stands in parentheses and may hold any byte.
                state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
                if int(its_group) == group and state not in (b"Z", b"X"):
                    return True
    return False


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _read(control: int) -> bytes:
    try:
        return os.read(control, 65536)
    except OSError:
        return b""


def _tell(control: int, **message: object) -> None:
    """One line to the daemon, which may be gone."""
    with contextlib.suppress(OSError):
        os.write(control, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
