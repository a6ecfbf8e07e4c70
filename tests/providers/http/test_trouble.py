"""Everything that can be wrong on the way, on real sockets: one sentence, and what to do."""

import socket
import ssl
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from askd.errors import ProviderError, Unauthenticated, Unavailable
from askd.providers.base import Endpoint
from askd.providers.http.retry import RetryRules
from askd.providers.http.transport import Transport
from askd.providers.http.trouble import describe_trouble
from tests.fakes.chat_answers import DONE, chunk
from tests.fakes.scenes import collect, text_of
from tests.fakes.wire_server import STREAM, TLS, open_wire_server

GOOD = STREAM + chunk({"content": "Hello"}) + chunk({}, finish="stop") + DONE


def endpoint(url: str, **more: Any) -> Endpoint:
    """Where to ask."""
    return Endpoint(provider="work", base_url=url, api_key="sk-canary-0123", **more)


def ca(name: str) -> str:
    """The path of a certificate."""
    return str(TLS / f"{name}.pem")


async def ask(where: Endpoint, reports: list[tuple[str, str]] | None = None) -> str:
    """The text of an answer."""
    transport = Transport(rules=RetryRules(base_s=0))
    try:
        return text_of(await collect(transport, reports, endpoint=where))
    finally:
        await transport.aclose()


async def fail(where: Endpoint, *, tries: int = 1) -> ProviderError:
    """The error, after so many tries."""
    reports: list[tuple[str, str]] = []
    with pytest.raises(ProviderError) as caught:
        await ask(where, reports)
    assert len(reports) == tries - 1
    assert "canary" not in caught.value.message
    assert "\n" not in caught.value.message
    return caught.value


# ---- certificates ---------------------------------------------------------------


async def test_trusted_certificate() -> None:
    async with open_wire_server(GOOD, certificate="good") as server:
        where = endpoint(f"https://localhost:{server.port}/v1", ca_file=ca("good"))
        assert await ask(where) == "Hello"


@pytest.mark.parametrize(
    ("certificate", "ca_file", "words"),
    [
        ("good", None, "name its CA's certificate in `ca_file`"),
        ("good", "elsewhere", "elsewhere.pem (`ca_file`) vouches for it"),
        ("expired", "expired", "(certificate has expired): check this machine's clock"),
        ("future", "future", "(certificate is not yet valid): check this machine's clock"),
        ("elsewhere", "elsewhere", "the address names another host than the certificate"),
    ],
)
async def test_certificate_that_is_refused(
    certificate: str, ca_file: str | None, words: str
) -> None:
    async with open_wire_server(GOOD, certificate=certificate) as server:
        where = endpoint(
            f"https://localhost:{server.port}/v1", ca_file=None if ca_file is None else ca(ca_file)
        )
        error = await fail(where)
        assert type(error) is Unavailable
        assert f"the certificate of https://localhost:{server.port}/v1 is refused" in error.message
        assert words in error.message
        assert server.heads == []


async def test_address_by_number_that_the_certificate_does_not_name() -> None:
    async with open_wire_server(GOOD, certificate="elsewhere") as server:
        where = endpoint(f"https://127.0.0.1:{server.port}/v1", ca_file=ca("elsewhere"))
        assert "names another host" in (await fail(where)).message


async def test_tls_where_there_is_none() -> None:
    async with open_wire_server(b"HTTP/1.1 400 Bad Request\r\n\r\n", waits=False) as server:
        error = await fail(endpoint(f"https://localhost:{server.port}/v1"))
        assert "does not speak TLS: is it http:// or another port?" in error.message


