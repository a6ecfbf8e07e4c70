"""Starts one command in a session of its own, and ends all of it when the daemon is gone.

A program, run by path (`python -I -S launcher.py FD`), standard library and this room
only: it starts in a few milliseconds. FD is a socket to the daemon. It reads one JSON
line there, the fields of a `supervise.Command`, answers `{"pid": N}` when the command
runs (or `{"error": "sentence"}`), and `{"status": N}` when it has ended: negative for a
signal, as `subprocess` has it. Its own standard streams become the command's. When the
command has ended, or the socket closes, whatever the reason, all that descends from the
command gets SIGTERM and, after a grace, SIGKILL; also what left its session or its
parents, for it becomes a child of this program, and not of init.

Not PR_SET_PDEATHSIG: it fires when the *thread* that started the child ends, and
the daemon's threads come and go.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from askd.processes import descendants

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 4 ms
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Asked(Protocol):
        """Answers calls of a confined command that arrive on a descriptor."""

        fd: int

        def answer(self) -> None:
            """Answer one."""
            ...


GRACE_S = 2.0
"""From SIGTERM to SIGKILL, where nobody says."""

OOM_SCORE = 500
"""Of 1000, the more the earlier: where memory runs out, the kernel ends what eats it, and neither
the daemon nor this program, which would have to end the rest."""

COUNT_S = 0.1
"""How often the processes of a command are counted, where there is a limit."""

LOOK_S = 2.0
"""How often they are counted one by one, whatever the machine's count says: it does not grow
where others end while these begin."""

TEMPORARY = ("/tmp", "/var/tmp")
"""Where a directory for temporary files is made."""

SPEC_LIMIT_BYTES = 1 << 20


class Spec:
    """What to run, as `supervise.Command` has it; limits are soft and hard alike."""

    def __init__(self, line: bytes) -> None:
        data = json.loads(line)
        self.argv: list[str] = data["argv"]
        self.env: dict[str, str] = data["env"]
        self.cwd: str | None = data.get("cwd")
        self.cwd_fd: int | None = data.get("cwd_fd")
        self.rlimits: dict[str, int] = data.get("rlimits", {})
        self.processes: int | None = data.get("processes")
        self.confinement: dict[str, Any] | None = data.get("confinement")
        self.wraps: bool = data.get("wraps", False)
        self.leaves_daemons: bool = data.get("leaves_daemons", False)
        self.grace_s: float = data.get("grace_s", GRACE_S)


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
    if not spec.leaves_daemons:
        descendants.adopt()
    temporary = None
    try:
        if spec.confinement is not None and spec.confinement["private_tmp"]:
            temporary = _make_temporary(spec)
        pid, asked = _start(spec)
    except OSError as error:
        _tell(control, error=f"{error.filename}: {error.strerror}")
        _remove(temporary)
        return 1
    _leave_streams()
    _tell(control, pid=pid)
    too_many = _watch(pid, control, wake, limit=spec.processes, asked=asked)
    if asked is not None:
        os.close(asked.fd)  # who asks from now on is told that there is no such call
    # The leader is not reaped before all is gone: the group's id cannot be taken meanwhile.
    if spec.leaves_daemons:
        descendants.end_group(pid, grace_s=spec.grace_s)
    else:
        descendants.end_all(
            leader=pid,
            grace_s=0 if too_many else spec.grace_s,
            spared=pid if spec.wraps else None,
        )
    _tell(control, status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    _remove(temporary)
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


def _start(spec: Spec) -> "tuple[int, Asked | None]":
    """Fork and execute; raise the `OSError` that kept the command from starting.

    Beside the process, who answers what its filter asks about, if it is confined.
    """
    trouble, trouble_write = os.pipe()  # closes by itself when the command starts
    handover = None if spec.confinement is None else _Handover()
    pid = os.fork()
    if pid == 0:
        place = spec.cwd or "."
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            kept = None if handover is None else handover.theirs.fileno()
            _close_others(trouble_write, spec.cwd_fd, kept)
            if spec.cwd_fd is None:
                os.chdir(place)
            else:
                os.fchdir(spec.cwd_fd)
                os.set_inheritable(spec.cwd_fd, spec.wraps)
            if not spec.leaves_daemons:  # an agent for keys is the user's, and stays as it is
                _go_first()
            for name, wanted in spec.rlimits.items():
                _limit(getattr(resource, f"RLIMIT_{name}"), wanted)
            if handover is not None and spec.confinement is not None:
                place = "confinement"
                handover.confine(spec.confinement)
            place = spec.argv[0]
            os.execvpe(spec.argv[0], spec.argv, spec.env)
        except OSError as error:
            os.write(trouble_write, f"{error.errno} {place}".encode())
        finally:
            os._exit(127)
    os.close(trouble_write)
    asked = None
    if handover is not None and spec.confinement is not None:
        asked = handover.take(spec.confinement)
    said = os.read(trouble, 4096).decode()
    os.close(trouble)
    if said:
        os.waitpid(pid, 0)
        number_text, _, place = said.partition(" ")
        raise OSError(int(number_text), os.strerror(int(number_text)), place)
    return pid, asked


def _limit(kind: int, wanted: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (value, value))


def _go_first() -> None:
    """Let the kernel choose this process, and what it starts, where memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "r+b", 0) as file:
        if int(file.read()) < OOM_SCORE:
            file.write(b"%d" % OOM_SCORE)


