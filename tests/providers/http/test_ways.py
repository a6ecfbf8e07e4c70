"""The ways to providers: which connections are shared, and by whom."""

from dataclasses import replace

import httpx
import pytest

from askd.errors import Unavailable
from askd.providers.base import Endpoint
from askd.providers.http.ways import Ways
from tests.fakes.wire_server import TLS

BASE = Endpoint(provider="work", base_url="http://127.0.0.1:9/v1")


async def test_connections_are_shared_by_the_same_way_only() -> None:
    ways = Ways()
    endpoints = [
        BASE,
        replace(BASE, proxy="http://127.0.0.1:8"),
        replace(BASE, unix_socket="/nowhere"),
        replace(BASE, base_url="https://127.0.0.1:9/v1"),
        replace(BASE, base_url="https://127.0.0.1:9/v1", ca_file=str(TLS / "good.pem")),
    ]
    made = [ways.find(each) for each in (*endpoints, *endpoints)]
    assert len({id(each) for each in made}) == len(endpoints)
    assert ways.find(replace(BASE, base_url="http://other/v1")) is made[0]
    await ways.aclose()


async def test_what_is_closed_is_not_used_again() -> None:
    ways = Ways()
    first = ways.find(BASE)
    await ways.aclose()
    assert ways.find(BASE) is not first
    await ways.aclose()


@pytest.mark.parametrize(
    ("proxy", "sentence"),
    [
        ("socks5://127.0.0.1:9", "a proxy is reached over http or https, not as socks5"),
        ("http://[::1", "the proxy's address is none"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_said(proxy: str, sentence: str) -> None:
    with pytest.raises(Unavailable, match=sentence) as caught:
        Ways().find(replace(BASE, proxy=proxy))
    assert caught.value.data["final"]


async def test_a_test_has_one_for_everything() -> None:
    mock = httpx.MockTransport(lambda request: httpx.Response(200))
    ways = Ways(mock)
    assert ways.find(BASE) is mock
    assert ways.find(replace(BASE, proxy="http://127.0.0.1:8")) is mock