async def test_no_tls_where_there_is_some() -> None:
    async with open_wire_server(GOOD, certificate="good") as server:
        error = await fail(endpoint(f"http://localhost:{server.port}/v1"), tries=4)
        assert "connection broke" in error.message


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_ca_file_that_is_none(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    error = await fail(endpoint("https://localhost:9/v1", ca_file=str(file)))
    assert f"`ca_file` {file} cannot be used" in error.message


# ---- proxies --------------------------------------------------------------------


async def test_request_through_a_proxy_with_a_password() -> None:
    async with open_wire_server(GOOD) as proxy:
        way = f"http://me:p%40ssw0rd@localhost:{proxy.port}"
        assert await ask(endpoint("http://far.example/v1", proxy=way)) == "Hello"
        (head,) = proxy.heads
        assert head.startswith("POST http://far.example/v1/chat/completions HTTP/1.1\r\n")
        assert "\r\nproxy-authorization: Basic bWU6cEBzc3cwcmQ=" in head.replace(
            "Proxy-A", "proxy-a"
        )


async def test_tunnel_through_a_proxy() -> None:
    async with open_wire_server(GOOD, certificate="good", tunnel=True) as proxy:
        way = f"http://localhost:{proxy.port}"
        where = endpoint("https://localhost:7/v1", proxy=way, ca_file=ca("good"))
        assert await ask(where) == "Hello"
        connect, request = proxy.heads
        assert connect.startswith("CONNECT localhost:7 HTTP/1.1\r\n")
        assert "sk-canary" not in connect
        assert request.startswith("POST /v1/chat/completions HTTP/1.1\r\n")


async def test_bad_certificate_behind_a_proxy() -> None:
    async with open_wire_server(GOOD, certificate="expired", tunnel=True) as proxy:
        way = f"http://localhost:{proxy.port}"
        error = await fail(endpoint("https://localhost:7/v1", proxy=way, ca_file=ca("expired")))
        assert "check this machine's clock" in error.message


@pytest.mark.parametrize("url", ["http://far.example/v1", "https://far.example/v1"])
async def test_proxy_that_wants_a_password(url: str) -> None:
    answer = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"
    async with open_wire_server(answer) as proxy:
        error = await fail(endpoint(url, proxy=f"http://me:canary-pw@localhost:{proxy.port}"))
        assert type(error) is Unauthenticated
        assert "wants a name and a password (HTTP 407)" in error.message


@pytest.mark.parametrize(("answer", "tries"), [("403 Forbidden", 1), ("502 Bad Gateway", 4)])
async def test_proxy_that_does_not_connect(answer: str, tries: int) -> None:
    async with open_wire_server(f"HTTP/1.1 {answer}\r\n\r\n".encode()) as proxy:
        way = f"http://localhost:{proxy.port}"
        error = await fail(endpoint("https://far.example/v1", proxy=way), tries=tries)
        assert type(error) is Unavailable
        assert f"the proxy {way} does not connect to https://far.example/v1: {answer}" in (
            error.message
        )


async def test_proxy_that_is_not_there() -> None:
    with trio.socket.socket() as bound:
        await bound.bind(("127.0.0.1", 0))
        way = f"http://me:canary-pw@127.0.0.1:{bound.getsockname()[1]}"
        error = await fail(endpoint("https://far.example/v1", proxy=way), tries=4)
        assert "by the proxy http://127.0.0.1:" in error.message


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5://localhost:1080", "not as socks5: set `proxy`"),
        ("http://localhost:port", "is none"),
    ],
)
async def test_proxy_that_cannot_be_used(proxy: str, words: str) -> None:
    assert words in (await fail(endpoint("https://far.example/v1", proxy=proxy))).message


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"Welcome to this hotel. Please sign in.", "text/plain", "no stream of events"),
        (b"\x00\x01\x02\x03", "application/octet-stream", "no stream of events"),
        (b"<!doctype html><title>Sign in</title>", "text/html", "a web page"),
        (b"\n <html>", "text/event-stream", "a web page"),
        (b'{"choices": []}', "application/json", "one piece of JSON"),
        (b'{"choices": []}', "text/event-stream", "one piece of JSON"),
    ],
)
async def test_200_that_is_no_answer(body: bytes, kind: str, words: str) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    async with open_wire_server(head.encode() + body) as server:
        error = await fail(endpoint(f"http://localhost:{server.port}/v1"))
        assert error.reason == "bad_answer"
        assert words in error.message


# ---- names, ports, sockets ------------------------------------------------------


