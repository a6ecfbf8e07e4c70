"""A server at an address, driven by the SDK's own session over real sockets."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError

from askd.providers.redact import KnownSecrets
from askd.tools.base import CannotRun
from askd.tools.mcp import http_wire
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http import open_http
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.ways import HttpWay, Token
from tests.fakes.chat_answers import Drop, Hold, Status
from tests.fakes.mcp_http_server import PATH, McpHttpServer, as_event
from tests.fakes.mcp_ways import TOKEN, FakeTokens, make_way
from tests.fakes.scripted_server import as_json, open_server
from tests.fakes.wire_server import open_wire_server

# The SDK leaves streams of events in the middle, and their generators to trio, which ends them.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

LIMIT_S = 10.0


@dataclass
class Place:
    """A session, and what it stands on."""

    server: McpHttpServer
    session: ClientSession
    journal: Journal

    async def echo(self, text: str) -> str:
        """What the tool answers; `MCPError` if it does not."""
        with trio.fail_after(LIMIT_S):
            found = await self.session.call_tool("echo", {"text": text})
        (content,) = found.content
        return str(getattr(content, "text"))  # noqa: B009  # of one of several kinds

    async def fail(self, text: str = "x") -> str:
        """How the call fails."""
        with pytest.raises(MCPError) as caught:
            await self.echo(text)
        return caught.value.error.message


def make_config(server: McpHttpServer, **said: Any) -> ServerConfig:
    return ServerConfig(name="far", **{"url": server.url, **said})


@asynccontextmanager
async def open_place(
    server: McpHttpServer,
    way: HttpWay | None = None,
    *,
    initialize: bool = True,
    **said: Any,
) -> AsyncIterator[Place]:
    journal = Journal(lambda: 0.0)
    config = make_config(server, **said)
    async with (
        open_http(config, journal=journal, way=way or make_way()) as streams,
        ClientSession(*streams) as session,
    ):
        if initialize:
            with trio.fail_after(LIMIT_S):
                await session.initialize()
        yield Place(server, session, journal)


@pytest.fixture
async def server() -> AsyncIterator[McpHttpServer]:
    """One that lets everybody in."""
    server = McpHttpServer()
    async with open_server(server):
        yield server


async def refuse_to_begin(server: McpHttpServer, way: HttpWay | None = None, **said: Any) -> str:
    """Why a session cannot be begun: told to the journal and to the SDK alike."""
    async with open_place(server, way, initialize=False, **said) as place:
        with pytest.raises(MCPError) as caught, trio.fail_after(LIMIT_S):
            await place.session.initialize()
        assert place.journal.ended == caught.value.error.message
        return caught.value.error.message


# ---- what works -----------------------------------------------------------------------


@pytest.mark.parametrize("streams", [False, True])
async def test_a_tool_is_called(server: McpHttpServer, streams: bool) -> None:
    server.streams = streams
    async with open_place(server) as place:
        assert [each.name for each in (await place.session.list_tools()).tools] == ["echo", "wait"]
        assert await place.echo("hi") == "You said: hi"
        assert place.journal.ended is None
    assert server.sessions == set()  # the session is ended where it was begun
    assert ("DELETE", PATH) in server.asked


async def test_headers_and_the_token_go_with_every_request(server: McpHttpServer) -> None:
    server.wants, server.tokens = "bearer", {TOKEN}
    way = make_way(FakeTokens(Token(TOKEN, "settings")))
    async with open_place(server, way, headers={"X-Team": "blue"}) as place:
        assert await place.echo("hi") == "You said: hi"
    assert {each["authorization"] for each in server.all_headers} == {f"Bearer {TOKEN}"}
    assert {each["x-team"] for each in server.all_headers} == {"blue"}
    assert {each["accept-encoding"] for each in server.all_headers} == {"identity"}
    assert all("cookie" not in each for each in server.all_headers)


async def test_a_token_that_is_refused_is_renewed_and_the_request_sent_again(
    server: McpHttpServer,
) -> None:
    server.wants, server.tokens = "bearer", {"old"}
    tokens = FakeTokens(Token("old", "sign-in"), later=[Token("new", "sign-in")])
    async with open_place(server, make_way(tokens)) as place:
        server.tokens = {"new"}
        assert await place.echo("once") == "You said: once"
        assert await place.echo("twice") == "You said: twice"
    assert set(tokens.refused) == {"old"}
    assert server.count("tools/call") == 2


async def test_cookies_are_not_kept(server: McpHttpServer) -> None:
    server.spoil("notifications/initialized", Status(202, b"", {"Set-Cookie": "who=me"}))
    async with open_place(server) as place:
        await place.echo("hi")
    assert all("cookie" not in each for each in server.all_headers)


# ---- who may not ----------------------------------------------------------------------


async def test_who_has_no_token_is_told_to_sign_in(server: McpHttpServer) -> None:
    server.wants = "sign-in"
    assert await refuse_to_begin(server) == "far wants a sign-in: `ask mcp login far`."
    assert server.clients == {}  # nobody has registered anything on the way
    assert {path for _, path in server.asked} == {PATH}


@pytest.mark.parametrize(
    ("token", "headers", "words"),
    [
        (Token("wrong", "settings"), {}, "refuses the token of the settings (HTTP 401)"),
        (None, {"Authorization": "Bearer x"}, "refuses the token of the settings (HTTP 401)"),
        (Token("wrong", "sign-in"), {}, "sign in again with `ask mcp login far`"),
    ],
)
async def test_a_token_that_is_not_taken(
    server: McpHttpServer, token: Token | None, headers: dict[str, str], words: str
) -> None:
    server.wants = "bearer"
    sentence = await refuse_to_begin(server, make_way(FakeTokens(token)), headers=headers)
    assert words in sentence
    assert "wrong" not in sentence


async def test_a_token_that_cannot_be_had_is_said_before_anything_is_sent(
    server: McpHttpServer,
) -> None:
    way = make_way(FakeTokens(trouble="far: FAR_TOKEN is not set."))
    with pytest.raises(CannotRun, match="FAR_TOKEN is not set"):
        async with open_place(server, way):
            pass
    assert server.asked == []


async def test_local_only_forbids_what_is_elsewhere(server: McpHttpServer) -> None:
    with pytest.raises(CannotRun, match="local_only"):
        async with open_place(server, make_way(local_only=True), url="https://mcp.example.com/mcp"):
            pass
    async with open_place(server, make_way(local_only=True)) as place:
        assert await place.echo("here") == "You said: here"


async def test_a_secret_that_is_repeated_is_in_no_sentence(server: McpHttpServer) -> None:
    secrets = KnownSecrets([f"{TOKEN}-in-a-header"])
    server.spoil("initialize", Status(307, b"", {"Location": f"http://{TOKEN}-in-a-header/"}))
    sentence = await refuse_to_begin(server, make_way(secrets=secrets))
    assert TOKEN not in sentence
    assert "***" in sentence


# ---- what goes wrong in a call, and is of that call alone -------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Status(500, b"oops"), "far has failed (HTTP 500); try again later."),
        (Status(503, b"<html>"), "far has failed (HTTP 503)"),
        (Status(403, b"no"), "far forbids this (HTTP 403)"),
        (Status(429, b"slow"), "far is asked too often (HTTP 429)"),
        (Status(400, b"what"), "far refuses the request (HTTP 400)."),
        (Status(200, b"<html>hello"), "far answers with text/html, which is not MCP"),
        (Status(200, b"{nonsense"), "no message of MCP"),
        (Status(200, b"[1, 2]"), "no message of MCP"),
        (Status(202, b""), "no message of MCP"),
        (
            Status(200, b"\x1f\x8b", {"Content-Encoding": "gzip"}),
            "far compresses its answers though asked not to",
        ),
        (
            Status(307, b"", {"Location": "http://elsewhere.example/mcp?a=b"}),
            "far sends us on to http://elsewhere.example, and nothing is sent there",
        ),
        (Status(302, b"", {"Location": "file:///etc/passwd"}), "sends us on to another address"),
        ((b"data: {\n\n",), "Failed to parse SSE message"),
        ((b": nothing\n\n",), "SSE stream ended without a response"),
        ((Drop(),), "SSE stream ended without a response"),
    ],
)
async def test_a_bad_answer_is_a_sentence_and_the_session_goes_on(
    server: McpHttpServer, answer: Any, words: str
) -> None:
    async with open_place(server) as place:
        server.spoil("tools/call", answer)
        assert words in await place.fail()
        assert await place.echo("after") == "You said: after"
        assert place.journal.ended is None


async def test_an_error_in_the_protocols_own_words_comes_through(server: McpHttpServer) -> None:
    said = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "Too few."}}
    async with open_place(server) as place:
        server.spoil("tools/call", as_json(said, 400))
        assert await place.fail() == "Too few."


async def test_a_redirect_within_the_server_is_followed(server: McpHttpServer) -> None:
    async with open_place(server) as place:
        server.spoil("tools/call", Status(307, b"", {"Location": "/mcp"}))
        assert await place.echo("on") == "You said: on"


async def test_a_token_never_follows_a_redirect_to_another_host(server: McpHttpServer) -> None:
    other = McpHttpServer()
    server.wants, server.tokens = "bearer", {TOKEN}
    async with open_server(other):
        way = make_way(FakeTokens(Token(TOKEN, "settings")))
        async with open_place(server, way) as place:
            server.spoil("tools/call", Status(307, b"", {"Location": other.url}))
            assert "nothing is sent there" in await place.fail()
    assert other.asked == []


async def test_nobody_listens() -> None:
    server = McpHttpServer()
    async with open_server(server):
        pass
    sentence = await refuse_to_begin(server)
    assert sentence == (
        f"far: nothing listens at {server.url} (connection refused). Is it running, and is that "
        "its port?"
    )


async def test_an_answer_that_breaks_off() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
    async with open_wire_server(head) as wire:
        url = f"http://user:pass@127.0.0.1:{wire.port}/mcp?key=k"
        sentence = await refuse_to_begin(McpHttpServer(), url=url)
    assert sentence == (
        f"far: the connection to http://127.0.0.1:{wire.port}/mcp broke before the whole answer "
        "was there."
    )


async def test_a_page_of_something_else(server: McpHttpServer) -> None:
    sentence = await refuse_to_begin(server, url=server.base_url + "/other")
    assert sentence == (
        "far: nothing there speaks MCP over HTTP (HTTP 404): see `url` under [mcpServers.far]."
    )


async def test_a_server_dies_in_the_middle_of_a_call_and_comes_back() -> None:
    server = McpHttpServer()
    async with trio.open_nursery() as nursery:
        stop = trio.CancelScope()

        async def live(port: int, task_status: trio.TaskStatus[None]) -> None:
            with stop:
                async with open_server(server, port=port):
                    task_status.started()
                    await trio.sleep_forever()

        await nursery.start(live, 0)
        port = int(server.base_url.rpartition(":")[2])
        async with open_place(server) as place:
            server.spoil("tools/call", (Hold(),))
            failures: list[str] = []
            failed = trio.Event()

            async def call() -> None:
                failures.append(await place.fail())
                failed.set()

            nursery.start_soon(call)
            await server.wait_for("requests", 3)
            stop.cancel()
            with trio.fail_after(LIMIT_S):
                await failed.wait()
            assert failures == ["SSE stream ended without a response"]
            assert "nothing listens at" in await place.fail()
            stop = trio.CancelScope()
            server.sessions.clear()
            await nursery.start(live, port)
            assert await place.echo("again") == "You said: again"
        nursery.cancel_scope.cancel()


# ---- sessions that are lost -------------------------------------------------------------


async def test_a_lost_session_is_begun_anew_once_for_all_calls(server: McpHttpServer) -> None:
    async with open_place(server) as place:
        await place.echo("first")
        before = set(server.sessions)
        server.sessions.clear()
        found: list[str] = []

        async def call(text: str) -> None:
            found.append(await place.echo(text))

        async with trio.open_nursery() as nursery:
            for text in ("a", "b", "c"):
                nursery.start_soon(call, text)
        assert sorted(found) == ["You said: a", "You said: b", "You said: c"]
        assert server.count("initialize") == 2
        assert server.count("notifications/initialized") == 2
        assert server.count("tools/call") == 4
        assert len(server.sessions) == 1
        assert not server.sessions & before
    assert server.sessions == set()


async def test_a_session_that_is_lost_again_and_again_ends_in_a_sentence(
    server: McpHttpServer,
) -> None:
    async with open_place(server) as place:
        server.spoil("tools/call", *[as_json({"error": "gone"}, 404)] * 2)
        assert await place.fail() == (
            "far has ended our session, and each new one with it; try again later."
        )
        assert server.count("initialize") == 2
        assert await place.echo("later") == "You said: later"


async def test_a_server_that_begins_no_new_session(server: McpHttpServer) -> None:
    async with open_place(server) as place:
        server.sessions.clear()
        server.spoil("initialize", Status(503, b""))
        assert "has ended our session" in await place.fail()


# ---- floods and silence -----------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Bounds that a test can reach: an answer's; an event's is half of it."""
    monkeypatch.setattr("askd.tools.mcp.http_roads.ANSWER_LIMIT_BYTES", 1 << 20)
    monkeypatch.setattr("askd.tools.mcp.http.EVENT_LIMIT_BYTES", 1 << 19)
    return 1 << 20


