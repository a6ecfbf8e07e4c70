"""The way to a daemon on another machine: the user's own `ssh`, and what it says of itself.

It runs `ask dial-stdio` over there and carries bytes; of what they mean it knows nothing.
`ssh` asks for passwords and unknown hosts at the terminal by itself, so that nothing of
that passes through here. Keys of providers are not even in its environment.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ask.exits import NO_DAEMON
from ask.fast.caller import say
from ask.hosts import COMMAND_VARIABLE, Host, build_command
from ask.listener import NOT_RUNNING, Unreachable
from ask.protocol import PROTOCOL
from ask.protocol.names import KEY_NAMES
from ask.terminal import strip_controls

TERMINAL = "/dev/tty"
ALONE_LIMIT_S = 75.0
"""Until the first answer, where nobody is asked for anything: `ssh` has 30 s, a daemon 30."""
ATTENDED_LIMIT_S = 300.0
"""As long where a person may have to type; `sshd` itself ends that after two minutes."""
SHOW_AFTER_S = 0.25
"""What `ssh` says is shown if it is not the last thing that it says."""
END_LIMIT_S = 2.0
"""An `ssh` whose stream has ended, or that was told to end, is gone after this long."""
TAIL_BYTES = 8 * 1024
TAIL_LINES = 3
"""How much of what it said last is worth telling."""
NOISE_BYTES = 200
"""How much of what is no message is looked at for a line to show."""
ARRAYS = frozenset((*range(0x90, 0xA0), 0xDC, 0xDD))
"""With which of these every message begins: arrays, by the specification of MessagePack."""

SSH_FAILED = 255
NOT_FOUND, NOT_RUNNABLE = 127, 126
"""What shells answer, here and there."""
LASTING = ("permission denied", "host key verification failed", "too many authentication failures")
"""What `ssh` says where trying again changes nothing."""
PASSING = "Warning: Permanently added "
"""Begins what it says of a host that it has not known; no reason for anything."""

_left: list[int] = []  # of processes that were left to end by themselves: reaped by the next


class Link:
    """One running `ssh`.

    Attributes:
        host: where it leads.
        stream: what is written there reaches the daemon, and the other way round.
    """

    def __init__(
        self, host: Host, stream: socket.socket, *, pid: int, errors: int, attended: bool
    ) -> None:
        self.host = host
        self.stream = stream
        self._pid: int | None = pid
        self._errors = errors
        self._attended = attended
        self._said = b""
        self._heard = b""
        self._shown = 0
        self._open = False
        self._code: int | None = None

    def wait_open(self) -> None:
        """Wait for the first byte from over there; what `ssh` has to say meanwhile is shown.

        Raises:
            Unreachable: it ended, or nothing came in time.
        """
        deadline = time.monotonic() + (ATTENDED_LIMIT_S if self._attended else ALONE_LIMIT_S)
        waiting = select.poll()
        waiting.register(self.stream, select.POLLIN)
        waiting.register(self._errors, select.POLLIN)
        show_at: float | None = None
        while True:
            left_s = min(deadline, show_at or deadline) - time.monotonic()
            ready = [each for each, _ in waiting.poll(max(left_s, 0.0) * 1000)]
            if self.stream.fileno() in ready:
                break
            if self._errors in ready and not self._listen():
                waiting.unregister(self._errors)
            if self._shown < len(self._said) and show_at is None:
                show_at = time.monotonic() + SHOW_AFTER_S
            if show_at is not None and time.monotonic() >= show_at:
                self._show()
                show_at = None
            if time.monotonic() >= deadline:
                raise Unreachable(f"{self.host} did not answer in time.", lasting=False)
        if not self._peek():
            raise self.explain()
        self._open = True
        if self._shown < len(self._said):
            self._show()

    def explain(self) -> Unreachable:
        """Why there is no link, or none any more, in the words of `ssh` or the far side."""
        self._wait_end(END_LIMIT_S)
        self._listen()
        return explain_end(self.host, self._code, self._said.decode(errors="replace"))

    def explain_protocol(self, hello: Mapping[str, Any]) -> Unreachable:
        """Why a daemon of an older protocol is of no use: whoever works there replaces it."""
        theirs, version = hello.get("protocol"), hello.get("version")
        return Unreachable(
            f"The daemon on {self.host} speaks protocol {theirs} (version {version}), "
            f"this ask speaks {PROTOCOL}.",
            hint="Restart it there with an ask as new as this one: ask daemon restart",
        )

    def hear(self, data: bytes) -> None:
        """Take notice of what has come before the first message is whole.

        Raises:
            Unreachable: no message begins like that; the length that it names may never come.
        """
        self._heard = (self._heard + data)[:NOISE_BYTES]
        if self._heard and self._heard[0] not in ARRAYS:
            raise self.explain_noise()

    def explain_noise(self) -> Unreachable:
        """Why what has come first is no message: a shell over there greets whoever logs in."""
        self.cut()  # whatever that is, it need not go on
        line = strip_controls(self._heard.decode(errors="replace")).strip()
        first = line.splitlines()[0] if line else ""
        return Unreachable(
            f"{self.host} answers with something else than a daemon: {first!r}",
            hint="Its shell may print that for everybody: let it do so at a terminal only.",
        )

    def close(self) -> None:
        """Let it go: what was sent arrives, then `ssh` ends; one that still asks is ended."""
        self.stream.close()
        if not self._open:
            self._end()
        if self._pid is not None and not self._wait_end(0.0):
            _left.append(self._pid)
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1

    def cut(self) -> None:
        """End it now: nothing comes any more, and `ssh` has not noticed."""
        self._end()

    def _peek(self) -> bool:
        """Whether something can be read, and not the end."""
        try:
            return bool(self.stream.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def _listen(self) -> bool:
        """Take in what `ssh` has said, the last 8 KiB of it; False: it says no more."""
        while self._errors >= 0:
            try:
                data = os.read(self._errors, TAIL_BYTES)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            whole = self._said + data
            self._shown = max(0, self._shown - max(0, len(whole) - TAIL_BYTES))
            self._said = whole[-TAIL_BYTES:]
        return False

    def _show(self) -> None:
        """Show a person what has been said and was not shown: something may have to be done."""
        text, self._shown = self._said[self._shown :], len(self._said)
        if os.isatty(2):
            say(strip_controls(text.decode(errors="replace")).rstrip("\n") + "\n")

    def _end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):  # at the first it mends the terminal
            if self._pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(self._pid, number)
                self._wait_end(END_LIMIT_S)

    def _wait_end(self, limit_s: float) -> bool:
        """Wait for the end of the process; False: it has not come."""
        deadline = time.monotonic() + limit_s
        pause_s = 0.001
        while self._pid is not None:
            pid, status = _wait(self._pid)
            if pid:
                self._pid = None
                self._code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= deadline:
                return False
            else:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, 0.05)
        return True


def dial(
    host: Host, environ: Mapping[str, str], *, start: bool = True, batch: bool = False
) -> Link:
    """Start `ssh` to a host; nothing is said yet, and nothing waited for.

    Args:
        start: the daemon there, if there is none.
        batch: nobody shall be asked for a password, though a terminal is there.

    Raises:
        Unreachable: there is no `ssh` here.
        Failed: `ASK_REMOTE_COMMAND` makes no sense.
    """
    _reap()
    attended = not batch and can_ask()
    command = build_command(host, environ, start=start, batch=not attended)
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        pid = os.posix_spawnp(
            command[0],
            command,
            {name: value for name, value in environ.items() if name not in KEY_NAMES},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, writer, 2),
            ],
            # Ctrl-C is for the turn: the whole group gets it, and the link must live to tell.
            setsigmask=[signal.SIGINT],
        )
    except OSError as error:
        ours.close()
        os.close(reader)
        if isinstance(error, FileNotFoundError):
            raise Unreachable(
                f"There is no ssh here, and {host} is reached by it.",
                hint="Install it: the package is called openssh-client, or openssh.",
            ) from None
        raise Unreachable(f"ssh cannot be started: {error.strerror}.") from None
    finally:
        theirs.close()
        os.close(writer)
    return Link(host, ours, pid=pid, errors=reader, attended=attended)


def can_ask() -> bool:
    """Whether `ssh` could ask a person: at a terminal whose foreground we are in."""
    try:
        terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def explain_end(host: Host, code: int | None, said: str) -> Unreachable:
    """Why `ssh` has ended, from its exit code and its last words.

    255 is its own; anything else comes from over there, where a shell answers 127 for a
    command that it does not find and `ask dial-stdio` ends with our own codes.
    """
    lines = [line.strip() for line in strip_controls(said).splitlines()]
    lines = [line for line in lines if line and not line.startswith(PASSING)]
    tail = " ".join(lines[-TAIL_LINES:])
    by_hand = f"Try it by hand: {host.by_hand}"
    if code == SSH_FAILED:
        lasting = any(each in tail.lower() for each in LASTING)
        why = tail or "ssh does not say why."
        return Unreachable(f"{host} cannot be reached: {why}", hint=by_hand, lasting=lasting)
    if code in (NOT_FOUND, NOT_RUNNABLE):
        why = f": {tail}" if tail else "."
        return Unreachable(
            f"There is no ask on {host} that ssh could run{why}",
            hint=f"Say where it is over there: {COMMAND_VARIABLE}=/where/it/is/ask",
        )
    if code == 0:
        return Unreachable(f"The daemon on {host} closed the connection.", lasting=False)
    if code is None or code < 0:
        why = tail or ("it still runs." if code is None else f"signal {-code} ended it.")
        return Unreachable(f"The ssh to {host} carries nothing: {why}", lasting=False)
    if code == NO_DAEMON and tail == NOT_RUNNING:
        return Unreachable(f"No daemon is running on {host}.", lasting=False, absent=True)
    if "dial-stdio" in tail:
        return Unreachable(
            f"The ask on {host} cannot be reached from elsewhere: {tail}",
            hint=f"Update it there, or name another: {COMMAND_VARIABLE}=/where/it/is/ask",
        )
    why = tail or f"it ended with code {code} and said nothing."
    return Unreachable(f"On {host}: {why}", code=code if code < 126 else NO_DAEMON)


def _reap() -> None:
    """Let go of processes that have ended since they were left."""
    _left[:] = [pid for pid in _left if not _wait(pid)[0]]


def _wait(pid: int) -> tuple[int, int]:
    """The process if it has ended, and how; `(0, 0)` if it has not."""
    try:
        return os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return pid, 0  # somebody else has reaped it
