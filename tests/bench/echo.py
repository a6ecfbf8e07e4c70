"""Servers that answer every request with nothing: `python -m tests.bench.echo KIND SOCKET`.

KIND is `trio`, a task for each connection, or `uvloop`, a protocol on its event loop. They read
and write frames with the daemon's own codec and do nothing else, which is the least that an answer
costs on that loop. They say `ready`, and end with their standard input.
"""

import asyncio
import importlib
import sys
import threading
from typing import Any, cast

import trio

from ask.protocol.frames import FrameReader, Request, encode_response

RECEIVE_BYTES = 64 * 1024
"""As the daemon reads."""
BACKLOG = 128


def answer_all(reader: FrameReader, data: bytes) -> bytes:
    """The answers to the requests that are whole with this."""
    return b"".join(
        encode_response(message.id, None, {})
        for message in reader.feed(data)
        if isinstance(message, Request)
    )


async def serve_trio(path: str) -> None:
    """Serve until standard input ends."""
    listening = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
    await listening.bind(path)
    listening.listen(BACKLOG)

    async def serve(stream: trio.SocketStream) -> None:
        reader = FrameReader.for_daemon()
        async with stream:
            while data := await stream.receive_some(RECEIVE_BYTES):
                await stream.send_all(answer_all(reader, bytes(data)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [trio.SocketListener(listening)])
        print("ready", flush=True)
        await trio.to_thread.run_sync(sys.stdin.read)
        nursery.cancel_scope.cancel()


class Echo(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._reader = FrameReader.for_daemon()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it to answer by; uvloop's is a transport without saying so."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer at once."""
        assert self._transport is not None
        self._transport.write(answer_all(self._reader, data))


async def serve_protocols(path: str) -> None:
    """The same on whatever loop runs this."""
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(Echo, path, backlog=BACKLOG)
    ended = asyncio.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    print("ready", flush=True)
    await ended.wait()
    server.close()


def main() -> None:
    """Serve as the command line says."""
    kind, path = sys.argv[1:]
    if kind == "trio":
        trio.run(serve_trio, path)
    else:
        uvloop: Any = importlib.import_module("uvloop")  # no part of the project needs it
        uvloop.run(serve_protocols(path))


if __name__ == "__main__":
    main()
