"""A server of raw bytes on the loopback, with TLS or as a proxy: for what is wrong below HTTP.

Each connection reads one request's head and body, notes it, and sends the bytes
that its script says. It checks nothing and completes nothing.
"""

import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trio

TLS = Path(__file__).parent.parent / "data" / "tls"

Script = Callable[[str], bytes]
"""The head of a request in, all bytes of the answer out."""

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class WireServer:
    """What was asked, and the port."""

    def __init__(
        self, script: Script, secure: ssl.SSLContext | None, *, tunnel: bool, waits: bool
    ) -> None:
        self.heads: list[str] = []
        self.port = 0
        self._script = script
        self._secure = secure
        self._tunnel = tunnel
        self._waits = waits

    async def serve(self, stream: trio.SocketStream) -> None:
        """One connection."""
        with suppress(trio.BrokenResourceError, ssl.SSLError):
            if self._tunnel:
                await self._read(stream)
                await stream.send_all(b"HTTP/1.1 200 Connected\r\n\r\n")
            end: trio.abc.Stream = stream
            if self._secure is not None:
                end = trio.SSLStream(stream, self._secure, server_side=True, https_compatible=True)
            head = await self._read(end)
            await end.send_all(self._script(head))
            await end.aclose()

    async def _read(self, stream: trio.abc.Stream) -> str:
        data = b""
        while not self._is_whole(data):
            more = await stream.receive_some(65536)
            if not more:
                raise trio.BrokenResourceError
            data += more
        head = data.partition(b"\r\n\r\n")[0].decode("latin-1")
        self.heads.append(head)
        return head

    def _is_whole(self, data: bytes) -> bool:
        """A body that was not read makes the kernel reset the connection."""
        head, end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        is_whole = bool(end) and len(body) >= int(length[1] if length else 0)
        return is_whole or bool(data and not self._waits)


@asynccontextmanager
async def open_wire_server(
    script: Script | bytes,
    *,
    certificate: str | None = None,
    tunnel: bool = False,
    waits: bool = True,
) -> AsyncIterator[WireServer]:
    """Run it while the block runs.

    Args:
        certificate: the name of one in tests/data/tls; None: no TLS.
        tunnel: be a proxy and, behind its CONNECT, the server too.
        waits: for a whole head before it answers; else for any bytes.
    """
    secure = None
    if certificate is not None:
        secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secure.load_cert_chain(TLS / f"{certificate}.pem")
    answer = script if callable(script) else (lambda head: script)
    server = WireServer(answer, secure, tunnel=tunnel, waits=waits)
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server.port = listeners[0].socket.getsockname()[1]
    # The connections live here; the end of the block ends them.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, server.serve, listeners)
        yield server
        nursery.cancel_scope.cancel()
