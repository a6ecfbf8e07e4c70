"""The transport: what it sends, and real sockets."""

import gc
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from askd.core.items import Text, UserMessage
from askd.errors import (
    BadAnswer,
    ProviderError,
    Refused,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.base import Ended, Endpoint, ModelRequest, TextDelta
from askd.providers.retry import RetryRules
from askd.providers.transport import JSON_BODY_LIMIT_BYTES, Transport
from tests.fakes import chat_answers
from tests.fakes.chat_answers import chunk
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


async def test_no_key_no_header() -> None:
    scene = Scene(good())
    keyless = Endpoint(provider="work", base_url="http://host/v1/")
    await collect(scene.transport, endpoint=keyless)
    assert "authorization" not in scene.requests[0].headers
    assert scene.requests[0].url.path == "/v1/chat/completions"


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
