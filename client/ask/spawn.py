"""Starting a daemon: one, however many clients race for it, and saying why it did not start.

The one who holds the start lock spawns and waits for the socket; the others wait
for the lock and then find what was started. It never waits without a limit and
never ends a daemon.
"""

import fcntl
import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ask.exits import DONE, NO_DAEMON, STORAGE, USAGE
from ask.listener import Listener, NoDaemon, find_listener
from ask.paths import Paths
from ask.protocol.names import SPAWN_ENVIRONMENT

START_LIMIT_S = 30.0
"""A cold start takes about half a second; a loaded machine and a migration may take longer."""
REBIND_LIMIT_S = 5.0
"""A daemon whose socket has been removed binds it again within 2 s; it is waited for longer."""
FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.2
TAIL_LINES = 5
"""How much of the log is shown when a start fails; the reason stands at its end."""
_PLACES = ("ASK_HOME", "ASK_SOCKET")
LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
"""What cannot be written at once, such as a pipe that nobody reads, is no place for a log."""
TAIL_BYTES = 8 * 1024


def start_daemon(paths: Paths, environ: Mapping[str, str], *, stale: str | None = None) -> Listener:
    """Start the user's daemon, or wait for the client that does; the socket to it.

    `stale`: as of `find_listener`.

    Raises:
        NoDaemon: it cannot be started; the message says why.
    """
    if importlib.util.find_spec("askd") is None:
        raise NoDaemon(
            "No daemon is running, and askd is not installed here.",
            hint=f"Install it: {sys.executable} -m pip install 'askd[local]'",
        )
    with _hold_start_lock(paths.start_lock):
        found = find_listener(paths, stale=stale)
        if found is not None:
            return found
        return _spawn(paths, environ, stale)


@contextmanager
def _hold_start_lock(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path.parent, error) from None
    try:
        deadline = time.monotonic() + START_LIMIT_S
        pause = FIRST_PAUSE_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise NoDaemon(
                        f"Another ask has been starting the daemon for {START_LIMIT_S:.0f} s.",
                        hint="See what happened: ask daemon logs",
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _spawn(paths: Paths, environ: Mapping[str, str], stale: str | None) -> Listener:
    try:
        log = os.open(paths.log_file, LOG_FLAGS, 0o600)
    except OSError as error:
        raise _unwritable(paths.state, error) from None
    written = os.fstat(log).st_size
    try:
        child = subprocess.Popen(
            name_program("run"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=inherit(environ),
            start_new_session=True,
        )
    finally:
        os.close(log)
    try:
        return _wait_for_socket(child, paths, written, stale)
    finally:
        _let_go(child)


def _let_go(child: "subprocess.Popen[bytes]") -> None:
    """From here on it lives on its own.

    A client may stay for days, and outlive it: then its end is taken note of at once, or the
    process would be there for ever to whoever asks the system. Nobody waits for that.
    """
    if child.returncode is None:
        # In no Popen: that would warn that its child still runs, when the client ends before it.
        threading.Thread(target=_reap, args=(child.pid,), name="reaper", daemon=True).start()
        child.returncode = 0


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):  # somebody else was faster
        os.waitpid(pid, 0)


def name_program(*words: str) -> list[str]:
    """The command line of `askd WORDS`: that of this installation."""
    # -P: a directory named askd where the caller stands is not ours.
    return [sys.executable, "-P", "-m", "askd", *words]


def inherit(environ: Mapping[str, str]) -> dict[str, str]:
    """What a daemon gets of the caller's environment.

    It stands in another directory: places that are relative to ours are made absolute.
    """
    inherited = {name: environ[name] for name in SPAWN_ENVIRONMENT if name in environ}
    for name in _PLACES:
        if inherited.get(name):
            inherited[name] = os.path.abspath(inherited[name])
    return inherited


def _wait_for_socket(
    child: "subprocess.Popen[bytes]", paths: Paths, written: int, stale: str | None
) -> Listener:
    deadline = time.monotonic() + START_LIMIT_S
    pause = FIRST_PAUSE_S
    owned = False
    while time.monotonic() < deadline:
        time.sleep(pause)
        code = child.poll()
        # Looked for once more after its end: it may have left because another one is there.
        found = find_listener(paths, stale=stale)
        if found is not None:
            return found
        if code == DONE and not owned:
            # Another one owns the data directory. Its socket may be lost: it binds it again.
            owned, deadline = True, time.monotonic() + REBIND_LIMIT_S
        elif code is not None and code != DONE:
            raise _explain(code, paths.log_file, written)
        pause = min(2 * pause, LONGEST_PAUSE_S)
    if owned:
        pid = (paths.read_owner() or {}).get("pid")
        known = "" if pid is None else f" (pid {pid})"
        raise NoDaemon(
            f"A daemon{known} owns the data directory {paths.data}, "
            f"but cannot be reached at {paths.sockets[0]}.",
            hint="See what it does: ask daemon logs",
        )
    raise NoDaemon(
        f"The daemon was started and did not answer within {START_LIMIT_S:.0f} s.",
        hint=f"See what it does: ask daemon logs ({paths.log_file})",
    )


def _explain(code: int, log: Path, written: int) -> NoDaemon:
    """Why a daemon ended at once: its own last words, and its code where it means something."""
    lines = _read_tail(log, written)
    if any(line.strip().startswith("Traceback (") for line in lines):
        lines = [
            lines[-1].strip()
        ]  # a bug of ours: its last line says which, the log holds the rest
    tail = "\n".join(lines[-TAIL_LINES:])
    reason = tail or f"it ended with code {code} and said nothing"
    return NoDaemon(
        f"The daemon did not start: {reason}",
        hint=f"Its log: {log}",
        code=code if code in (STORAGE, USAGE) else NO_DAEMON,
    )


def _read_tail(log: Path, written: int) -> list[str]:
    """The lines that were added to the log after its first `written` bytes, the last 8 KiB."""
    try:
        with log.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            if size < written:
                written = 0  # put aside meanwhile: all of this one is new
            stream.seek(max(written, size - TAIL_BYTES))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]


def _unwritable(directory: Path, error: OSError) -> NoDaemon:
    return NoDaemon(
        f"The directory {directory} cannot be written: {error.strerror}.",
        hint="Make it writable, or choose another place with ASK_HOME.",
        code=STORAGE,
    )