def _close_others(*kept: int | None) -> None:
    """Nothing but the standard streams and what is kept; the latter closes with `exec`."""
    first = 3
    for each in sorted(each for each in kept if each is not None):
        os.closerange(first, each)
        first = each + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


class _Handover:
    """Brings from the confined child what its filter asks on; loaded for those alone."""

    def __init__(self) -> None:
        import socket

        self.ours, self.theirs = socket.socketpair()

    def confine(self, confinement: "dict[str, Any]") -> None:
        """In the child: confine it, and hand the listener over."""
        import socket

        from askd.processes import enclosure

        listener = enclosure.enter(confinement, ask=True)
        socket.send_fds(self.theirs, [b"!"], [listener])

    def take(self, confinement: "dict[str, Any]") -> "Asked | None":
        """In the launcher: who answers; None if the child could not be confined."""
        import socket

        from askd.processes import metadata

        self.theirs.close()
        with self.ours:
            _, descriptors, _, _ = socket.recv_fds(self.ours, 1, 1)
        return (
            metadata.Listener(
                descriptors[0],
                writable=confinement["writable"],
                kept=[*confinement["read_only"], *confinement["hidden"]],
                owner=os.geteuid(),
            )
            if descriptors
            else None
        )


def _make_temporary(spec: Spec) -> str:
    """A directory for the command's temporary files, and nobody else's."""
    assert spec.confinement is not None
    base = next(each for each in TEMPORARY if os.access(each, os.W_OK))
    path = os.path.join(os.path.realpath(base), f"ask-{os.urandom(8).hex()}")
    os.mkdir(path, 0o700)
    spec.env["TMPDIR"] = path
    spec.confinement["writable"].append(path)
    return path


def _remove(directory: str | None) -> None:
    """Take a directory away with all that is in it, whatever its modes have become."""
    if directory is None:
        return
    import shutil

    os.chmod(directory, 0o700)
    for top, names, _ in os.walk(directory):
        for name in names:
            if not os.path.islink(path := os.path.join(top, name)):
                with contextlib.suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(directory, ignore_errors=True)


def _leave_streams() -> None:
    """Hold no end of the command's pipes: their closing must be seen at the other end."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _watch(pid: int, control: int, wake: int, *, limit: int | None, asked: "Asked | None") -> bool:
    """Wait for the command's end, or for the order to end it; True: it has become too many."""
    before = descendants.count_tasks()
    look_at = time.monotonic() + LOOK_S
    sources = [control, wake] if asked is None else [control, wake, asked.fd]
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        ready, _, _ = select.select(sources, [], [], limit and COUNT_S)
        if asked is not None and asked.fd in ready:
            asked.answer()
        if wake in ready and signal.SIGTERM in os.read(wake, 64):
            break
        if control in ready and not _read(control):
            break
        descendants.reap(pid)
        # The whole machine is counted first: the command's own have to be looked for.
        if limit and (descendants.count_tasks() - before > limit or time.monotonic() >= look_at):
            if len(descendants.find(os.getpid())) > limit:
                return True
            before = descendants.count_tasks() - limit // 2
            look_at = time.monotonic() + LOOK_S
    return False


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
