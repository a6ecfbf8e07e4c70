"""Conversations as files over the wire: out, in, in again, and what is refused."""

import json
from typing import Any

import pytest
import trio

from ask.protocol.messages import BLOB_CHUNK_BYTES
from askd.core.items import Text, UserMessage
from askd.providers.base import ModelRequest
from tests.core.rollouts import GENUINE, assistant, call, line, name_of, output, pack, user
from tests.fakes.house import PeerStream, Refused, Server, open_server, prompt


async def export(peer: PeerStream, conversation_id: str, kind: str = "json") -> bytes:
    content = bytearray()
    offset = 0
    while True:
        params = {"conversation_id": conversation_id, "format": kind, "offset": offset}
        chunk = await peer.call("conversation/export", params)
        content += chunk["bytes"]
        if chunk["next_offset"] is None:
            return bytes(content)
        offset = chunk["next_offset"]


async def send(peer: PeerStream, content: bytes, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for offset in range(0, len(content) or 1, BLOB_CHUNK_BYTES):
        chunk = content[offset : offset + BLOB_CHUNK_BYTES]
        params = {"size": len(content), "offset": offset, "bytes": chunk, **more}
        found = await peer.call("conversation/import", params)
        assert found["received"] == offset + len(chunk)
    return found


async def refuse(peer: PeerStream, method: str, **params: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        await peer.call(method, params)
    return caught.value


async def ask(server: Server, peer: PeerStream, conversation_id: str, text: str) -> ModelRequest:
    """Ask on in a conversation; what the model was sent."""
    target = {"kind": "id", "value": conversation_id}
    started = await peer.call(
        "turn/start", prompt(text, target=target, key=f"{conversation_id} {text[:20]}")
    )
    ref = {"conversation_id": conversation_id, "turn_id": started["turn_id"]}
    with trio.fail_after(10):
        ended = await peer.call("turn/wait", ref)
    assert ended["outcome"] == "completed"
    request: ModelRequest = server.models.requests[-1]
    return request


@pytest.mark.parametrize("path", GENUINE, ids=name_of)
async def test_a_genuine_rollout_is_imported_and_goes_on(path: Any) -> None:
    async with open_server() as server:
        peer = await server.greet()
        found = await send(peer, path.read_bytes())
        assert (found["existed"], found["skipped"], found["title"]) == (False, [], "hello there")
        row = await server.store.get(found["conversation_id"])
        assert row is not None
        assert (row.message_count, row.model) == (found["message_count"], "fake/gpt-5")
        assert row.created_at < row.updated_at < 1_800_000_000
        request = await ask(server, peer, found["conversation_id"], "and now?")
        last = request.items[-1]
        assert isinstance(last, UserMessage)
        assert last.parts == (Text("and now?"),)
        assert len(request.items) > 5


async def test_the_same_file_is_one_conversation_until_that_is_deleted() -> None:
    async with open_server() as server:
        peer = await server.greet()
        content = pack(user("hi"), assistant("yo"))
        first = await send(peer, content)
        again = await send(await server.greet(), content)
        assert again["existed"]
        assert (again["conversation_id"], again["title"]) == (first["conversation_id"], "hi")
        assert again["message_count"] == 2
        more = await send(peer, content + pack(user("more")))
        assert not more["existed"]
        for _ in range(2):
            await peer.call("conversation/delete", {"conversation_id": again["conversation_id"]})
            again = await send(peer, content)
            assert not again["existed"]
            assert await send(peer, content) == {**again, "existed": True}


async def test_a_conversation_goes_out_and_comes_back_under_another_id() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create", {"name": "work"})
        await ask(server, peer, made["id"], "ä" * 130_000)
        for kind in ("json", "codex"):
            content = await export(peer, made["id"], kind)
            assert len(content) > BLOB_CHUNK_BYTES
            found = await send(peer, content)
            assert found["conversation_id"] != made["id"]
            assert found["name"] is None  # it is taken
            again = json.loads(await export(peer, found["conversation_id"]))
            before = json.loads(await export(peer, made["id"]))
            assert again["messages"] == before["messages"]
            events = [each["event"]["type"] for each in before["events"]]
            after = [each["event"]["type"] for each in again["events"]]
            assert after[: len(events)] == events
            assert [each["at"] for each in again["events"]][: len(events)] == [
                each["at"] for each in before["events"]
            ]
        await peer.call("conversation/rename", {"conversation_id": made["id"], "name": "play"})
        content = await export(peer, made["id"])
        await peer.call("conversation/delete", {"conversation_id": made["id"]})
        assert (await send(peer, content))["name"] == "play"
        bad = content.replace(b'"name":"play"', b'"name":"a/b"')
        assert (await send(peer, bad))["name"] is None


async def test_a_text_too_large_for_an_event_is_a_blob_of_the_conversation() -> None:
    async with open_server() as server:
        peer = await server.greet()
        text = "word " * 80_000
        found = await send(peer, pack(user(text), assistant("yo")))
        ref = {"conversation_id": found["conversation_id"]}
        page = await peer.call("conversation/read", ref)
        (accepted,) = [each for each in page["data"] if each["type"] == "prompt_accepted"]
        assert accepted["items"][0]["parts"][0]["bytes"] == len(text)
        exported = json.loads(await export(peer, found["conversation_id"]))
        assert exported["messages"][0]["content"] == text


async def test_markdown_is_for_people() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create", {"name": "work"})
        await ask(server, peer, made["id"], "2+2?")
        page = (await export(peer, made["id"], "markdown")).decode()
        assert page.startswith("# work\n")
        assert "\n2+2?\n" in page


async def test_a_conversation_in_memory_can_be_exported() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("hi", ephemeral=True))
        exported = json.loads(await export(peer, started["conversation_id"]))
        assert exported["messages"][0]["content"] == "hi"


async def test_an_orphan_stays_in_the_log_and_out_of_the_request() -> None:
    async with open_server() as server:
        peer = await server.greet()
        content = pack(output("lost"), user("hi"), call("open"), assistant("yo"), output("again"))
        found = await send(peer, content)
        assert found["message_count"] == 5
        request = await ask(server, peer, found["conversation_id"], "on")
        kinds = [item.TYPE for item in request.items]
        assert kinds == [
            "user_message",
            "assistant_message",
            "tool_output",  # says that the call was interrupted
            "assistant_message",
            "user_message",
        ]


async def test_bad_lines_are_counted_and_the_first_of_them_named() -> None:
    async with open_server() as server:
        peer = await server.greet()
        found = await send(peer, b"{\n" * 30 + pack(user("hi")))
        assert found["skipped_count"] == 30
        assert [each["line"] for each in found["skipped"]] == list(range(1, 21))
        assert found["skipped"][0]["why"].startswith("it is not JSON")


async def test_nothing_is_made_of_a_file_in_which_nothing_is() -> None:
    async with open_server() as server:
        peer = await server.greet()
        empty = {"size": 0, "offset": 0, "bytes": b"", "label": "a.jsonl"}
        error = await refuse(peer, "conversation/import", **empty)
        assert (error.code, error.reason) == (1, "bad_import")
        assert error.message == "Conversation a.jsonl has no turns"
        meta = pack(line("session_meta", {"id": "0123"}))
        error = await refuse(peer, "conversation/import", size=len(meta), offset=0, bytes=meta)
        assert error.message == "Conversation 0123 has no turns"
        noise = {"size": 5, "offset": 0, "bytes": b"noise", "label": "a.txt"}
        error = await refuse(peer, "conversation/import", **noise)
        assert error.message == (
            "a.txt: nothing in it can be read: line 1: it is not JSON: Expecting value (column 1)"
        )
        assert (error.code, server.store.rows()) == (1, [])


async def test_chunks_out_of_order_are_refused_and_a_file_begins_anew() -> None:
    async with open_server() as server:
        peer = await server.greet()
        error = await refuse(peer, "conversation/import", size=5, offset=2, bytes=b"x")
        assert "begin with offset 0" in error.message
        await peer.call("conversation/import", {"size": 5, "offset": 0, "bytes": b"xx"})
        error = await refuse(peer, "conversation/import", size=5, offset=3, bytes=b"x")
        assert "the next one's offset is 2" in error.message
        content = pack(user("hi"))
        assert (await send(peer, content))["message_count"] == 1


async def test_an_export_begins_with_offset_0_and_with_a_conversation() -> None:
    async with open_server() as server:
        peer = await server.greet()
        error = await refuse(peer, "conversation/export", conversation_id="nobody")
        assert error.reason == "conversation_not_found"
        made = await peer.call("conversation/create", {})
        error = await refuse(peer, "conversation/export", conversation_id=made["id"], offset=7)
        assert "begin with offset 0" in error.message
