"""What comes in lines: nonsense is answered, and whoever does not read fills no memory."""

import json

import pytest
import trio
import trio.testing

from askd.server.mcp.channel import LINE_BYTES
from askd.server.mcp.lines import UNSAID_LIMIT
from askd.tools.mcp.lines import MOST_PIECES
from tests.fakes.house import PeerStream, Refused, Server, open_server
from tests.server.handlers.test_faces import HELLO, hear, say

LISTING = {"jsonrpc": "2.0", "method": "tools/list"}


async def open_face(server: Server) -> PeerStream:
    """A connection whose face has heard our first word and answered it."""
    peer = await server.greet()
    await peer.call("mcp/open")
    await say(peer, HELLO)
    await hear(peer)
    return peer


async def test_nonsense_is_answered_and_in_the_end_left() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("mcp/open")
        for line in (b"{", b"[]", b"\xff", b'{"jsonrpc": "1.0"}', b"[" * 100_000):
            await say(peer, line)
            assert (await hear(peer))["error"]["code"] == -32700, line[:20]
        await say(peer, b"  ")  # nothing
        half = b"x" * (LINE_BYTES // 4)
        for _ in range(5):
            await peer.call("mcp/send", {"bytes": half, "more": True})
        await say(peer, b"")
        assert (await hear(peer))["error"]["message"] == "A line has 2 MiB at the most."
        for _ in range(94):
            await say(peer, b"nonsense")
            await hear(peer)
        method, params = await peer.notification()
        assert (method, params["message"][:21]) == ("mcp/closed", "What came was no MCP:")
        with pytest.raises(Refused):
            await say(peer, HELLO)


async def test_who_asks_and_does_not_read_fills_no_memory() -> None:
    async with open_server() as server:
        peer = await open_face(server)
        await say(peer, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert peer.connection is not None
        outbox = peer.connection.peer.outbox
        for number in range(200):
            await say(peer, {**LISTING, "id": number})
            assert sum(len(each.frame) for each in outbox._queue) < 100_000
        ids = {(await hear(peer))["id"] for _ in range(200)}
        assert ids == set(range(200))


async def test_a_flood_of_requests_is_refused_and_then_held_up() -> None:
    async with open_server() as server:
        peer = await open_face(server)
        await say(peer, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert peer.connection is not None
        face = peer.connection.peer.face
        assert face is not None
        async with face._writing:  # as if nobody read
            for number in range(UNSAID_LIMIT + 1):  # one is about to be said
                await say(peer, {**LISTING, "id": number})
            await say(peer, {**LISTING, "id": "too many"})
            await peer.send("mcp/send", {"bytes": b"{}"})
            await trio.testing.wait_all_tasks_blocked()
            assert face._taking  # nothing more is read meanwhile
        lines = b""
        while lines.count(b"\n") < UNSAID_LIMIT + 3:
            kind, *rest = await peer.next()
            if kind == 2:
                lines += rest[1][0]["bytes"] + (b"" if rest[1][0]["more"] else b"\n")
        answers = [json.loads(line) for line in lines.splitlines()]
        assert [each["id"] for each in answers if "error" in each] == ["too many", None]
        expected = {*range(UNSAID_LIMIT + 1), "too many", None}
        assert {each["id"] for each in answers} == expected
        await say(peer, {**LISTING, "id": "again"})
        assert "result" in await hear(peer)


async def test_two_requests_of_one_id_are_not_answered_twice() -> None:
    async with open_server() as server:
        peer = await open_face(server)
        assert peer.connection is not None
        face = peer.connection.peer.face
        assert face is not None
        async with face._writing:
            await say(peer, {"jsonrpc": "2.0", "id": 5, "method": "ping"})
            await say(peer, {"jsonrpc": "2.0", "id": 5, "method": "ping"})
        answers = [await hear(peer), await hear(peer)]
        assert sorted(str(each["id"]) for each in answers) == ["5", "None"]


async def test_a_message_of_too_many_things_is_refused() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("mcp/open")
        await say(peer, b'{"jsonrpc":"2.0","id":1,"a":[' + b"[]," * MOST_PIECES + b"1]}")
        assert "100,000 things" in (await hear(peer))["error"]["message"]
        await say(peer, HELLO)
        assert "result" in await hear(peer)
