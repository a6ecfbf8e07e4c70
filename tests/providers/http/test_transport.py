"""The transport: what it sends, and real sockets."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from askd import __version__
from askd.core.items import Text, UserMessage
from askd.errors import (
    BadAnswer,
    ProviderError,
    RateLimited,
    Refused,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.base import Ended, Endpoint, HttpCall, ModelRequest, TextDelta
from askd.providers.http.retry import RetryRules
from askd.providers.http.transport import (
    DRAIN_S,
    JSON_BODY_LIMIT_BYTES,
    PARTING_S,
    Reply,
    Transport,
)
from askd.providers.redact import KnownSecrets
from tests.fakes import chat_answers
from tests.fakes.chat_answers import chunk, say
from tests.fakes.chat_server import ChatServer, open_chat_server
from tests.fakes.scenes import CODEC, WHERE, Body, Scene, collect, good, refuse, stream_of, text_of

# ---- the request ----------------------------------------------------------------


async def test_request_is_plain_and_carries_the_key() -> None:
    scene = Scene(good())
    events = await scene.ask()
    assert text_of(events) == "Hello"
    assert isinstance(events[-1], Ended)
    (request,) = scene.requests
    assert str(request.url) == "http://host/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-secret"
    assert request.headers["accept-encoding"] == "identity"


async def test_a_refusal_says_which_key_was_refused_or_that_there_was_none() -> None:
    with pytest.raises(Unauthenticated) as caught:
        await Scene(refuse(401, "Incorrect.")).ask()
    sent = "work refused the key (HTTP 401): Incorrect. See where it comes from: ask auth status"
    assert str(caught.value) == caught.value.message == sent
    keyless = Endpoint(provider="work", base_url="http://host/v1")
    with pytest.raises(Unauthenticated) as caught:
        await collect(Scene(refuse(401, "Who?")).transport, endpoint=keyless)
    none = "work wants a key, and has none (HTTP 401): Who? Keep one: ask auth set-key work"
    assert caught.value.message == none
    headed = replace(keyless, headers={"X-Api-Key": "k"})
    with pytest.raises(Unauthenticated, match="refused the key"):
        await collect(Scene(refuse(401)).transport, endpoint=headed)


async def test_no_key_no_header() -> None:
    scene = Scene(good())
    keyless = Endpoint(provider="work", base_url="http://host/v1/")
    await collect(scene.transport, endpoint=keyless)
    assert "authorization" not in scene.requests[0].headers
    assert scene.requests[0].url.path == "/v1/chat/completions"


async def test_headers_of_the_endpoint_and_its_way_to_send_a_key() -> None:
    where = Endpoint(
        provider="work",
        base_url="http://host/v1?version=2",
        api_key="sk-secret",
        auth="x-api-key",
        headers={"X-Extra": "1", "User-Agent": "mine", "Accept-Encoding": "gzip"},
    )
    scene = Scene(good())
    await collect(scene.transport, endpoint=where)
    (request,) = scene.requests
    assert str(request.url) == "http://host/v1/chat/completions?version=2"
    assert request.headers["x-api-key"] == "sk-secret"
    assert "authorization" not in request.headers
    assert request.headers["x-extra"] == "1"
    assert request.headers["user-agent"] == "mine"
    assert request.headers["accept-encoding"] == "identity"


async def test_own_name_and_version() -> None:
    scene = Scene(good())
    await scene.ask()
    assert scene.requests[0].headers["user-agent"] == f"askd/{__version__}"


async def test_header_of_the_settings_replaces_the_usual_one() -> None:
    scene = Scene(good())
    where = Endpoint(
        provider="work",
        base_url="http://host/v1",
        api_key="sk-secret",
        headers={"Authorization": "Token sk-other"},
    )
    await collect(scene.transport, endpoint=where)
    assert scene.requests[0].headers.get_list("authorization") == ["Token sk-other"]


@pytest.mark.parametrize("base_url", ["http://host:port/v1", "http://", "nothing/v1", "ftp://x"])
async def test_address_that_is_none(base_url: str) -> None:
    scene = Scene(good())
    with pytest.raises(Unavailable, match="cannot be asked"):
        await collect(scene.transport, endpoint=Endpoint(provider="work", base_url=base_url))


async def test_secrets_are_learned_and_hidden_everywhere() -> None:
    secrets = KnownSecrets()
    scene = Scene(refuse(400, "You sent sk-secret, hdr-secret-1 and pass-word-1."))
    scene.transport = Transport(secrets=secrets, mock=httpx.MockTransport(scene.answer))
    where = Endpoint(
        provider="work",
        base_url="http://host/v1",
        api_key="sk-secret",
        headers={"X-Auth": "Basic hdr-secret-1", "X-Editor": "my-editor-1.0"},
        proxy="http://me:pass-word-1@proxy:1",
    )
    with pytest.raises(Refused, match=r"You sent \*\*\*, \*\*\* and \*\*\*\.") as caught:
        await collect(scene.transport, endpoint=where)
    assert "secret" not in str(caught.value)
    assert secrets.hide("sk-secret my-editor-1.0") == "*** my-editor-1.0"


async def test_cookies_are_not_kept() -> None:
    with_cookie = good()
    with_cookie.headers["set-cookie"] = "session=1; Path=/"
    scene = Scene(with_cookie, good())
    await scene.ask()
    await scene.ask()
    assert "cookie" not in scene.requests[1].headers


async def test_redirect_is_not_followed() -> None:
    scene = Scene(httpx.Response(307, headers={"location": "http://evil/v1"}, stream=Body(b"")))
    with pytest.raises(Refused, match="redirects to http://evil/v1"):
        await scene.ask()
    assert len(scene.requests) == 1


async def test_key_in_a_providers_words_is_hidden() -> None:
    in_stream = chat_answers.event({"error": {"message": "bad sk-secret"}})
    scene = Scene(
        refuse(401, "Incorrect key: sk-secret."), stream_of(chunk({"content": "x"}), in_stream)
    )
    with pytest.raises(Unauthenticated, match=r"Incorrect key: \*\*\*\."):
        await scene.ask()
    with pytest.raises(Unavailable, match=r"bad \*\*\*"):
        await scene.ask()


# ---- listings -------------------------------------------------------------------


async def fetch(response: httpx.Response | Exception) -> Any:
    """What `fetch_json` makes of a response."""
    return await Scene(response).transport.fetch_json(WHERE, "/models", codec=CODEC)


async def test_listing_is_read() -> None:
    assert await fetch(httpx.Response(200, stream=Body(b'{"data"', b": []}"))) == {"data": []}


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (httpx.Response(200, stream=Body(b"<html>")), BadAnswer),
        (httpx.Response(200, stream=Body(b"[" * 100_000)), BadAnswer),
        (httpx.Response(200, stream=Body(b" " * (JSON_BODY_LIMIT_BYTES + 1))), BadAnswer),
        (httpx.Response(401, stream=Body(b"{}")), Unauthenticated),
        (httpx.ConnectError("refused"), Unavailable),
    ],
)
async def test_listing_that_is_none(
    response: httpx.Response | Exception, expected: type[ProviderError]
) -> None:
    with pytest.raises(expected):
        await fetch(response)


async def test_listing_that_repeats_the_key_is_not_passed_on() -> None:
    listed = (
        b'{"data": [{"id": "m-sk-secret-0123", "sk-secret-0123": ["\\u0073k-secret-0123", 7]}]}'
    )
    scene = Scene(httpx.Response(200, stream=Body(listed)))
    where = replace(WHERE, api_key="sk-secret-0123")
    answer = await scene.transport.fetch_json(where, "/models", codec=CODEC)
    assert answer == {"data": [{"id": "m-***", "***": ["***", 7]}]}


async def test_json_is_posted() -> None:
    scene = Scene(httpx.Response(200, stream=Body(b'{"ok": true}')))
    answer = await scene.transport.fetch_json(WHERE, "/api/show", codec=CODEC, body=b'{"m": 1}')
    assert answer == {"ok": True}
    (request,) = scene.requests
    assert (request.method, request.content) == ("POST", b'{"m": 1}')
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == "Bearer sk-secret"


async def test_compressed_listing() -> None:
    headers = {"content-encoding": "zstd"}
    with pytest.raises(BadAnswer, match="compresses"):
        await fetch(httpx.Response(200, headers=headers, stream=Body(b"x")))


async def test_listings_wait_with_all_others(autojump_clock: MockClock) -> None:
    empty = httpx.Response(200, stream=Body(b"{}"))
    scene = Scene(refuse(429, retry_after="9"), empty)
    with pytest.raises(RateLimited) as caught:
        await scene.transport.fetch_json(WHERE, "/models", codec=CODEC)
    assert caught.value.data["retry_at"] == 1009
    assert await scene.transport.fetch_json(WHERE, "/models", codec=CODEC) == {}
    assert trio.current_time() == pytest.approx(9)


# ---- sign-ins -------------------------------------------------------------------

SIGN_IN = HttpCall(method="POST", path="/token", body=b"code=1", headers={"X-A": "b"})


async def reply_to(response: httpx.Response | Exception) -> Reply:
    """What a sign-in hears."""
    return await Scene(response).transport.ask(WHERE, SIGN_IN)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 429, 500])
async def test_any_status_comes_back(status: int) -> None:
    reply = await reply_to(httpx.Response(status, headers={"X-B": "c"}, stream=Body(b"{}")))
    assert (reply.status, reply.body, reply.headers["x-b"]) == (status, b"{}", "c")
    assert repr(reply) == f"Reply(status={status})"


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (httpx.ConnectError("refused"), "cannot be reached"),
        (httpx.Response(200, stream=Body(b"x" * 300_000)), "larger than 256 KiB"),
        (httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Body(b"x")), "compress"),
        (httpx.Response(200, stream=Body(b"x", 1e9)), "sent nothing for 60 seconds"),
        (httpx.Response(200, stream=Body(b"x", httpx.ReadError("reset"))), "connection broke"),
    ],
)
async def test_no_whole_reply(
    response: httpx.Response | Exception, words: str, autojump_clock: MockClock
) -> None:
    with pytest.raises(Unavailable, match=words):
        await reply_to(response)


async def test_sign_in_during_a_limit_is_told_so(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(429, retry_after="3600"))
    assert (await scene.transport.ask(WHERE, SIGN_IN)).status == 429
    with pytest.raises(Unavailable, match="takes no more requests"):
        await scene.transport.ask(WHERE, SIGN_IN)


# ---- on sockets -----------------------------------------------------------------


def endpoint_of(server: ChatServer, unix_socket: str | None = None) -> Endpoint:
    """Where the scripted server listens."""
    return Endpoint(provider="fake", base_url=server.base_url, unix_socket=unix_socket)


async def test_real_answers_over_one_connection() -> None:
    transport = Transport()
    async with open_chat_server() as server:
        for number in range(3):
            events = await collect(
                transport, endpoint=endpoint_of(server), prompt=f"ECHO:answer {number}"
            )
            assert text_of(events) == f"answer {number}"
        assert server.violations == []
    await transport.aclose()


async def test_real_answer_over_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "chat.sock")
    transport = Transport()
    async with open_chat_server(unix_socket=path) as server:
        events = await collect(transport, endpoint=endpoint_of(server, path))
        assert text_of(events).startswith("tok0 tok1 ")
    await transport.aclose()


@pytest.mark.parametrize(
    ("prompt", "expected", "words"),
    [
        ("CUT", Unavailable, "cut before its end"),
        ("DROP", Unavailable, "connection broke"),
        ("LATE 500", Unavailable, "The model crashed."),
        ("FAIL 401", Unauthenticated, "Incorrect API key"),
        ("FAIL 404", UnknownModel, "does not exist"),
    ],
)
async def test_real_failures(prompt: str, expected: type[ProviderError], words: str) -> None:
    transport = Transport()
    async with open_chat_server() as server:
        with pytest.raises(expected, match=words):
            await collect(transport, endpoint=endpoint_of(server), prompt=prompt)
    await transport.aclose()
    gc.collect()  # whatever was left half read would warn here, and warnings are errors


async def test_leaving_the_block_closes_the_connection() -> None:
    transport = Transport()
    async with open_chat_server() as server:
        request = ModelRequest(model="fake", items=[UserMessage("u", (Text("HOLD:2"),))])
        async with transport.stream(
            endpoint_of(server), CODEC, request, progress=lambda *_: None
        ) as events:
            assert await anext(events) == TextDelta("tok0 ")
        with trio.fail_after(5):
            assert await server.wait_for("disconnects", 1) == 1
    await transport.aclose()
    gc.collect()


async def test_cancellation_closes_the_connection() -> None:
    transport = Transport()
    async with open_chat_server() as server:
        with trio.fail_after(5):
            async with trio.open_nursery() as nursery:

                async def ask() -> None:
                    await collect(transport, endpoint=endpoint_of(server), prompt="HOLD:0")

                nursery.start_soon(ask)
                await server.wait_for("requests", 1)
                nursery.cancel_scope.cancel()
            assert await server.wait_for("disconnects", 1) == 1
    await transport.aclose()
    gc.collect()


async def test_nobody_listens() -> None:
    with trio.socket.socket() as bound:
        await bound.bind(("127.0.0.1", 0))
        nowhere = Endpoint(
            provider="work", base_url=f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
        )
        transport = Transport(rules=RetryRules(base_s=0))
        reports: list[tuple[str, str]] = []
        with pytest.raises(Unavailable, match="work cannot be reached at http://127"):
            await collect(transport, reports, endpoint=nowhere)
        assert len(reports) == 3
        await transport.aclose()


# ---- how it ends ----------------------------------------------------------------


class Parting(Body):
    """A body whose end is a while after its last event; it knows when it was let go."""

    def __init__(self) -> None:
        super().__init__(*[each for each in say("Hello") if isinstance(each, bytes)], DRAIN_S / 2)
        self.closed = trio.Event()

    async def aclose(self) -> None:
        self.closed.set()


@asynccontextmanager
async def ask_while_it_runs(body: Body) -> AsyncIterator[trio.Nursery]:
    """One answer, whole, of a transport that runs; the nursery in which it does."""
    scene = Scene(httpx.Response(200, stream=body))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scene.transport.run)
        await wait_all_tasks_blocked()
        assert text_of(await scene.ask()) == "Hello"
        yield nursery
        nursery.cancel_scope.cancel()


async def test_the_end_of_a_body_holds_up_nobody(autojump_clock: MockClock) -> None:
    body, began = Parting(), trio.current_time()
    async with ask_while_it_runs(body):
        assert trio.current_time() == began
        await trio.sleep(PARTING_S)
        assert not body.closed.is_set()
        await body.closed.wait()
        assert trio.current_time() - began == pytest.approx(PARTING_S + DRAIN_S / 2)


async def test_without_anybody_who_would_the_end_is_awaited(autojump_clock: MockClock) -> None:
    body, began = Parting(), trio.current_time()
    await Scene(httpx.Response(200, stream=body)).ask()
    assert body.closed.is_set()
    assert trio.current_time() - began == pytest.approx(DRAIN_S / 2)


@pytest.mark.parametrize("later_s", [0.0, PARTING_S + DRAIN_S / 4])
async def test_a_transport_that_stops_lets_go(autojump_clock: MockClock, later_s: float) -> None:
    body = Parting()
    async with ask_while_it_runs(body) as nursery:
        await trio.sleep(later_s)
        nursery.cancel_scope.cancel()
    assert body.closed.is_set()
    gc.collect()


@pytest.mark.parametrize("runs", [True, False])
async def test_a_connection_is_used_again(*, runs: bool) -> None:
    transport = Transport()
    async with open_chat_server() as server, trio.open_nursery() as nursery:
        if runs:
            nursery.start_soon(transport.run)
            await wait_all_tasks_blocked()
        for _ in range(3):
            await collect(transport, endpoint=endpoint_of(server))
            await trio.sleep(PARTING_S * 10 if runs else 0)
        assert server.connections == 1
        nursery.cancel_scope.cancel()
    await transport.aclose()
