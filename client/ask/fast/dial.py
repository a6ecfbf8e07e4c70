"""`ask dial-stdio` the short way: this machine's daemon on standard input and output.

What comes in goes to the daemon and what it answers goes out, byte for byte, and neither
side is read faster than the other takes it. It knows no message, and starts no daemon:
where none listens it gives up.
"""

import os
import select

from ask.fast import caller

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol, TypeVar

    T = TypeVar("T")

    class Stream(Protocol):
        """Of a socket what is needed here."""

        def fileno(self) -> int: ...
        def recv(self, size: int, /) -> bytes: ...
        def send(self, data: bytes, /) -> int: ...
        def shutdown(self, how: int, /) -> None: ...
        def setblocking(self, flag: bool, /) -> None: ...


COMMAND = "dial-stdio"
NO_START = "--no-start"
PIECE_BYTES = 64 * 1024
"""Carried at once in one direction; so much is held at the most."""
_LAST_PIECES = 64
"""What a pipe holds at the most, as many times over as anybody could have filled it."""
_WRITE_END = 1  # SHUT_WR, of sys/socket.h
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
DONE = 0


def run_dial(arguments: "list[str]", environ: "Mapping[str, str]") -> int | None:
    """Carry bytes until a side ends: the exit code, or None where the long way has to help."""
    if arguments not in ([COMMAND], [COMMAND, NO_START]) or os.isatty(0):
        return None
    wait_input()
    stream = caller.open_socket(environ)
    if stream is None:
        return None
    try:
        relay(stream)
    finally:
        stream.close()
    return DONE


def wait_input() -> None:
    """Wait until somebody speaks: a daemon gives who is connected 2 s for the first word."""
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    waiting.poll()


def relay(stream: "Stream") -> None:
    """Carry bytes between the standard streams and a socket until a side has ended.

    The end of the input is passed on, and what the daemon still answers comes out. A reader
    of the output that is gone ends it at once.
    """
    blocking = [(each, os.get_blocking(each)) for each in (0, 1)]
    try:
        for each, _ in blocking:
            os.set_blocking(each, False)
        stream.setblocking(False)
        _carry(stream)
    finally:
        for each, before in blocking:
            os.set_blocking(each, before)


def _carry(stream: "Stream") -> None:
    up = down = b""  # what is held: for the daemon, and of it
    reading = writing = True  # the input has no end yet; the daemon has not been told of one
    daemon = stream.fileno()
    while True:
        waiting = select.poll()
        if reading and not up:
            waiting.register(0, select.POLLIN)
        waiting.register(1, select.POLLOUT if down else 0)  # that its reader is gone is always told
        wanted = (0 if down else select.POLLIN) | (select.POLLOUT if up else 0)
        if wanted:
            waiting.register(daemon, wanted)
        ready = dict(waiting.poll())
        if ready.get(1, 0) & _GONE:
            _pass_on(stream, up)
            return
        if 0 in ready:
            piece = _attempt(os.read, 0, PIECE_BYTES, at_end=b"")
            if piece is not None:
                up, reading = piece, bool(piece)
        if up and daemon in ready:
            sent = _attempt(stream.send, up, at_end=-1)
            if sent == -1:  # it takes no more; what it has answered is still to be read
                up, reading, writing = b"", False, False
            elif sent:
                up = up[sent:]
        if writing and not reading and not up:
            writing = False
            _attempt(stream.shutdown, _WRITE_END, at_end=None)
        if not down and daemon in ready:
            piece = _attempt(stream.recv, PIECE_BYTES, at_end=b"")
            if piece == b"":
                return
            down = piece or b""
        if down:
            sent = _attempt(os.write, 1, down, at_end=-1)
            if sent == -1:
                return
            down = down[sent or 0 :]


def _pass_on(stream: "Stream", up: bytes) -> None:
    """Nobody hears an answer any more; what has been said until now is still said."""
    stream.setblocking(True)
    for _ in range(_LAST_PIECES):
        if up and _attempt(_send_all, stream, up, at_end=-1) == -1:
            return
        up = _attempt(os.read, 0, PIECE_BYTES, at_end=b"") or b""
        if not up:
            return


def _send_all(stream: "Stream", data: bytes) -> int:
    while data:
        data = data[stream.send(data) :]
    return 0


def _attempt(act: "Callable[..., T]", *given: object, at_end: "T") -> "T | None":
    """Do what might wait: None where it would, `at_end` where that side is gone."""
    try:
        return act(*given)
    except BlockingIOError:
        return None
    except OSError:
        return at_end
