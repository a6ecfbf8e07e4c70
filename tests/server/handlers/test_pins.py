"""Pins over the wire: of a conversation for the lists, of a message for the view."""

from typing import Any

import pytest

from tests.fakes.house import PeerStream, Refused, open_server, prompt


async def begin(peer: PeerStream) -> dict[str, Any]:
    started: dict[str, Any] = await peer.call("turn/start", prompt("one", follow=True))
    await peer.follow("turn_finished")
    return started


async def types_of(peer: PeerStream, conversation_id: str) -> list[str]:
    page = await peer.call("conversation/read", {"conversation_id": conversation_id})
    return [event["type"] for event in page["data"] if "pinned" in event["type"]]


async def test_a_conversation_is_marked_once_and_in_lists() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = (await begin(peer))["conversation_id"]
        for _ in range(2):
            assert (await peer.call("conversation/pin", {"conversation_id": id}))["pinned"] is True
        for live in (True, False):
            page = await peer.call("conversation/list", {"live": live})
            assert [row["pinned"] for row in page["data"]] == [True]
        for _ in range(2):
            answer = await peer.call("conversation/unpin", {"conversation_id": id})
            assert answer["pinned"] is False
        assert await types_of(peer, id) == ["item_pinned", "item_unpinned"]


async def test_a_pinned_message_is_still_sent_when_the_view_was_cleared() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await begin(peer)
        id, turn_id = started["conversation_id"], started["turn_id"]
        pinned = {"conversation_id": id, "item_id": f"{turn_id}.0"}
        answer = await peer.call("conversation/pin", pinned)
        assert answer["pinned"] is False, "a message is not the conversation"
        await peer.call("conversation/clear", {"conversation_id": id})
        target = {"kind": "id", "value": id}
        await peer.call("turn/start", prompt("two", target=target, follow=True))
        await peer.follow("turn_finished")
        sent = [item.id for item in server.models.requests[-1].items]
        assert sent[0] == f"{turn_id}.0"
        assert len(sent) == 2
        await peer.call("conversation/unpin", pinned)
        await peer.call("conversation/unpin", {**pinned, "item_id": f"{turn_id}.1"})
        page = await peer.call("conversation/read", {"conversation_id": id})
        pins = [event for event in page["data"] if "pinned" in event["type"]]
        assert [(e["type"], e["item_id"]) for e in pins] == [
            ("item_pinned", f"{turn_id}.0"),
            ("item_unpinned", f"{turn_id}.0"),
        ]


async def test_what_cannot_be_pinned() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = (await begin(peer))["conversation_id"]
        with pytest.raises(Refused, match="Message not found: id=x") as caught:
            await peer.call("conversation/pin", {"conversation_id": id, "item_id": "x"})
        assert (caught.value.code, caught.value.reason) == (3, "item_not_found")
        await peer.call("conversation/note", {"conversation_id": id, "text": "/help"})
        page = await peer.call("conversation/read", {"conversation_id": id})
        notice = page["data"][-1]["item"]["id"]
        with pytest.raises(Refused, match="notice") as caught:
            await peer.call("conversation/pin", {"conversation_id": id, "item_id": notice})
        assert caught.value.code == 2
        assert await types_of(peer, id) == []
