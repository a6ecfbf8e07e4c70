"""A healthy client of whoever serves a socket, and what that process weighs; blocking.

It is made of the contract's frames alone, so that a server built wrong can be asked the same.
"""

import math
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ask.protocol import PROTOCOL
from ask.protocol.frames import FrameReader, Response, encode_request
from tests.system.world import World

HELLO = {"client": "healthy", "version": "1", "protocol": PROTOCOL}
LIMIT_S = 60.0
"""How long an answer may take before the run is given up."""
RECEIVE_BYTES = 64 * 1024
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class House:
    """Whoever serves: its process, and where it listens."""

    pid: int
    socket: str

    @classmethod
    def start(cls, world: World) -> "House":
        """The daemon of a home, started."""
        world.ok("daemon", "start")
        note = world.owner()
        assert note is not None
        return cls(int(note["pid"]), str(note["socket"]))

    def lives(self) -> bool:
        """Whether the process is there, and no zombie."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] != "Z"

    def weigh(self) -> int:
        """Its resident memory in bytes, as it is now; 0: it is gone."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def forget_peak(self) -> None:
        """Let `read_peak` begin anew (proc_pid_clear_refs(5))."""
        try:
            Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            return  # it is gone, which others find out

    def read_peak(self) -> int:
        """The most resident memory in bytes since `forget_peak`; 0: it is gone."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return 0
        lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(lines[0].split()[1]) * 1024 if lines else 0


class Peer:
    """A connection that has said hello. Use it as a context manager, from one thread."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(LIMIT_S)
        self._reader = FrameReader()
        self._count = 0
        try:
            self._socket.connect(path)
            self.call("hello", HELLO)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave."""
        self._socket.close()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """A request's result; notifications are passed over.

        Raises:
            OSError: the connection is lost, or nothing came in `LIMIT_S`.
            ValueError: what came is no message, or an error, or another request's answer.
        """
        self._count += 1
        self._socket.sendall(encode_request(self._count, method, params))
        while True:
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError("the connection was closed")
            for message in self._reader.feed(data):
                if isinstance(message, Response):
                    if message.id != self._count or message.error is not None:
                        raise ValueError(f"{method} was answered {str(message)[:200]}")
                    return message.result


def wait_for(path: str) -> None:
    """Wait until somebody listens at a path; raise `TimeoutError`."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        try:
            Peer(path).close()
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nobody came to listen at {path}")


def find_p99(latencies: Sequence[float]) -> float:
    """The value that 99 of 100 do not pass; infinite if there is none."""
    if not latencies:
        return math.inf
    ordered = sorted(latencies)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
