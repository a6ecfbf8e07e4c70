"""Faces over the wire: opened once, spoken to line by line, gone with their connection."""

import json
import os
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from askd.server.handlers import faces
from tests.fakes.house import PeerStream, Refused, open_server

Map = dict[str, Any]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "wire", "version": "1"},
    },
}


async def say(peer: PeerStream, message: Map | bytes) -> None:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    await peer.call("mcp/send", {"bytes": line})


async def hear(peer: PeerStream) -> Map:
    """The next line of the face."""
    line, more = b"", True
    while more:
        method, params = await peer.notification()
        assert method == "mcp/message"
        line, more = line + params["bytes"], params["more"]
    found: Map = json.loads(line)
    return found


async def test_a_face_speaks_the_protocol_of_its_client() -> None:
    async with open_server() as server:
        peer = await server.greet()
        assert await peer.call("mcp/open") == {"conversation_id": None}
        await say(peer, HELLO)
        hello = await hear(peer)
        assert (hello["id"], hello["result"]["protocolVersion"]) == (1, "2025-06-18")
        await say(peer, {"jsonrpc": "2.0", "id": "x", "method": "no/such"})
        assert (await hear(peer))["error"]["code"] == -32601
        await peer.call("mcp/close")
        with pytest.raises(Refused, match="closed"):
            await say(peer, HELLO)
        assert (await peer.call("daemon/status"))["pid"] == 42  # the connection goes on


async def test_one_face_at_a_time_and_none_without_opening() -> None:
    async with open_server() as server:
        peer = await server.greet()
        for method, params in (("mcp/send", {"bytes": b"{}"}), ("mcp/close", {})):
            with pytest.raises(Refused) as caught:
                await peer.call(method, params)
            assert (caught.value.code, caught.value.reason) == (2, "no_face")
        await peer.call("mcp/open")
        with pytest.raises(Refused, match="has a face already"):
            await peer.call("mcp/open")
        await peer.call("mcp/close")
        await peer.call("mcp/open")  # and begins anew
        await say(peer, HELLO)
        assert (await hear(peer))["id"] == 1


async def test_without_the_extra_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "askd.server.mcp.face", raising=False)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("mcp/open")
    assert (caught.value.code, caught.value.message) == (4, faces.NOT_INSTALLED)


def test_the_sdk_is_loaded_for_a_face_and_not_before() -> None:
    script = (
        "import sys, askd.server.dispatch\n"
        "assert not {'mcp', 'mcp_types', 'anyio', 'starlette'} & set(sys.modules)\n"
        "from askd.server.handlers import faces\n"
        "faces._load()\n"
        "assert 'mcp' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


async def test_what_fails_inside_ends_the_face_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*arguments: object, **named: object) -> None:
        raise ExceptionGroup("", [RuntimeError("deep inside")])

    monkeypatch.setattr(faces, "_load", lambda: fail)
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("mcp/open")
        assert await peer.notification() == ("mcp/closed", {"message": faces.FAILED})
        assert (await peer.call("daemon/status"))["pid"] == 42
    assert "deep inside" in caplog.text


async def test_a_face_goes_with_its_connection() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("mcp/open")
        assert peer.connection is not None
        face = peer.connection.peer.face
        assert face is not None
        await peer.stream.aclose()
        with trio.fail_after(5):
            await face.ended.wait()
        assert face.is_over


async def test_a_face_that_a_tool_of_ours_opened_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    async def note(*arguments: object, is_inner: bool) -> None:
        seen.append(is_inner)

    monkeypatch.setattr(faces, "_load", lambda: note)
    async with open_server() as server, trio.open_nursery() as nursery:
        run = partial(trio.run_process, ["cat"], stdin=subprocess.PIPE)
        child = await nursery.start(run)
        for pid in (child.pid, os.getpid(), 1, None):
            peer = await server.greet()
            assert peer.connection is not None
            peer.connection.peer.pid = pid
            await peer.call("mcp/open")
        await child.stdin.aclose()
    assert seen == [True, False, False, False]
