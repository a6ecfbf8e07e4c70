"""A wire between clients and the daemon that can be cut while both ends live.

Bytes are passed on as they come, and nothing is understood. A connection whose one end is
closed is closed at the other.
"""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.system.world import LIMIT_S

PIECE_BYTES = 64 * 1024


class Relay:
    """Listens on a path, and connects whoever comes to another.

    Attributes:
        path: what clients are told (`ASK_SOCKET`).
    """

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self._target = target
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def cut(self) -> int:
        """Break every connection that there is now; how many those were."""
        with self._lock:
            ends = list(self._ends)
        for end in ends:
            with suppress(OSError):  # it was broken in this moment
                end.shutdown(socket.SHUT_RDWR)
        return len(ends) // 2

    def close(self) -> None:
        """End it."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT_S)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(self._target)
                except OSError:
                    near.close()
                    far.close()
                    continue
                with self._lock:
                    self._ends |= {near, far}
                threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        with selectors.DefaultSelector() as ready, near, far, suppress(OSError):
            try:
                self._carry(ready, other)
            finally:
                with self._lock:  # before they are closed: `cut` may hold them
                    self._ends -= set(other)

    def _carry(
        self, ready: selectors.BaseSelector, other: dict[socket.socket, socket.socket]
    ) -> None:
        for end in other:
            ready.register(end, selectors.EVENT_READ, end)
        while True:
            for key, _ in ready.select():
                piece = key.data.recv(PIECE_BYTES)
                if not piece:
                    return
                other[key.data].sendall(piece)


@contextmanager
def open_relay(path: Path, target: str) -> Iterator[Relay]:
    """A relay while the block runs."""
    relay = Relay(path, target)
    try:
        yield relay
    finally:
        relay.close()
