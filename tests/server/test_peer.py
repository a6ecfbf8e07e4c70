"""What one connection holds: subscriptions that end with the first frame left out."""

from typing import Any, cast

import msgpack
import pytest
import trio.testing

from askd.errors import Busy
from askd.server.outbox import NOTIFICATIONS_LIMIT
from askd.server.peer import SUBSCRIPTIONS_LIMIT, Peer
from askd.sessions.hub import Client, Delta, Hub
from askd.sessions.live import LiveSession


class Session:
    """As much of a live session as a subscription touches: its hub."""

    def __init__(self, id: str = "c") -> None:
        self.id = id
        self.hub = Hub(lambda value: msgpack.packb([2, "delta", [cast("Delta", value).text]]))

    def subscribe(
        self, subscriber: Any, *, interactive: bool = False, client: Client | None = None
    ) -> None:
        self.hub.subscribe(subscriber, interactive=interactive, client=client)

    def unsubscribe(self, subscriber: Any) -> None:
        self.hub.unsubscribe(subscriber)

    @property
    def live(self) -> LiveSession:
        return cast("LiveSession", self)

    def say(self, text: str) -> None:
        self.hub.publish(
            Delta(
                conversation_id=self.id, turn_id="t", item_id="i", kind="text", offset=0, text=text
            )
        )


async def read(peer: Peer) -> list[Any]:
    ours, theirs = trio.testing.memory_stream_pair()
    peer.outbox.finish()
    await peer.outbox.write_all(ours)
    await ours.send_eof()
    unpacker = msgpack.Unpacker()
    async for data in theirs:
        unpacker.feed(data)
    return [(message[1], message[2][0]) for message in unpacker]


async def test_a_second_subscription_takes_the_place_of_the_first() -> None:
    peer, session = Peer(), Session()
    peer.subscribe(session.live, interactive=False)
    peer.subscribe(session.live, interactive=True)
    assert session.hub.attended
    session.say("once")
    assert await read(peer) == [("delta", "once")]


async def test_following_again_only_renews_the_flag() -> None:
    peer, session = Peer(), Session()
    assert not peer.follow(session.live, interactive=True)
    peer.subscribe(session.live, interactive=False)
    assert peer.follow(session.live, interactive=True)
    assert session.hub.attended
    assert not peer.follow(Session().live, interactive=True)  # reloaded: another session
    session.say("once")
    assert await read(peer) == [("delta", "once")]


async def test_without_room_deltas_leave_and_one_gap_says_so() -> None:
    peer, slow, other = Peer(), Session("slow"), Session("other")
    for session in (slow, other):
        peer.subscribe(session.live, interactive=False)
    other.say("kept")
    peer.subscriptions["slow"].offer(msgpack.packb([2, "event", [1]]), droppable=False)
    for number in range(NOTIFICATIONS_LIMIT * 2):
        slow.say(str(number))
    assert not slow.hub.watched
    assert list(peer.subscriptions) == ["other"]
    other.say("goes on")
    assert await read(peer) == [
        ("delta", "kept"),
        ("event", 1),
        ("gap", {"conversation_id": "slow"}),
        ("delta", "goes on"),
    ]


async def test_after_a_gap_it_may_subscribe_again() -> None:
    peer, session = Peer(), Session()
    peer.subscribe(session.live, interactive=False)
    for number in range(NOTIFICATIONS_LIMIT + 1):
        session.say(str(number))
    peer.subscribe(session.live, interactive=False)
    session.say("again")
    assert await read(peer) == [("gap", {"conversation_id": "c"}), ("delta", "again")]


async def test_a_cancelled_subscription_takes_nothing() -> None:
    peer, session = Peer(), Session()
    peer.subscribe(session.live, interactive=False)
    subscription = peer.subscriptions["c"]
    peer.unsubscribe("c")
    peer.unsubscribe("c")
    subscription.offer(b"late", droppable=False)
    assert not session.hub.watched
    assert await read(peer) == []


async def test_leaving_leaves_nothing() -> None:
    peer, session = Peer(), Session()
    peer.subscribe(session.live, interactive=True)
    peer.uploads.put("0" * 64, size=3, offset=0, chunk=b"a")
    peer.read_blob = ("x", b"y")
    peer.leave()
    assert not session.hub.watched
    assert not any((peer.read_blob, peer.subscriptions, peer.uploads.has("0" * 64)))


async def test_only_so_many_conversations_are_followed() -> None:
    peer = Peer()
    for number in range(SUBSCRIPTIONS_LIMIT):
        peer.check_room(str(number))
        peer.subscribe(Session(str(number)).live, interactive=False)
    peer.check_room("7")
    for new in ("one more", None):
        with pytest.raises(Busy):
            peer.check_room(new)
