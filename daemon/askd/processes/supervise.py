"""Child processes under trio: each is started through the launcher and ends with its block.

No zombie, no open descriptor and no descendant of the child's is left behind, also
when the daemon is killed: the launcher then sees its socket close.
It passes on no environment but the one it is given, and puts no secret in argv:
write those to the child's standard input.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import trio

from askd.processes.confinement import Confinement

LAUNCHER = Path(__file__).with_name("launcher.py")

END_S = 3.0
"""Beyond the grace, for the launcher to kill who is left and to end itself; then it is killed."""

KILL_S = 2.0
"""For killed processes to be gone; one that is stuck in the kernel is left to it."""

LINE_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run.

    Attributes:
        cwd_fd: an open directory to run in, whatever stands at its path meanwhile; it wins
            over `cwd`, and needs to be open only until the block is entered.
        rlimits: names without `RLIMIT_`, in the kernel's units.
        processes: how many it may have at a time, those of its descendants included; beyond
            it all of them are killed. None: no limit.
        confinement: what it is kept to by the launcher, with Landlock; None: nothing.
        wraps: it runs something else in a sandbox, as `bwrap` does: it keeps `cwd_fd`, and what
            it runs is asked to end before itself is.
        leaves_daemons: what left its session on purpose may outlive it: an agent for keys.
        grace_s: what is told to end has so long to end well before it is killed.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    cwd: str | None = None
    cwd_fd: int | None = None
    rlimits: Mapping[str, int] = field(default_factory=dict)
    processes: int | None = None
    confinement: Confinement | None = None
    wraps: bool = False
    leaves_daemons: bool = False
    grace_s: float = 2.0

    def encode(self) -> bytes:
        """The line that the launcher reads."""
        return json.dumps(asdict(self)).encode() + b"\n"


class CannotStart(OSError):
    """The command could not be started; the message is a sentence that says why."""


class Child:
    """A running command: its pid (which is its group's, too) and its three streams."""

    def __init__(self, process: trio.Process, control: trio.SocketStream) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.pid = 0
        self._grace_s = 0.0
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr
        self._process = process
        self._control = control
        self._received = bytearray()
        self._status: int | None = None
        self._turn = trio.Lock()

    async def wait(self) -> int:
        """Wait for the end; the exit status, negative for a signal. May be called again."""
        async with self._turn:
            if self._status is None:
                message = await self._receive()
                if message is None:
                    # The launcher was killed and can end nobody: the group is ours to end.
                    _kill_group(self.pid)
                    self._status = -signal.SIGKILL
                else:
                    self._status = int(message["status"])
            return self._status

    async def _start(self, command: Command) -> None:
        self._grace_s = command.grace_s
        with suppress(trio.BrokenResourceError):
            await self._control.send_all(command.encode())
        message = await self._receive()
        if message is None:
            raise CannotStart(f"{command.argv[0]}: the launcher ended before it started anything")
        if "error" in message:
            self._status = 127
            raise CannotStart(message["error"])
        self.pid = message["pid"]

    async def _receive(self) -> dict[str, Any] | None:
        """The launcher's next line; None when it is gone. Keeps its place when cancelled."""
        while b"\n" not in self._received:
            try:
                data = await self._control.receive_some()
            except trio.BrokenResourceError:
                data = b""
            if not data or len(self._received) > LINE_LIMIT_BYTES:
                return None
            self._received += data
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received[:] = rest
        message: dict[str, Any] = json.loads(line)
        return message

    async def _end(self) -> None:
        """End the group and let go of everything; never takes longer than the limits."""
        with trio.CancelScope(shield=True):
            with trio.move_on_after(self._grace_s + END_S):
                with suppress(trio.BrokenResourceError):
                    await self._control.send_eof()
                if self.pid:
                    await self.wait()
                await self._process.wait()
            if self._process.returncode is None:
                _kill_group(self.pid)
                self._process.kill()
                with trio.move_on_after(KILL_S):
                    await self._process.wait()
            for stream in (self._control, self.stdin, self.stdout, self.stderr):
                await stream.aclose()


@asynccontextmanager
async def open_child(command: Command) -> AsyncIterator[Child]:
    """Run a command while the block runs; leaving the block ends it and its descendants.

    Raises:
        CannotStart: there is no such program or directory, or it may not be run.
    """
    ours, theirs = socket.socketpair()
    handed = () if command.cwd_fd is None else (command.cwd_fd,)
    try:
        with theirs:
            process = await trio.lowlevel.open_process(
                # UTF-8 mode: an empty environment says nothing about encodings.
                [sys.executable, "-I", "-S", "-X", "utf8", str(LAUNCHER), str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(), *handed),
                start_new_session=True,
                env={},
            )
    except BaseException:
        ours.close()
        raise
    child = Child(process, trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
    try:
        await child._start(command)
        yield child
    finally:
        await child._end()


def _kill_group(group: int) -> None:
    if group:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
