"""Response bodies: bounded, left without a trace, their breaks put in words."""

import gc
from collections.abc import AsyncIterator

import httpx
import pytest
import trio
from trio.testing import MockClock

from askd.providers.base import Endpoint
from askd.providers.bodies import abandon, read_body
from askd.providers.trouble import describe_trouble

WHERE = Endpoint(provider="work", base_url="http://me:secret@host:1/v1", api_key="sk-x")


class Endless(httpx.AsyncByteStream):
    """A body that never ends, or hangs after `count` pieces."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count
        self.sent = 0
        self.unwound = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while self.count is None or self.sent < self.count:
                self.sent += 1
                yield b"x" * 1000
                await trio.lowlevel.checkpoint()
            await trio.sleep_forever()
        finally:
            self.unwound = True


async def test_body_is_read_up_to_a_limit() -> None:
    stream = Endless()
    assert await read_body(httpx.Response(500, stream=stream), 1500) == b"x" * 1500
    assert stream.sent == 2
    assert stream.unwound


async def test_whole_body_is_read_if_it_fits() -> None:
    assert await read_body(httpx.Response(500, stream=httpx.ByteStream(b"short")), 1500) == b"short"


async def test_abandoned_body_is_unwound_at_once(autojump_clock: MockClock) -> None:
    stream = Endless(count=2)
    chunks = httpx.Response(200, stream=stream).aiter_raw()
    await anext(chunks)
    before = trio.current_time()
    await abandon(chunks, patience_s=0.05)
    assert trio.current_time() - before == pytest.approx(0.05)
    assert stream.unwound
    gc.collect()  # a generator that was left waiting would warn here, and warnings are errors


async def test_body_that_ends_in_time_is_read_to_its_end(autojump_clock: MockClock) -> None:
    chunks = httpx.Response(200, stream=httpx.ByteStream(b"tail")).aiter_raw()
    await abandon(chunks, patience_s=0.05)
    assert [chunk async for chunk in chunks] == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectTimeout("t"), "work does not answer at http://host:1/v1"),
        (httpx.ConnectError("refused"), "work cannot be reached at http://host:1/v1: refused"),
        (httpx.ReadError(""), "work: the connection broke: ReadError"),
        (httpx.RemoteProtocolError("bad chunk"), "work: the connection broke: bad chunk"),
        (httpx.LocalProtocolError("odd header"), "cannot be asked: odd header"),
    ],
)
def test_trouble_in_words(error: httpx.HTTPError, words: str) -> None:
    sentence = describe_trouble(WHERE, error).message
    assert words in sentence
    assert "secret" not in sentence
    assert "sk-x" not in sentence


def test_socket_is_named_by_its_path() -> None:
    where = Endpoint(provider="work", base_url="http://localhost/v1", unix_socket="/run/x.sock")
    assert "/run/x.sock" in describe_trouble(where, httpx.ConnectError("gone")).message
