"""The transport: time limits, retries, cuts and cancellation, on a mock clock and on sockets."""

import gc
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from trio.testing import MockClock

from askd.core.items import Text, UserMessage
from askd.errors import (
    BadAnswer,
    Overflowed,
    ProviderError,
    RateLimited,
    Refused,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.base import Ended, Endpoint, ModelRequest, StreamEvent, TextDelta, TimeLimits
from askd.providers.openai_chat import OpenAIChat
from askd.providers.retry import RetryRules
from askd.providers.transport import JSON_BODY_LIMIT_BYTES, Transport
from tests.fakes import chat_answers
from tests.fakes.chat_answers import DONE, chunk, say
from tests.fakes.chat_server import ChatServer, open_chat_server

CODEC = OpenAIChat("work")
WHERE = Endpoint(provider="work", base_url="http://host/v1", api_key="sk-secret")

Reply = Callable[[httpx.Request], httpx.Response]


class Body(httpx.AsyncByteStream):
    """A body in pieces: bytes are sent, a number is waited for, an exception is raised."""

    def __init__(self, *pieces: bytes | float | Exception) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            match piece:
                case bytes():
                    yield piece
                case Exception():
                    raise piece
                case _:
                    await trio.sleep(piece)


class Scene:
    """A transport over scripted replies; the requests and the reports that there were."""

    def __init__(self, *replies: Reply | httpx.Response | Exception) -> None:
        self.requests: list[httpx.Request] = []
        self.reports: list[tuple[str, str]] = []
        self._replies = list(replies)
        self.transport = Transport(
            mock=httpx.MockTransport(self._answer), chance=lambda: 1.0, now=lambda: 1000.0
        )

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, httpx.Response) else reply(request)

    async def ask(self, **limits: float) -> list[StreamEvent]:
        """Every event of one answer."""
        return await collect(self.transport, self.reports, limits=TimeLimits(**limits))


async def collect(
    transport: Transport,
    reports: list[tuple[str, str]] | None = None,
    *,
    endpoint: Endpoint = WHERE,
    prompt: str = "Hi",
    limits: TimeLimits | None = None,
) -> list[StreamEvent]:
    """Every event of one answer."""
    taken = [] if reports is None else reports
    request = ModelRequest(model="fake", items=[UserMessage("u", (Text(prompt),))])
    async with transport.stream(
        endpoint,
        CODEC,
        request,
        progress=lambda kind, text: taken.append((kind, text)),
        limits=limits,
    ) as events:
        return [event async for event in events]


def stream_of(*pieces: bytes | float | Exception) -> httpx.Response:
    """A streaming answer."""
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(*pieces))


