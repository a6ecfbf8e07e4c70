"""The end of the browser's way: a door on the loopback that waits for one address.

It listens on 127.0.0.1 at a port of the system's choice, understands `GET` of
one path, and answers a small page. What it is given is judged by whoever waits;
an address that is refused is answered as such, and the door stays open. It keeps
nothing, logs nothing, and takes no more from a visitor than one head.
"""

import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from askd.errors import RequestError

PATH = "/auth/callback"

HEAD_LIMIT_BYTES = 16 * 1024
"""Of a request: its line with the address, and a browser's headers."""

HEAD_S = 10.0
"""For a request to arrive; a browser opens connections ahead and may never use them."""

VISITORS = 8
"""At once; a browser has two or three."""

FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
"""This machine, or this process, has no more of something just now; it ends no sign-in."""

FULL_S = 0.1

DONE = "You are signed in as far as this page can tell. Go back to your terminal."
FAILED = "The sign-in failed. Your terminal says why."
STRANGE = "This is not the address that is waited for."


class _Unwanted(Exception):
    """A request that is none; it is answered with this status."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Callback:
    """An open door."""

    redirect_uri: str
    listener: trio.SocketListener

    async def serve(self, take: Callable[[str], bool]) -> None:
        """Answer visitors until cancelled.

        Args:
            take: is given each address that is asked for here; says whether it is
                a sign-in (False: it failed), or raises `RequestError` if it is not ours.
        """
        places = trio.Semaphore(VISITORS)

        async def receive(stream: trio.SocketStream) -> None:
            try:
                async with stream:
                    with trio.move_on_after(HEAD_S):
                        await self._answer(stream, take)
            finally:
                places.release()

        # In it: one task for each visitor; cancelled by whoever waits for the address.
        async with trio.open_nursery() as nursery:
            while True:
                await places.acquire()
                nursery.start_soon(receive, await self._accept())

    async def _accept(self) -> trio.SocketStream:
        """The next visitor, as soon as there is a descriptor for one."""
        while True:
            try:
                return await self.listener.accept()
            except OSError as error:
                if error.errno not in FULL:
                    raise
            await trio.sleep(FULL_S)

    async def _answer(self, stream: trio.SocketStream, take: Callable[[str], bool]) -> None:
        try:
            target = await _read_target(stream)
            if target is None:
                return
            if target.partition("?")[0] != PATH:
                raise _Unwanted("404 Not Found")
            try:
                is_in = take(target)
            except RequestError:
                raise _Unwanted("400 Bad Request") from None
            page = _make_page("200 OK", DONE if is_in else FAILED)
        except _Unwanted as error:
            page = _make_page(error.status, STRANGE)
        except trio.BrokenResourceError:
            return
        try:
            await stream.send_all(page)
        except trio.BrokenResourceError:
            return


@asynccontextmanager
async def open_callback() -> AsyncIterator[Callback]:
    """Listen until the block is left. Raises `OSError` if there is no loopback to listen on."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        port = listener.socket.getsockname()[1]
        yield Callback(f"http://127.0.0.1:{port}{PATH}", listener)


async def _read_target(stream: trio.SocketStream) -> str | None:
    """The address that is asked for; None if the visitor left without a word."""
    head = b""
    while b"\r\n\r\n" not in head:
        data = await stream.receive_some(4096)
        if not data:
            return None
        head += data
        if len(head) > HEAD_LIMIT_BYTES:
            raise _Unwanted("431 Request Header Fields Too Large")
    line = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(line) != 3 or not line[2].startswith("HTTP/1"):
        raise _Unwanted("400 Bad Request")
    if line[0] != "GET":
        raise _Unwanted("405 Method Not Allowed")
    return line[1]


def _make_page(status: str, sentence: str) -> bytes:
    body = (
        '<!doctype html><meta charset="utf-8"><title>ask</title>'
        f'<p style="font: 1.2em sans-serif; margin: 3em">{sentence}</p>\n'
    ).encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\ncache-control: no-store\r\n"
        # The page's own address holds the code: it goes nowhere.
        "referrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'; "
        "style-src 'unsafe-inline'\r\n\r\n"
    )
    return head.encode() + body
