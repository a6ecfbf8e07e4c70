"""One GET: what is sent, what is taken, and where it ends."""

import gzip
import tracemalloc
import zlib

import h11
import pytest
import trio

from askd.tools.addresses import read_url
from askd.tools.base import CannotRun
from askd.tools.download import BODY_BYTES, Downloaded, download
from tests.fakes.web import Web, answer

HEADERS = {"user-agent": "test"}


async def fetch(
    nursery: trio.Nursery, said: bytes, url: str = "http://example.com/a?b"
) -> Downloaded:
    """What comes of an answer of these bytes."""
    web = Web(
        nursery,
        sites={read_url(url).authority: lambda request: said},
        names={read_url(url).host: [["8.8.8.8"]]},
    )
    return await download(read_url(url), web.way, headers=HEADERS)


async def test_a_whole_answer(nursery: trio.Nursery) -> None:
    got = await fetch(nursery, answer(b"hello", status=404, x_y="1"))
    assert (got.status, got.body, got.is_cut) == (404, b"hello", False)
    assert got.headers["x-y"] == "1"


async def test_what_is_sent_and_nothing_else(nursery: trio.Nursery) -> None:
    seen: list[h11.Request] = []

    def site(request: h11.Request) -> bytes:
        seen.append(request)
        return answer(b"", set_cookie="a=b")

    web = Web(nursery, sites={"example.com:8080": site}, names={"example.com": [["8.8.8.8"]]})
    for _ in range(2):
        await download(read_url("http://example.com:8080/a?b=c#d"), web.way, headers=HEADERS)
    for request in seen:
        assert (request.method, request.target) == (b"GET", b"/a?b=c")
        assert sorted(request.headers) == [
            (b"connection", b"close"), (b"host", b"example.com:8080"), (b"user-agent", b"test"),
        ]  # fmt: skip


@pytest.mark.parametrize("packing", ["gzip", "x-gzip", "deflate"])
async def test_a_packed_answer_is_unpacked(nursery: trio.Nursery, packing: str) -> None:
    packed = zlib.compress(b"hello") if packing == "deflate" else gzip.compress(b"hello")
    got = await fetch(nursery, answer(packed, content_encoding=packing))
    assert got.body == b"hello"


async def test_a_bomb_takes_no_more_room_than_its_bound(nursery: trio.Nursery) -> None:
    bomb = gzip.compress(bytes(200 << 20), 9)
    assert len(bomb) < 300_000
    tracemalloc.start()
    try:
        got = await fetch(nursery, answer(bomb, content_encoding="gzip"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert got.is_cut
    assert len(got.body) == BODY_BYTES
    assert peak < 6 * BODY_BYTES


@pytest.mark.parametrize("length", [BODY_BYTES - 1, BODY_BYTES, BODY_BYTES + 1, 2 * BODY_BYTES])
async def test_a_long_answer_is_cut(nursery: trio.Nursery, length: int) -> None:
    got = await fetch(nursery, answer(b"x" * length))
    assert len(got.body) == min(length, BODY_BYTES)
    assert got.is_cut == (length > BODY_BYTES)


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "compress", "nonsense"])
async def test_what_nobody_asked_for_is_not_unpacked(nursery: trio.Nursery, packing: str) -> None:
    with pytest.raises(CannotRun, match="which nobody asked for"):
        await fetch(nursery, answer(b"x", content_encoding=packing))


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"220 mail.example.com ESMTP\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
        b"SSH-2.0-OpenSSH_9\r\n",
        answer(b"no gzip", content_encoding="gzip"),
    ],
)
async def test_what_is_no_answer_is_a_sentence(nursery: trio.Nursery, said: bytes) -> None:
    with pytest.raises(CannotRun) as refused:
        await fetch(nursery, said)
    assert str(refused.value).startswith("example.com ")
    assert str(refused.value).isprintable()


async def test_an_answer_that_ends_with_its_connection(nursery: trio.Nursery) -> None:
    got = await fetch(nursery, b"HTTP/1.0 200 OK\r\n\r\nhello")
    assert (got.body, got.headers) == (b"hello", {})


async def test_answers_before_the_answer_are_passed_over(nursery: trio.Nursery) -> None:
    got = await fetch(nursery, b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(b"x"))
    assert got.body == b"x"
