"""The roads: where they lead, by which proxy, and how much comes back on them."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2
import pytest
import trio

from askd.tools.base import CannotRun
from askd.tools.mcp import http_roads
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http_roads import Allowance, Bounded, Roads
from askd.tools.mcp.lines import MOST_PIECES
from askd.tools.mcp.ways import HttpWay
from tests.fakes.mcp_ways import make_way
from tests.fakes.wire_server import open_wire_server

PAGE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"


async def fetch(url: str, *, of: str | None = None, way: HttpWay | None = None) -> httpx2.Response:
    """Ask for a URL on the roads to the server `of`."""
    config = ServerConfig(name="far", url=of or url)
    roads = Roads(config, way or make_way())
    with trio.fail_after(10):
        async with httpx2.AsyncClient(transport=roads, trust_env=False) as client:
            return await client.get(url)


async def test_a_page_is_fetched_and_nothing_is_compressed() -> None:
    async with open_wire_server(PAGE) as wire:
        response = await fetch(f"http://127.0.0.1:{wire.port}/mcp")
    assert response.content == b"hi"
    assert "accept-encoding: identity" in wire.heads[0].lower()


async def test_what_is_elsewhere_goes_by_the_proxy() -> None:
    async with open_wire_server(PAGE) as wire:
        way = make_way(proxy=f"http://127.0.0.1:{wire.port}")
        assert (await fetch("http://far.example/mcp", way=way)).content == b"hi"
    assert wire.heads[0].startswith("GET http://far.example/mcp HTTP/1.1")


async def test_a_proxy_that_is_none_is_a_sentence() -> None:
    with pytest.raises(CannotRun, match="the proxy on the way is none that can be used"):
        await fetch("http://far.example/", way=make_way(proxy="gopher://x"))


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with open_wire_server(PAGE, certificate="good") as wire:
        with pytest.raises(httpx2.ConnectError):
            await fetch(f"https://127.0.0.1:{wire.port}/")


@pytest.mark.parametrize(
    ("of", "url"),
    [
        ("https://far.example/mcp", "http://auth.example/token"),
        ("https://far.example/mcp", "http://127.0.0.1:1/token"),
        ("https://far.example/mcp", "https://localhost/token"),
        ("https://far.example/mcp", "http://169.254.169.254/latest"),
        ("http://127.0.0.1:9/mcp", "http://auth.example/token"),
    ],
)
async def test_a_server_leads_nowhere_that_it_should_not(of: str, url: str) -> None:
    with pytest.raises(CannotRun, match="leads to an address that is not asked"):
        await fetch(url, of=of)


async def test_local_only_holds_for_every_address() -> None:
    with pytest.raises(CannotRun, match="local_only"):
        await fetch(
            "https://auth.example/", of="http://127.0.0.1:9/", way=make_way(local_only=True)
        )


class Pieces(httpx2.AsyncByteStream):
    """So many pieces, one each `every_s`; counts who has let go."""

    def __init__(self, count: int, every_s: float = 0.0) -> None:
        self.count = count
        self.every_s = every_s
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.count):
            await trio.sleep(self.every_s)
            yield b"x" * 10

    async def aclose(self) -> None:
        self.closed += 1


async def count(stream: Bounded) -> int:
    came = 0
    async for piece in stream:
        came += len(piece)
    return came


def bound(
    stream: httpx2.AsyncByteStream, allowance: Allowance, *, is_stream: bool = True
) -> Bounded:
    return Bounded(
        stream,
        allowance,
        explain=lambda limit: f"over {limit}",
        explain_things=lambda: "too many things",
        is_stream=is_stream,
    )


@pytest.mark.parametrize(("pieces", "is_whole"), [(10, True), (11, False)])
async def test_a_body_has_a_bound(pieces: int, is_whole: bool) -> None:
    inner = Pieces(pieces)
    body = bound(inner, Allowance(100))
    if is_whole:
        assert await count(body) == 100
    else:
        with pytest.raises(httpx2.SSEError, match="over 100"):
            await count(body)
    await body.aclose()
    assert inner.closed == 1


async def test_a_stream_without_an_end_is_bounded_by_its_pace(autojump_clock: object) -> None:
    slow = bound(Pieces(100, 0.2), Allowance(100, 1.0))
    assert await count(slow) == 1000
    fast = bound(Pieces(100, 0.05), Allowance(100, 1.0))
    with pytest.raises(httpx2.SSEError):
        await count(fast)
    await fast.aclose()


async def test_many_streams_in_a_row_have_one_bound(autojump_clock: object) -> None:
    allowance = Allowance(100, 1.0)
    assert await count(bound(Pieces(6, 0.0), allowance)) == 60
    over = bound(Pieces(6, 0.0), allowance)
    with pytest.raises(httpx2.SSEError, match="over 100"):
        await count(over)
    await over.aclose()
    await trio.sleep(2)
    assert await count(bound(Pieces(6, 0.0), allowance)) == 60


@pytest.mark.parametrize("is_stream", [True, False])
async def test_one_message_of_too_many_things_is_cut_off(is_stream: bool) -> None:
    event = b'data: {"a":[' + b"[]," * (MOST_PIECES // 4) + b"1]}\n\n"

    async def count_all() -> int:
        inner = httpx2.ByteStream(event * 10)
        async with aclosing(bound(inner, Allowance(100 * len(event)), is_stream=is_stream)) as body:
            return await count(body)

    if is_stream:
        assert await count_all() == 10 * len(event)
    else:
        with pytest.raises(httpx2.SSEError, match="too many things"):
            await count_all()


async def test_connections_that_do_not_close_hold_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_roads, "CLOSE_S", 0.05)

    class Stuck(httpx2.AsyncHTTPTransport):
        async def aclose(self) -> None:
            await trio.sleep_forever()

    roads = Roads(ServerConfig(name="far", url="http://127.0.0.1:9/"), make_way())
    roads._open[None, False] = Stuck()
    with trio.fail_after(5):
        await roads.aclose()
