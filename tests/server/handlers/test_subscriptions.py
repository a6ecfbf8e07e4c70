"""Reading and following: page after page, then live, nothing missing and nothing twice."""

from typing import Any

import pytest
import trio
import trio.testing

from askd.sessions.live import RECENT_EVENTS
from tests.fakes.house import HELLO, PeerStream, Refused, Server, open_server, prompt


async def make(peer: PeerStream, notes: int) -> str:
    """A conversation of so many notices."""
    made = await peer.call("conversation/create")
    for number in range(notes):
        note = {"conversation_id": made["id"], "text": str(number)}
        await peer.call("conversation/note", note)
    return str(made["id"])


async def read_all(
    peer: PeerStream, method: str, conversation_id: str, **more: Any
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Every event, page by page, and the last answer."""
    seen: list[dict[str, Any]] = []
    after = 0
    while True:
        params = {"conversation_id": conversation_id, "after_seq": after, **more}
        page = await peer.call(method, params)
        seen += page["data"]
        if page["next_after_seq"] is None:
            return seen, page
        assert page["data"]
        after = page["next_after_seq"]
        assert after == page["data"][-1]["seq"]


def unload(server: Server) -> None:
    for session in server.house.sessions.live():
        server.house.sessions.discard(session)


@pytest.mark.parametrize("method", ["conversation/read", "conversation/subscribe"])
@pytest.mark.parametrize("limit", [1, 3, 10, 11, 12, 100_000])
@pytest.mark.parametrize("live", [True, False])
async def test_pages_hold_every_event_once(method: str, limit: int, live: bool) -> None:
    async with open_server() as server:
        peer = await server.greet()
        conversation_id = await make(peer, 10)
        if not live:
            unload(server)
        seen, _ = await read_all(peer, method, conversation_id, limit=limit)
        assert [event["seq"] for event in seen] == list(range(1, 12))


async def test_reading_does_not_load_the_conversation() -> None:
    async with open_server() as server:
        peer = await server.greet()
        conversation_id = await make(peer, 1)
        unload(server)
        await read_all(peer, "conversation/read", conversation_id)
        assert server.house.sessions.live() == []


@pytest.mark.parametrize("ephemeral", [True, False])
async def test_what_memory_no_longer_has_comes_from_the_log(ephemeral: bool) -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("x", ephemeral=ephemeral))
        conversation_id = started["conversation_id"]
        session = await server.house.sessions.get(conversation_id)
        await session.wait_finished(started["turn_id"])
        for _ in range(RECENT_EVENTS // 100):
            await peer.call("conversation/note", {"conversation_id": conversation_id, "text": "n"})
        session._recent.clear()  # as if a thousand more had come
        note = {"conversation_id": conversation_id, "text": "last"}
        await peer.call("conversation/note", note)
        seen, _ = await read_all(peer, "conversation/subscribe", conversation_id, limit=7)
        last = session.conversation.last_seq
        assert [event["seq"] for event in seen] == list(range(1, last + 1))
        assert conversation_id in peer.connection.peer.subscriptions  # type: ignore[union-attr]


async def test_pages_stay_below_the_message_limit() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create")
        for _ in range(9):
            note = {"conversation_id": made["id"], "text": "x" * 250_000}
            await peer.call("conversation/note", note)
        for method in ("conversation/read", "conversation/subscribe"):
            seen, _ = await read_all(peer, method, made["id"])
            assert [event["seq"] for event in seen] == list(range(1, 11))
        unload(server)
        seen, _ = await read_all(peer, "conversation/read", made["id"])
        assert len(seen) == 10


async def test_a_subscriber_sees_what_comes_and_an_unsubscribed_one_does_not() -> None:
    async with open_server() as server:
        writer, reader = await server.greet(), await server.greet()
        conversation_id = await make(writer, 0)
        ref = {"conversation_id": conversation_id}
        answer = await reader.call("conversation/subscribe", ref)
        assert (answer["next_after_seq"], answer["live"]) == (None, [])
        await writer.call("conversation/note", {**ref, "text": "seen"})
        method, event = await reader.notification()
        assert (method, event["seq"], event["item"]["text"]) == ("event", 2, "seen")
        assert await reader.call("conversation/unsubscribe", ref) == ref
        await writer.call("conversation/note", {**ref, "text": "unseen"})
        await reader.call("daemon/status")
        assert not reader.received


async def test_whoever_comes_in_the_middle_has_the_text_so_far_and_every_later_delta() -> None:
    words = [f"w{n} " for n in range(30)]
    async with open_server() as server:
        gates = [trio.Event() for _ in words]
        server.models.script = lambda request: [
            step for gate, word in zip(gates, words, strict=True) for step in (gate, word)
        ]
        asker = await server.greet()
        started = await asker.call("turn/start", prompt("x"))
        ref = {"conversation_id": started["conversation_id"]}
        watchers: list[tuple[PeerStream, str]] = []
        for gate in gates:
            watcher = await server.greet()
            answer = await watcher.call("conversation/subscribe", ref)
            (live,) = answer["live"] or [{"text": "", "kind": "text"}]
            assert live["kind"] == "text"
            watchers.append((watcher, live["text"]))
            gate.set()
            await trio.testing.wait_all_tasks_blocked()
        for watcher, text in watchers:
            for method, params in await watcher.follow("turn_finished"):
                if method == "delta":
                    assert params["offset"] == len(text)
                    text += params["text"]
            assert text == "".join(words)


async def test_a_long_text_so_far_follows_as_deltas() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: ["x" * 400_000, hold]
        asker, late = await server.greet(), await server.greet()
        started = await asker.call("turn/start", prompt("x"))
        await trio.testing.wait_all_tasks_blocked()
        ref = {"conversation_id": started["conversation_id"]}
        answer = await late.call("conversation/subscribe", ref)
        assert (answer["live"], answer["next_after_seq"]) == ([], None)
        hold.set()
        seen = await late.follow("turn_finished")
        assert sum(len(p["text"]) for m, p in seen if m == "delta") == 400_000


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"conversation_id": "none"}, "conversation_not_found"),
        ({"after_seq": -1}, "bad_params"),
        ({"after_seq": 2**62}, "bad_params"),
        ({"after_seq": 2**63}, "bad_params"),
        ({"limit": 0}, "bad_params"),
    ],
)
@pytest.mark.parametrize("method", ["conversation/read", "conversation/subscribe"])
async def test_what_makes_no_sense_is_refused(
    method: str, params: dict[str, Any], reason: str
) -> None:
    async with open_server() as server:
        peer = await server.greet()
        conversation_id = await make(peer, 1)
        with pytest.raises(Refused) as caught:
            await peer.call(method, {"conversation_id": conversation_id, **params})
        assert caught.value.reason == reason


async def test_the_future_cannot_be_subscribed_to() -> None:
    async with open_server() as server:
        peer = await server.greet()
        conversation_id = await make(peer, 1)
        ref = {"conversation_id": conversation_id}
        assert (await peer.call("conversation/subscribe", {**ref, "after_seq": 2}))["data"] == []
        with pytest.raises(Refused, match="the last event is 2"):
            await peer.call("conversation/subscribe", {**ref, "after_seq": 3})


async def test_whoever_begins_to_read_is_noted_once_wherever_that_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_server() as server:
        peer = await server.greet()
        first, second = await make(peer, 3), await make(peer, 1)
        for id, after_seq in ((first, 2), (first, 1), (second, 0), (first, 3), (first, 0)):
            params = {"conversation_id": id, "after_seq": after_seq}
            with caplog.at_level("INFO"):
                await peer.call("conversation/read", params)
    noted = [each for each in caplog.messages if each.startswith("Displaying conversation")]
    assert noted == [
        f"Displaying conversation: id={id}, message_count={number}"
        for id, number in ((first, 3), (second, 1), (first, 3), (first, 3))
    ]


async def greet_as(server: Server, name: str, *capabilities: str) -> PeerStream:
    peer = server.connect()
    await peer.call("hello", {**HELLO, "client": name, "capabilities": [*capabilities]})
    return peer


async def hear(peer: PeerStream) -> list[str]:
    method, told = await peer.notification()
    assert method == "attached"
    assert told["attached"] == len(told["clients"])
    return [each["client"] for each in told["clients"]]


async def test_who_comes_and_who_leaves_is_heard_by_those_who_said_so() -> None:
    async with open_server() as server:
        plain = await server.greet()
        follow = {"conversation_id": await make(plain, 1)}
        one = await greet_as(server, "ask chat", "attached", "from the future")
        await one.call("conversation/subscribe", follow)
        assert await hear(one) == ["ask chat"]
        two = await greet_as(server, "two\x1b[31m", "attached")
        await two.call("conversation/subscribe", {**follow, "interactive": True})
        assert await hear(one) == await hear(two) == ["ask chat", "two [31m"]
        await plain.call("conversation/subscribe", follow)
        assert await hear(one) == await hear(two) == ["ask chat", "two [31m", "test"]
        (found,) = (await plain.call("conversation/list"))["data"]
        assert found["attached"] == 3
        assert [each["interactive"] for each in found["clients"]] == [False, True, False]
        await plain.call("conversation/unsubscribe", follow)
        assert await hear(one) == ["ask chat", "two [31m"]
        await one.stream.aclose()
        assert await hear(two) == ["ask chat", "two [31m"]
        assert await hear(two) == ["two [31m"]
        assert not plain.received


async def test_a_prompt_that_is_waited_for_counts_and_hears_of_nobody() -> None:
    async with open_server() as server:
        chat = await greet_as(server, "ask chat", "attached")
        conversation_id = await make(chat, 1)
        await chat.call("conversation/subscribe", {"conversation_id": conversation_id})
        assert await hear(chat) == ["ask chat"]
        once = await server.greet()
        target = {"kind": "id", "value": conversation_id}
        await once.call("turn/start", {**prompt("hi"), "target": target, "follow": True})
        accepted = await chat.notification()
        assert accepted[1]["type"] == "prompt_accepted"
        assert await hear(chat) == ["ask chat", "test"]
        seen = await once.follow("turn_finished")
        assert {method for method, _ in seen} <= {"event", "delta", "progress"}
