"""Between the SDK and the roads: what each request carries, and what comes back of it.

The roads are in memory; what the SDK makes of it all is tried in `test_http`.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from askd.tools.base import CannotRun
from askd.tools.mcp import http_roads, http_wire
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http_wire import SESSION, Wire
from askd.tools.mcp.ways import Token
from tests.fakes.mcp_ways import FakeTokens, make_way

URL = "https://far.example/mcp"
CALL = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {}}
FIRST = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
DONE = {"jsonrpc": "2.0", "id": 3, "result": {}}

Say = Callable[[httpx2.Request], httpx2.Response | Awaitable[httpx2.Response]]


class Roads(httpx2.AsyncBaseTransport):
    """Roads whose end a function plays; whatever goes anywhere else is a fault."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.sent: list[httpx2.Headers] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        assert request.url.host == "far.example", request.url
        self.sent.append(httpx2.Headers(request.headers))
        said = self.say(request)
        return said if isinstance(said, httpx2.Response) else await said


def as_json(value: Any, status: int = 200, *, session: str | None = None) -> httpx2.Response:
    return httpx2.Response(
        status,
        headers={"content-type": "application/json"} | ({SESSION: session} if session else {}),
        stream=httpx2.ByteStream(json.dumps(value).encode()),
    )


class Place:
    """A wire, its roads, and what it failed with."""

    def __init__(self, say: Say, tokens: FakeTokens | None = None, **said: Any) -> None:
        self.failures: list[str] = []
        self.roads = Roads(say)
        config = ServerConfig(name="far", url=URL, **said)
        self.wire = Wire(config, self.roads, make_way(tokens), fail=self.failures.append)

    async def send(
        self, message: Any, *, url: str = URL, method: str = "POST", **headers: str
    ) -> httpx2.Response:
        content = None if message is None else json.dumps(message).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.wire.handle_async_request(
            httpx2.Request(method, url, headers=sent, content=content)
        )

    async def fail(self, message: Any = CALL, **headers: str) -> str:
        response = await self.send(message, **headers)
        assert response.status_code >= 400
        found = json.loads(await response.aread())
        assert found["id"] == message["id"]
        return str(found["error"]["message"])


async def test_nothing_of_ours_is_sent_to_another_place() -> None:
    place = Place(lambda request: as_json(DONE), FakeTokens(Token("t", "settings")))
    for url in ("https://evil.example/mcp", "http://far.example/mcp", "https://far.example:444/"):
        response = await place.send(CALL, url=url)
        assert "nothing is sent there" in (await response.aread()).decode()
    assert place.roads.sent == []


async def test_headers_of_the_settings_and_the_token_are_sent() -> None:
    tokens = FakeTokens(Token("t", "sign-in"))
    place = Place(lambda request: as_json(DONE), tokens, headers={"X-Team": "blue"})
    assert json.loads(await (await place.send(CALL)).aread()) == DONE
    (sent,) = place.roads.sent
    assert (sent["x-team"], sent["authorization"]) == ("blue", "Bearer t")


async def test_a_token_is_renewed_once_for_a_request() -> None:
    tokens = FakeTokens(Token("1", "sign-in"), later=[Token("2", "sign-in"), Token("3", "sign-in")])
    place = Place(lambda request: as_json({}, 401), tokens)
    assert "sign in again" in await place.fail()
    assert [each["authorization"] for each in place.roads.sent] == ["Bearer 1", "Bearer 2"]


async def test_a_beginning_that_fails_is_told() -> None:
    place = Place(lambda request: as_json({}, 401))
    assert await place.fail(FIRST) == "far wants a sign-in: `ask mcp login far`."
    assert place.failures == ["far wants a sign-in: `ask mcp login far`."]
    await place.fail(CALL)
    assert len(place.failures) == 1, "a call's failure is the call's alone"


@pytest.mark.parametrize(
    "error", [httpx2.ConnectError("x"), httpx2.ReadError("x"), OSError("x"), CannotRun("No way.")]
)
async def test_what_breaks_on_the_way_is_an_answer(error: Exception) -> None:
    def say(request: httpx2.Request) -> httpx2.Response:
        raise error

    sentence = await Place(say).fail()
    assert "far" in sentence or sentence == "No way."


async def test_a_notification_is_waited_for_a_while(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def hang(request: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
        raise AssertionError

    place = Place(hang)
    began = trio.current_time()
    for method, message in (("POST", {"jsonrpc": "2.0", "method": "x"}), ("DELETE", None)):
        assert (await place.send(message, method=method)).status_code == 502
    assert trio.current_time() - began == http_wire.NOTICE_S + http_roads.CLOSE_S


async def test_streams_that_end_at_once_are_opened_at_a_pace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    place = Place(lambda request: as_json({}, 405))
    began = trio.current_time()
    for _ in range(9):
        await place.send(None, method="GET")
    assert trio.current_time() - began == 8 * http_wire.LISTEN_EVERY_S
    await trio.sleep(100)
    began = trio.current_time()
    await place.send(None, method="GET")
    assert trio.current_time() == began


async def test_a_new_session_that_takes_forever_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    is_up = True

    async def say(request: httpx2.Request) -> httpx2.Response:
        method = json.loads(request.content)["method"]
        if method == "initialize" and not is_up:
            await trio.sleep_forever()
        if method == "initialize":
            return as_json({**DONE, "id": 0}, session="s")
        return as_json({"error": "gone"}, 404)

    place = Place(say)
    await place.send(FIRST)
    is_up = False
    assert "has ended our session" in await place.fail(CALL, mcp_session_id="s")


async def test_a_refusal_without_a_session_begins_none() -> None:
    place = Place(lambda request: as_json({"error": "gone"}, 404))
    assert "nothing there speaks MCP" in await place.fail()
    assert len(place.roads.sent) == 1


async def test_an_error_of_the_protocol_is_not_taken_for_a_refused_token() -> None:
    said = {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "in my own words"}}
    assert await Place(lambda request: as_json(said, 400)).fail() == "in my own words"
    assert "wants a sign-in" in await Place(lambda request: as_json(said, 401)).fail()


@pytest.mark.parametrize("status", [301, 307])
@pytest.mark.parametrize(
    "location",
    [
        "http://far.example:99999/", "https://far.example:0x/", "http://[", "file:///etc/passwd",
        "//evil.example", "https://far.example:443@evil.example/", "http://169.254.169.254/",
        "https://far.example/\x00", "\t//evil.example", "javascript:x", "",
    ],
)  # fmt: skip
async def test_wherever_a_server_sends_us_it_is_a_sentence(status: int, location: str) -> None:
    def say(request: httpx2.Request) -> httpx2.Response:
        headers = [(b"location", location.encode())]
        return httpx2.Response(status, headers=headers, stream=httpx2.ByteStream(b""))

    place = Place(say)
    response = await place.wire.handle_async_request(httpx2.Request("POST", URL, json=CALL))
    assert response.status_code in (400, 502)
    said = json.loads(response.content)
    assert said["id"] == CALL["id"]
    assert said["error"]["message"].startswith("far")
    assert len(place.roads.sent) == 1