class NoNames(trio.abc.HostnameResolver):
    """A resolver that knows nobody."""

    async def getaddrinfo(
        self,
        host: bytes | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def getnameinfo(
        self, sockaddr: tuple[str, int] | tuple[str, int, int, int], flags: int
    ) -> tuple[str, str]:
        raise AssertionError("nobody asks for names")


async def test_name_that_nobody_knows() -> None:
    trio.socket.set_custom_hostname_resolver(NoNames())
    error = await fail(endpoint("https://no-such.example/v1"), tries=4)
    assert "the name in https://no-such.example/v1 is not known" in error.message


async def test_server_that_hangs_up_without_a_word() -> None:
    async with open_wire_server(b"") as server:
        error = await fail(endpoint(f"http://localhost:{server.port}/v1"), tries=4)
        assert "speak HTTP, and on this port?" in error.message


async def test_port_where_nothing_listens() -> None:
    error = await fail(endpoint("http://127.0.0.1:1/v1"), tries=4)
    assert "http://127.0.0.1:1/v1: nothing listens there (connection refused)" in error.message


def test_the_name_of_a_proxy_is_the_one_that_is_not_known() -> None:
    trouble = httpx.ConnectError("no")
    trouble.__cause__ = socket.gaierror(-2, "Name or service not known")
    sentence = describe_trouble(replace(WHERE, proxy="http://nonsense:1"), trouble).message
    assert "the name in the proxy http://nonsense:1 is not known" in sentence
    assert "the name in http://host:1/v1 is not known" in describe_trouble(WHERE, trouble).message


async def test_port_that_speaks_something_else() -> None:
    async with open_wire_server(b"SSH-2.0-OpenSSH_9.2\r\n") as server:
        error = await fail(endpoint(f"http://localhost:{server.port}/v1"), tries=4)
        assert "connection broke" in error.message


async def test_socket_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.sock")
    error = await fail(endpoint("http://localhost/v1", unix_socket=path), tries=4)
    assert f"there is no socket {path}" in error.message


# ---- the words alone ------------------------------------------------------------

WHERE = Endpoint(provider="work", base_url="http://me:secret@host:1/v1", api_key="sk-x")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectTimeout("t"), "work does not answer at http://host:1/v1"),
        (httpx.ConnectError("refused"), "work cannot be reached at http://host:1/v1: refused"),
        (httpx.ReadError(""), "work: the connection broke: ReadError"),
        (httpx.RemoteProtocolError("bad chunk"), "work: the connection broke: bad chunk"),
        (
            httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body (incomplete chunked "
                "read)"
            ),
            "work: the connection broke inside the answer",
        ),
        (httpx.LocalProtocolError("odd header"), "cannot be asked: odd header"),
    ],
)
def test_trouble_in_words(error: httpx.HTTPError, words: str) -> None:
    sentence = describe_trouble(WHERE, error).message
    assert words in sentence
    assert "secret" not in sentence
    assert "sk-x" not in sentence


def chained(*errors: Exception) -> Exception:
    """Each caused by the next one."""
    for error, cause in pairwise(errors):
        error.__cause__ = cause
    return errors[0]


def test_reason_is_found_below_groups_and_circles() -> None:
    unknown = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    group = ExceptionGroup("attempts", [OSError("one"), unknown])
    unknown.__context__ = group
    error = chained(httpx.ConnectError("all failed"), OSError("all"), group)
    assert isinstance(error, httpx.ConnectError)
    assert "Temporary failure" in describe_trouble(WHERE, error).message


def test_socket_is_named_by_its_path() -> None:
    where = Endpoint(provider="work", base_url="http://localhost/v1", unix_socket="/run/x.sock")
    assert "/run/x.sock" in describe_trouble(where, httpx.ConnectError("gone")).message


def test_server_that_hangs_up_on_tls() -> None:
    end = ssl.SSLEOFError(8, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred")
    assert (
        "is it http:// or another port?"
        in describe_trouble(WHERE, chained(httpx.ConnectError(""), end)).message
    )
    # Inside an answer, it is the answer that broke off.
    assert "connection broke" in describe_trouble(WHERE, chained(httpx.ReadError(""), end)).message


def test_certificate_that_is_wrong_in_a_rare_way() -> None:
    rare = ssl.SSLCertVerificationError(1, "certificate verify failed")
    rare.verify_code, rare.verify_message = 26, "unsupported certificate purpose"
    error = chained(httpx.ConnectError("x"), rare)
    assert isinstance(error, httpx.ConnectError)
    sentence = describe_trouble(WHERE, error).message
    assert sentence.endswith("is refused (unsupported certificate purpose): see `ca_file`")
