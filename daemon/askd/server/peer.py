"""What the daemon holds for one connection: its outbox, subscriptions and uploads.

All of it is gone with the connection; turns are not held here, and go on.
Nothing here waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import trio

from ask.protocol.frames import encode_notification
from askd.errors import Busy
from askd.server.contexts import ReadContext
from askd.server.mcp.channel import Channel
from askd.server.outbox import Outbox
from askd.server.transfers import Export, Incoming
from askd.server.uploads import Uploads
from askd.sessions.hub import Client
from askd.sessions.live import LiveSession

SUBSCRIPTIONS_LIMIT = 256
"""Conversations that one connection may follow at a time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A handler's result, and what is to happen as soon as it is queued, before anything else."""

    result: Any
    then: Callable[[], None] | None = None


class Subscription:
    """One connection's interest in one conversation. It ends with the first frame left out.

    What was queued of events stays in order, deltas leave, and one `gap` says so:
    the client subscribes again from the last seq that it has.
    """

    def __init__(self, session: LiveSession, peer: "Peer") -> None:
        self.session = session
        self._peer = peer
        self._over = False

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        """Take an encoded notification; `sessions.hub.Subscriber` says what this promises."""
        if not (self._over or self._peer.outbox.offer(frame, source=self, droppable=droppable)):
            self.break_off()

    def break_off(self) -> None:
        """End it from this side: the client hears of a gap, and finds out why by asking again."""
        self._peer.unsubscribe(self.session.id)
        self._peer.outbox.drop_from(self)
        self._peer.outbox.post(encode_notification("gap", {"conversation_id": self.session.id}))

    def cancel(self) -> None:
        """Take nothing more."""
        self._over = True
        self.session.unsubscribe(self)


@dataclass(slots=True)
class Peer:
    """The other end of a connection.

    Attributes:
        client: the program's name, once it has said hello.
        hears: it wants to be told who else follows what it follows.
        foreign: it speaks another protocol, so that it may only ask us to drain.
        read_blob: the digest and content that `blob/read` is in the middle of.
        export: the conversation that is being read as a file.
        incoming: the file that is being sent to be imported.
        context: the next request that `conversation/context` is in the middle of.
        displayed: the conversation that it has begun to read last.
        pid: of the process that connected; None: not known.
        tasks: where what lives as long as the connection runs.
        face: the connection as a server of MCP, once it is one.
    """

    client: str = "a client"
    hears: bool = False
    foreign: bool = False
    outbox: Outbox = field(default_factory=Outbox)
    uploads: Uploads = field(default_factory=Uploads)
    read_blob: tuple[str, bytes] | None = None
    export: Export | None = None
    incoming: Incoming | None = None
    context: ReadContext | None = None
    displayed: str | None = None
    pid: int | None = None
    tasks: trio.Nursery | None = None
    face: Channel | None = None
    subscriptions: dict[str, Subscription] = field(default_factory=dict)

    def subscribe(self, session: LiveSession, *, interactive: bool) -> None:
        """Follow a conversation from now on, in place of an earlier subscription to it."""
        self.unsubscribe(session.id)
        subscription = Subscription(session, self)
        self.subscriptions[session.id] = subscription
        session.subscribe(subscription, interactive=interactive, client=self._who)

    def follow(self, session: LiveSession, *, interactive: bool) -> bool:
        """Whether the conversation is followed already; only the flag is renewed then."""
        subscription = self.subscriptions.get(session.id)
        if subscription is None or subscription.session is not session:
            return False
        session.subscribe(subscription, interactive=interactive, client=self._who)
        return True

    @property
    def _who(self) -> Client:
        return Client(program=self.client, pid=self.pid, hears=self.hears)

    def check_room(self, conversation_id: str | None) -> None:
        """Raise `Busy` if this conversation, or a new one, cannot be followed too."""
        if (
            conversation_id not in self.subscriptions
            and len(self.subscriptions) >= SUBSCRIPTIONS_LIMIT
        ):
            raise Busy(f"A connection follows {SUBSCRIPTIONS_LIMIT} conversations at the most.")

    def unsubscribe(self, conversation_id: str) -> None:
        """Follow it no more; one that is not followed is no error."""
        subscription = self.subscriptions.pop(conversation_id, None)
        if subscription is not None:
            subscription.cancel()

    def leave(self) -> None:
        """The connection is over."""
        for conversation_id in list(self.subscriptions):
            self.unsubscribe(conversation_id)
        if self.face is not None:
            self.face.leave()
        self.uploads.close()
        self.read_blob = self.export = self.incoming = self.context = None
