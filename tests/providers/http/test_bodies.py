"""Response bodies: bounded, left without a trace, judged by their first bytes."""

import gc
from collections.abc import AsyncIterator

import httpx
import pytest
import trio
from trio.testing import MockClock

from askd.providers.http.bodies import abandon, find_compression, judge_beginning, read_body


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


async def test_slow_body_is_read_as_far_as_it_came(autojump_clock: MockClock) -> None:
    stream = Endless(count=2)
    body = await read_body(httpx.Response(500, stream=stream), 10_000, patience_s=5)
    assert body == b"x" * 2000
    assert trio.current_time() == pytest.approx(5)
    assert stream.unwound


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (None, None),
        ("", None),
        ("identity", None),
        ("utf-8", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("identity, br", "br"),
    ],
)
def test_compression(encoding: str | None, expected: str | None) -> None:
    headers = {} if encoding is None else {"content-encoding": encoding}
    assert find_compression(headers) == expected


@pytest.mark.parametrize(
    ("head", "events", "lines"),
    [
        (b"", "unknown", "unknown"),
        (b" \r\n", "unknown", "unknown"),
        (b"\xef\xbb", "unknown", "unknown"),
        (b"\xef\xbb\xbfdata: {}", "stream", "garbage"),
        (b"data:", "stream", "garbage"),
        (b"\n\nevent: ping", "stream", "garbage"),
        (b": keep-alive", "stream", "garbage"),
        (b"id: 1", "stream", "garbage"),
        (b"retry: 10", "stream", "garbage"),
        (b"dat", "unknown", "garbage"),
        (b"r", "unknown", "garbage"),
        (b'{"error"', "json", "stream"),
        (b"[1]", "json", "json"),
        (b" <html", "page", "page"),
        (b"Welcome", "garbage", "garbage"),
        (b"\x1f\x8b\x08", "garbage", "garbage"),
    ],
)
def test_first_bytes_tell(head: bytes, events: str, lines: str) -> None:
    assert judge_beginning(head, takes_json=False) == events
    assert judge_beginning(head, takes_json=True) == lines
