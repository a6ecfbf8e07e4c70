"""Forks over the wire."""

import pytest

from tests.fakes.house import PeerStream, Refused, open_server, prompt


async def begin(peer: PeerStream) -> str:
    started = await peer.call("turn/start", prompt("one", follow=True))
    await peer.follow("turn_finished")
    return str(started["conversation_id"])


async def test_a_fork_is_answered_as_a_conversation_and_bound() -> None:
    async with open_server() as server:
        peer = await server.greet()
        source = await begin(peer)
        made = await peer.call(
            "conversation/fork",
            {"conversation_id": source, "name": "other", "terminal": "tty1"},
        )
        assert made["id"] != source
        assert (made["name"], made["message_count"], made["state"]) == ("other", 2, "idle")
        target = {"kind": "terminal", "value": "tty1"}
        found = await peer.call("conversation/resolve", {"target": target})
        assert found["id"] == made["id"]
        page = await peer.call("conversation/read", {"conversation_id": made["id"]})
        assert page["data"][0]["forked_from"] == source


async def test_at_an_event_and_at_none() -> None:
    async with open_server() as server:
        peer = await server.greet()
        source = await begin(peer)
        asked = {"conversation_id": source, "at_seq": 2}
        made = await peer.call("conversation/fork", asked)
        assert made["message_count"] == 0
        with pytest.raises(Refused, match="no event 99") as caught:
            await peer.call("conversation/fork", {"conversation_id": source, "at_seq": 99})
        assert (caught.value.code, caught.value.data["field"]) == (2, "at_seq")
        with pytest.raises(Refused) as caught:
            await peer.call("conversation/fork", {"conversation_id": "nobody"})
        assert caught.value.code == 3
