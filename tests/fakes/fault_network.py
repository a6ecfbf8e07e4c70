"""A network in memory that breaks at the byte that it is told to; everything above it is real.

httpx, httpcore and h11 run as they do in the daemon, only the sockets are
missing: so the mock clock works, and a sweep over every byte takes seconds. It
knows no dialect, judges nothing, and keeps no time limit of httpcore's: the
transport sets none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpcore
import httpx
import trio

Framing = Literal["chunked", "length", "close"]
"""How the end of a body is told: its chunks, its length, or only the end of the connection."""

Kind = Literal["none", "split", "cut", "reset", "stall", "drip", "trickle", "garble", "insert"]

GARBLES = (b"\x00", b"\xff", b"\n", b"0", b"}")
INSERTS = (b"\x00", b"\r\n\r\n", b'data: {"\n\n', b"\xff\xfe", b"0\r\n\r\n", b"]}")

DRIP_S = 50.0
"""Between two keep-alives, and between two bytes of a trickle."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a byte of the response, its head included.

    none: the whole response in one read. split: in two. cut: the connection is closed.
    reset: it breaks. stall: nothing comes any more. drip: only keep-alives come. trickle:
    the rest comes byte by byte. garble: one byte is another. insert: garbage comes in
    between. Which garbage follows from the offset.
    """

    kind: Kind
    at: int = 0


class Wire:
    """One response as bytes. `head` is the length of its head."""

    def __init__(
        self,
        events: Sequence[bytes],
        *,
        framing: Framing,
        content_type: str,
        keep_alive: bytes,
        status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        body = b"".join(events)
        lines = [f"HTTP/1.1 {status} OK", f"content-type: {content_type}"]
        lines += [f"{name}: {value}" for name, value in headers]
        match framing:
            case "chunked":
                lines.append("transfer-encoding: chunked")
                self._body = b"".join(map(_chunk, events)) + _chunk(b"")
                self.keep_alive = _chunk(keep_alive)
            case "length":
                lines.append(f"content-length: {len(body)}")
                self._body, self.keep_alive = body, keep_alive
            case "close":
                lines.append("connection: close")
                self._body, self.keep_alive = body, keep_alive
        head = "\r\n".join([*lines, "", ""]).encode()
        self.head = len(head)
        self.bytes = head + self._body

    def find_ends(self, events: Sequence[bytes]) -> list[int]:
        """The offset behind each event's last byte."""
        found, at = [], self.head
        for event in events:
            at = self.bytes.index(event, at) + len(event)
            found.append(at)
        return found


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class FaultStream(httpcore.AsyncNetworkStream):
    """One connection: swallows the request, sends the wire as far as the fault lets it."""

    def __init__(self, network: "FaultNetwork") -> None:
        self._network = network
        self._pieces = self._cut_up(network.wire.bytes, network.fault)
        self.closed = False

    @staticmethod
    def _cut_up(data: bytes, fault: Fault) -> list[bytes]:
        """What is sent for sure, in the pieces that it is read in; reversed, to pop from."""
        at = fault.at
        match fault.kind:
            case "none":
                pieces = [data]
            case "split":
                pieces = [data[:at], data[at:]]
            case "garble":
                pieces = [data[:at] + GARBLES[at % len(GARBLES)] + data[at + 1 :]]
            case "insert":
                pieces = [data[:at] + INSERTS[at % len(INSERTS)] + data[at:]]
            case "trickle":
                pieces = [data[:at], *(bytes([each]) for each in data[at:])]
            case _:
                pieces = [data[:at]]
        return [piece for piece in reversed(pieces) if piece]

    async def read(self, max_bytes: int, *_: Any, **__: Any) -> bytes:
        await trio.lowlevel.checkpoint()
        fault = self._network.fault
        if self._pieces:
            if fault.kind == "trickle" and self._network.reads:
                await trio.sleep(DRIP_S)
            self._network.reads += 1
            piece = self._pieces.pop()
            if len(piece) > max_bytes:
                self._pieces.append(piece[max_bytes:])
            return piece[:max_bytes]
        match fault.kind:
            case "reset":
                raise httpcore.ReadError("Connection reset by peer")
            case "stall":
                await trio.sleep_forever()
            case "drip":
                await trio.sleep(DRIP_S)
                return self._network.wire.keep_alive
            case _:
                pass
        return b""

    async def write(self, buffer: bytes, *_: Any, **__: Any) -> None:
        await trio.lowlevel.checkpoint()
        if buffer.startswith((b"POST ", b"GET ")):
            self._network.requests += 1

    async def aclose(self) -> None:
        self.closed = True

    def get_extra_info(self, info: str) -> Any:
        """Nothing but that the connection is not readable, so that it may be used again."""
        return False if info == "is_readable" else None


class FaultNetwork(httpcore.AsyncNetworkBackend):
    """Every connection gets the same wire with the same fault.

    Attributes:
        requests: how many were sent.
        streams: every connection that was opened.
    """

    def __init__(self, wire: Wire, fault: Fault) -> None:
        self.wire = wire
        self.fault = fault
        self.requests = 0
        self.reads = 0
        self.streams: list[FaultStream] = []

    def count_open(self) -> int:
        """How many connections nobody has closed."""
        return sum(not stream.closed for stream in self.streams)

    async def connect_tcp(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        stream = FaultStream(self)
        self.streams.append(stream)
        return stream

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)


class FaultTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport on the network that breaks."""

    def __init__(self, network: FaultNetwork) -> None:
        # httpx's constructor would load certificates, 20 ms each time, and knows no network.
        self._pool = httpcore.AsyncConnectionPool(network_backend=network)

    def count_idle(self) -> int:
        """How many connections are kept for the next request."""
        return sum(connection.is_idle() for connection in self._pool.connections)