PROGRESS = as_event(
    {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1, "message": "x" * 60_000},
    }
)
COMMENTS = (b": " + b"x" * 97 + b"\n") * 100


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda size: Status(200, b'"' + b"x" * size + b'"'), "far sent more than 1 MiB"),
        (lambda size: (PROGRESS,) * (size // 60_000 + 1), "far sent more than 1 MiB"),
        (lambda size: (b"data: " + b"x" * size,), "SSE stream failed"),
        (lambda size: (COMMENTS,) * (size // len(COMMENTS) + 1), "far sent more than 1 MiB"),
    ],
    ids=["json", "events", "one-event", "comments"],
)
async def test_a_flood_is_cut_off(
    server: McpHttpServer, small: int, make: Callable[[int], Any], words: str
) -> None:
    async with open_place(server) as place:
        server.spoil("tools/call", make(small + 1))
        assert words in await place.fail()
        assert await place.echo("after") == "You said: after"


async def test_a_notification_that_is_not_taken_holds_nothing_up(
    server: McpHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_wire, "NOTICE_S", 0.05)
    server.spoil("notifications/initialized", (Hold(),), Status(500, b""))
    async with open_place(server) as place:
        assert await place.echo("on") == "You said: on"


async def test_a_server_that_does_not_let_go_does_not_hold_the_end_up(
    server: McpHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_wire, "CLOSE_S", 0.05)
    with trio.fail_after(LIMIT_S):
        async with open_place(server) as place:
            assert await place.echo("hi") == "You said: hi"
            server.spoil(PATH, (Hold(),))
