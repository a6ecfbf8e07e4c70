"""The door on the loopback: who is let in, who is not, and that it stays open."""

import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
import trio
from trio.testing import MockClock

from askd.errors import RequestError
from askd.providers.credentials.callback import HEAD_LIMIT_BYTES, VISITORS, Callback, open_callback


@asynccontextmanager
async def serving(take: Callable[[str], bool]) -> AsyncIterator[Callback]:
    """A door that is open in the block."""
    async with open_callback() as callback, trio.open_nursery() as nursery:
        nursery.start_soon(callback.serve, take)
        yield callback
        nursery.cancel_scope.cancel()


async def connect(callback: Callback) -> trio.SocketStream:
    """A visitor."""
    port = urlsplit(callback.redirect_uri).port
    assert port is not None
    return await trio.open_tcp_stream("127.0.0.1", port)


async def visit(callback: Callback, request: bytes) -> bytes:
    """What a visitor is answered."""
    answer = b""
    async with await connect(callback) as stream:
        await stream.send_all(request)
        with trio.fail_after(5):
            while data := await stream.receive_some(4096):
                answer += data
    return answer


def get(target: str) -> bytes:
    """A browser's request."""
    return f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: browser\r\n\r\n".encode()


async def test_browser_is_let_in_and_sent_a_page() -> None:
    taken: list[str] = []

    def take(target: str) -> bool:
        taken.append(target)
        return True

    async with serving(take) as callback:
        assert callback.redirect_uri.startswith("http://127.0.0.1:")
        assert callback.redirect_uri.endswith("/auth/callback")
        answer = await visit(callback, get("/auth/callback?code=c&state=s"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Go back to your terminal" in answer
    assert b"code=c" not in answer
    assert b"referrer-policy: no-referrer" in answer
    assert taken == ["/auth/callback?code=c&state=s"]


async def test_failed_sign_in_is_told_so() -> None:
    async with serving(lambda target: False) as callback:
        answer = await visit(callback, get("/auth/callback?error=x"))
    assert b"The sign-in failed" in answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/favicon.ico"), b"404"),
        (get("/"), b"404"),
        (get("/auth/callback/x"), b"404"),
        (b"POST /auth/callback HTTP/1.1\r\n\r\n", b"405"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400"),  # somebody tries TLS
        (b"GET\r\n\r\n", b"400"),
        (b"GET /auth/callback HTTP/1.1\r\nX: " + b"x" * HEAD_LIMIT_BYTES, b"431"),
        (get("/auth/callback?state=not-ours"), b"400"),
    ],
)
async def test_stranger_is_sent_away_and_the_door_stays_open(
    request_bytes: bytes, status: bytes
) -> None:
    def take(target: str) -> bool:
        if "ours" in target and "not-ours" not in target:
            return True
        raise RequestError("no")

    async with serving(take) as callback:
        assert (await visit(callback, request_bytes)).split(b" ")[1] == status
        assert b"200 OK" in await visit(callback, get("/auth/callback?state=ours"))


async def test_visitors_who_say_nothing_do_not_keep_others_out(autojump_clock: MockClock) -> None:
    autojump_clock.autojump_threshold = 0.05
    async with serving(lambda target: True) as callback:
        silent = [await connect(callback) for _ in range(VISITORS)]
        await (await connect(callback)).aclose()  # and one who leaves at once
        async with await connect(callback) as stream:
            await stream.send_all(get("/auth/callback?x"))
            assert (await stream.receive_some(100)).startswith(b"HTTP/1.1 200")
        for each in silent:
            await each.aclose()


async def test_door_stays_open_while_there_is_no_descriptor_left(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    autojump_clock.autojump_threshold = 0.05
    troubles = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ENFILE, "the same")]
    accept = trio.SocketListener.accept

    async def accept_late(listener: trio.SocketListener) -> trio.SocketStream:
        if troubles:
            raise troubles.pop(0)
        return await accept(listener)

    monkeypatch.setattr(trio.SocketListener, "accept", accept_late)
    async with serving(lambda target: True) as callback:
        assert b"200 OK" in await visit(callback, get("/auth/callback?x"))
    assert not troubles


async def test_door_is_closed_behind_the_block() -> None:
    async with open_callback() as callback:
        pass
    with pytest.raises(OSError, match="all attempts to connect"):
        await connect(callback)
