"""A host is looked up once, every address is judged, and only what was judged is reached."""

import ssl
from pathlib import Path

import pytest
import trio
import trio.testing

from askd.tools.addresses import Place, read_url
from askd.tools.base import CannotRun
from askd.tools.connections import (
    CONNECT_S,
    MOST_ADDRESSES,
    OUTSIDE,
    connect_outside,
    look_up,
    open_connection,
)
from tests.fakes.web import Web, answer

TLS = Path(__file__).resolve().parents[1] / "data" / "tls"
HERE = Place(scheme="https", host="localhost", port=443, target="/")
"""The name in the certificates; no URL leads to it."""


def make_web(nursery: trio.Nursery, *addresses: str) -> Web:
    return Web(
        nursery,
        sites={"example.com": lambda request: answer(b"ok")},
        names={"example.com": [addresses]},
    )


async def test_one_look_and_no_second(nursery: trio.Nursery) -> None:
    web = make_web(nursery, "8.8.8.8")
    web.names["example.com"].append(["127.0.0.1"])
    await open_connection(read_url("http://example.com/"), web.way)
    assert (web.looked_up, web.connected) == (["example.com"], [("8.8.8.8", 80)])
    with pytest.raises(CannotRun, match=r"leads to 127\.0\.0\.1"):
        await open_connection(read_url("http://example.com/"), web.way)
    assert len(web.connected) == 1


async def test_one_address_that_is_not_public_is_one_too_many(nursery: trio.Nursery) -> None:
    web = make_web(nursery, "8.8.8.8", "::ffff:169.254.169.254")
    with pytest.raises(CannotRun, match="not on the public web"):
        await open_connection(read_url("http://example.com/"), web.way)
    assert web.connected == []


async def test_an_address_in_a_url_is_judged_too(nursery: trio.Nursery) -> None:
    web = make_web(nursery)
    web.names["10.0.0.1"] = [["10.0.0.1"]]
    with pytest.raises(CannotRun, match="not on the public web"):
        await open_connection(read_url("http://10.0.0.1/"), web.way)


async def test_a_name_that_nobody_knows(nursery: trio.Nursery) -> None:
    with pytest.raises(CannotRun, match=r"other\.com was not found: Name or service"):
        await open_connection(read_url("http://other.com/"), make_web(nursery).way)


async def test_the_next_address_is_tried_and_not_for_ever(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    silent = ["8.8.8.1", "8.8.8.2"]
    web = make_web(nursery, *silent, "8.8.8.3")
    web.silent.update(silent)
    await open_connection(read_url("http://example.com/"), web.way)
    assert trio.current_time() == pytest.approx(2 * CONNECT_S)
    many = [f"8.8.9.{number}" for number in range(50)]
    web = make_web(nursery, *many)
    web.silent.update(many)
    with pytest.raises(CannotRun, match=r"could not be reached: it did not answer\."):
        await open_connection(read_url("http://example.com/"), web.way)
    assert len(web.connected) == MOST_ADDRESSES


async def test_who_refuses_is_named(nursery: trio.Nursery) -> None:
    async def refuse(address: str, port: int) -> trio.abc.Stream:
        raise ConnectionRefusedError(111, "Connection refused")

    web = make_web(nursery, "8.8.8.8")
    way = type(web.way)(resolve=web.way.resolve, connect=refuse, trust=web.way.trust)
    with pytest.raises(CannotRun, match=r"could not be reached: Connection refused\."):
        await open_connection(read_url("http://example.com/"), way)


async def test_this_machine_is_refused_whatever_its_address_is_called() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    with pytest.raises(CannotRun, match="is this machine"):
        await connect_outside("127.0.0.1", port)
    for listener in listeners:
        await listener.aclose()


async def test_the_systems_own_look_up_finds_numbers_and_this_machine() -> None:
    assert set(await look_up("8.8.8.8", 80)) == {"8.8.8.8"}
    assert set(await look_up("localhost", 80)) <= {"127.0.0.1", "::1"}
    with pytest.raises(CannotRun, match="not on the public web"):
        await open_connection(HERE, OUTSIDE)


def serve_tls(web: Web, name: str) -> None:
    web.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    web.tls.load_cert_chain(TLS / name)
    web.names["localhost"] = [["8.8.8.8"]]


async def test_tls_is_for_the_host_that_was_asked_for(nursery: trio.Nursery) -> None:
    web = make_web(nursery)
    serve_tls(web, "good.pem")
    web.trusts = ssl.create_default_context(cafile=TLS / "good.pem")
    stream = await open_connection(HERE, web.way)
    assert isinstance(stream, trio.SSLStream)
    await trio.aclose_forcefully(stream)
    web.names["example.com"] = [["8.8.8.8"]]
    with pytest.raises(CannotRun, match=r"example\.com has no TLS that can be trusted: .*mismatch"):
        await open_connection(read_url("https://example.com/"), web.way)


@pytest.mark.parametrize(
    ("name", "why"),
    [("good.pem", "self.signed"), ("expired.pem", "expired"), ("elsewhere.pem", "")],
)
async def test_tls_that_cannot_be_trusted(nursery: trio.Nursery, name: str, why: str) -> None:
    web = make_web(nursery)
    serve_tls(web, name)
    if name != "good.pem":
        web.trusts = ssl.create_default_context(cafile=TLS / name)
    with pytest.raises(CannotRun, match=f"localhost has no TLS that can be trusted: .*{why}"):
        await open_connection(HERE, web.way)


async def test_who_speaks_no_tls(nursery: trio.Nursery) -> None:
    web = make_web(nursery)
    web.names["localhost"] = [["8.8.8.8"]]
    with pytest.raises(CannotRun, match="localhost has no TLS that can be trusted"):
        await open_connection(HERE, web.way)