def refuse(status: int, message: str = "No.", **headers: str) -> httpx.Response:
    """An answer with an error status."""
    body = json.dumps({"error": {"message": message}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, stream=Body(body))


def good() -> httpx.Response:
    """A whole answer."""
    return stream_of(*[step for step in say("He", "llo") if isinstance(step, bytes)])


def text_of(events: list[StreamEvent]) -> str:
    """The text of the events."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


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


# ---- trying again ---------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
async def test_busy_server_is_asked_again(status: int, autojump_clock: MockClock) -> None:
    scene = Scene(refuse(status), refuse(status), good())
    assert text_of(await scene.ask()) == "Hello"
    assert trio.current_time() == pytest.approx(0.25 + 0.5)
    kinds = [kind for kind, _ in scene.reports]
    assert kinds == ["retrying", "retrying"]
    assert "(try 2 of 4)" in scene.reports[0][1]


async def test_four_tries_and_no_more(autojump_clock: MockClock) -> None:
    scene = Scene(*[refuse(500, f"Number {n}.") for n in range(1, 6)])
    with pytest.raises(Unavailable, match="Number 4"):
        await scene.ask()
    assert len(scene.requests) == 4
    assert trio.current_time() == pytest.approx(0.25 + 0.5 + 1)


@pytest.mark.parametrize(
    ("headers", "wait_s"), [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "1500"}, 1.5)]
)
async def test_server_says_when(
    headers: dict[str, str], wait_s: float, autojump_clock: MockClock
) -> None:
    scene = Scene(refuse(429, **headers), good())
    await scene.ask()
    assert trio.current_time() == pytest.approx(wait_s)


async def test_server_that_wants_too_much_patience_gets_none(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(429, retry_after="3600"))
    with pytest.raises(RateLimited) as caught:
        await scene.ask()
    assert caught.value.data["retry_at"] == 1000.0 + 3600
    assert trio.current_time() == 0


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [(400, "No.", Refused), (401, "No.", Unauthenticated), (404, "no such model", UnknownModel),
     (400, "prompt is too long", Overflowed)],
)  # fmt: skip
async def test_refusals_are_final(status: int, message: str, expected: type[ProviderError]) -> None:
    scene = Scene(refuse(status, message))
    with pytest.raises(expected):
        await scene.ask()
    assert scene.reports == []


@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")])
async def test_unreachable_server_is_tried_again(
    trouble: Exception, autojump_clock: MockClock
) -> None:
    scene = Scene(trouble, good())
    assert text_of(await scene.ask()) == "Hello"
    assert len(scene.reports) == 1


@pytest.mark.parametrize(
    "trouble", [httpx.ReadError("reset"), httpx.WriteError("pipe"), httpx.RemoteProtocolError("x")]
)
async def test_kept_connection_that_was_closed_is_replaced_without_a_word(
    trouble: Exception, autojump_clock: MockClock
) -> None:
    scene = Scene(trouble, good())
    assert text_of(await scene.ask()) == "Hello"
    assert scene.reports == []
    assert trio.current_time() == 0


async def test_server_that_always_hangs_up_is_given_up(autojump_clock: MockClock) -> None:
    scene = Scene(*[httpx.RemoteProtocolError("gone") for _ in range(9)])
    with pytest.raises(Unavailable, match="connection broke: gone"):
        await scene.ask()
    assert len(scene.requests) == 4 + 1
    assert len(scene.reports) == 3


async def test_cut_before_anything_was_shown_is_tried_again(autojump_clock: MockClock) -> None:
    role = chunk({"role": "assistant", "content": ""})
    scene = Scene(stream_of(role), stream_of(role, httpx.ReadError("reset")), good())
    assert text_of(await scene.ask()) == "Hello"
    assert "cut before its end" in scene.reports[0][1]


async def test_error_event_before_anything_was_shown_is_tried_again(
    autojump_clock: MockClock,
) -> None:
    broken = chat_answers.event({"error": {"message": "overloaded", "type": "server_error"}})
    scene = Scene(stream_of(broken), good())
    assert text_of(await scene.ask()) == "Hello"


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((), "cut before its end"),
        ((httpx.ReadError("reset"),), "connection broke: reset"),
        ((chat_answers.event({"error": {"message": "Crashed."}}),), "Crashed."),
        ((b"data: {broken\n\n",), "not a JSON object"),
    ],
)
async def test_after_the_first_word_nothing_is_tried_again(
    pieces: tuple[bytes | Exception, ...], words: str
) -> None:
    scene = Scene(stream_of(chunk({"content": "Half"}), *pieces), good())
    request = ModelRequest(model="m", items=[])
    async with scene.transport.stream(WHERE, CODEC, request, progress=lambda *_: None) as events:
        assert await anext(events) == TextDelta("Half")
        with pytest.raises(ProviderError, match=words):
            await anext(events)
    assert len(scene.requests) == 1


async def test_end_without_a_done_is_a_cut() -> None:
    scene = Scene(stream_of(chunk({"content": "All."}), chunk({}, finish="stop")))
    with pytest.raises(Unavailable, match="cut before its end"):
        await scene.ask()


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "text/html"])
async def test_answer_that_is_no_stream(kind: str) -> None:
    scene = Scene(httpx.Response(200, headers={"content-type": kind}, stream=Body(b"<html>")))
    with pytest.raises(BadAnswer, match="not a stream"):
        await scene.ask()


async def test_broken_pairing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    words = "Messages with role 'tool' must be a response to a preceding message."
    with pytest.raises(Refused, match="must be a response"):
        await Scene(refuse(400, words)).ask()
    assert [record.levelno for record in caplog.records if words in record.message] == [
        logging.ERROR
    ]


# ---- time -----------------------------------------------------------------------


async def test_server_that_never_begins(autojump_clock: MockClock) -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        await trio.sleep_forever()
        raise AssertionError

    transport = Transport(mock=httpx.MockTransport(hang))
    with pytest.raises(Unavailable, match="sent nothing for 60 seconds"):
        await collect(transport)
    assert trio.current_time() == pytest.approx(60)


async def test_comments_are_silence(autojump_clock: MockClock) -> None:
    drip: list[bytes | float] = [b": keep-alive\n\n", 10.0]
    scene = Scene(stream_of(chunk({"content": "Hi"}), *drip * 100))
    with pytest.raises(Unavailable, match="sent nothing for 120 seconds"):
        await scene.ask()
    assert trio.current_time() == pytest.approx(120)
    assert scene.reports == []


async def test_slow_answer_is_fine_up_to_a_total(autojump_clock: MockClock) -> None:
    words: list[bytes | float] = [chunk({"content": "x"}), 100.0]
    assert len(await Scene(stream_of(*words * 5, DONE)).ask()) == 6
    with pytest.raises(Unavailable, match="not over after 30 minutes"):
        await Scene(stream_of(*words * 100)).ask()


async def test_tries_share_the_total(autojump_clock: MockClock) -> None:
    scene = Scene(refuse(503, retry_after="50"), refuse(503, retry_after="50"), good())
    with pytest.raises(Unavailable):
        await scene.ask(total_s=80)
    assert len(scene.requests) == 2


async def test_slow_reader_is_not_the_servers_fault(autojump_clock: MockClock) -> None:
    scene = Scene(stream_of(chunk({"content": "a"}), chunk({"content": "b"}), DONE))
    request = ModelRequest(model="m", items=[])
    async with scene.transport.stream(WHERE, CODEC, request, progress=lambda *_: None) as events:
        async for _ in events:
            await trio.sleep(500)


async def test_oversized_answer_is_refused(autojump_clock: MockClock) -> None:
    scene = Scene(stream_of(chunk({"content": "a"}), b"data: " + b"x" * (1 << 21)))
    with pytest.raises(BadAnswer, match="longer than 1 MiB"):
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
