"""Peers that send a byte a second: in the middle of their hello, or of a request after it."""

import fcntl
import math
import struct
import termios

import trio

from ask.protocol.frames import encode_request
from tests.faults.peers_wire import HELLO, Refused, Wire

DRIP_S = 1.0
LOOK_S = 0.1
"""How often it is looked at whether what was sent has been read."""
HELLO_FRAME = encode_request(0, "hello", HELLO)
REQUEST_FRAME = encode_request(7, "conversation/search", {"text": "x" * 900})


class Drip:
    """One such peer.

    Attributes:
        read_at: when somebody had read its first byte: before, it waits in the kernel.
        stopped_at: when it sent its last byte, in the middle of a message.
        closed_at: when its connection was over; infinite: it is not.
        refused: it was told that it is one too many.
    """

    def __init__(self) -> None:
        self.read_at = math.inf
        self.stopped_at = math.inf
        self.closed_at = math.inf
        self.closed = trio.Event()
        self.refused = False
        self._stream: trio.SocketStream | None = None

    async def drip_hello(self, path: str) -> None:
        """Connect and send a hello, so slowly that it never ends."""
        self._stream = await trio.open_unix_socket(path)
        await self._drip(self._stream, HELLO_FRAME, trio.Event())

    async def greet_and_drip(self, path: str, stop: trio.Event) -> None:
        """Say hello as one should and then drip a request; after `stop` send nothing more."""
        try:
            wire = await Wire.greet(path)
        except (Refused, EOFError):
            self.refused = True
            return
        self._stream = wire.stream
        await self._drip(wire.stream, REQUEST_FRAME, stop)

    def look(self) -> None:
        """Note whether the first byte has been read."""
        if (
            math.isinf(self.read_at)
            and self._stream is not None
            and self._stream.socket.fileno() >= 0
        ):
            packed = fcntl.ioctl(self._stream.socket.fileno(), termios.TIOCOUTQ, bytes(4))
            if struct.unpack("i", packed)[0] == 0:
                self.read_at = trio.current_time()

    async def _drip(self, stream: trio.SocketStream, frame: bytes, stop: trio.Event) -> None:
        # In it: the reader, which ends with the connection and ends all; and the drops.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._wait_closed, stream, nursery.cancel_scope)
            try:
                for byte in frame[:-1]:
                    await stream.send_all(bytes([byte]))
                    with trio.move_on_after(DRIP_S):
                        await stop.wait()
                        break
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # the reader hears the same
            self.stopped_at = trio.current_time()

    async def _wait_closed(self, stream: trio.SocketStream, ended: trio.CancelScope) -> None:
        try:
            while await stream.receive_some(4096):
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        self.closed_at = trio.current_time()
        self.closed.set()
        await trio.aclose_forcefully(stream)
        ended.cancel()
