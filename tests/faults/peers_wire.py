"""A connection of a hostile or a healthy peer, within trio, in the contract's frames."""

from collections import deque
from typing import Any

import trio

from ask.protocol import PROTOCOL
from ask.protocol.frames import FrameReader, Message, Notification, Response, encode_request

HELLO = {"client": "peer", "version": "1", "protocol": PROTOCOL}
RECEIVE_BYTES = 64 * 1024


class Refused(Exception):
    """The answer was an error, which says why."""


class Wire:
    """Requests, and whatever comes, in order. One task at a time reads."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._reader = FrameReader()
        self._come: deque[Message] = deque()
        self._kept: deque[Notification] = deque()
        self._count = 0

    @classmethod
    async def greet(cls, path: str) -> "Wire":
        """Connect and say hello; raise `Refused`, or `EOFError`."""
        wire = cls(await trio.open_unix_socket(path))
        try:
            await wire.call("hello", HELLO)
        except BaseException:
            await trio.aclose_forcefully(wire.stream)
            raise
        return wire

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """A request's result; notifications before it are kept for `notified`.

        Raises:
            Refused: it was answered with an error.
            EOFError: the connection is over.
        """
        self._count += 1
        try:
            await self.stream.send_all(encode_request(self._count, method, params))
        except trio.BrokenResourceError:
            raise EOFError from None
        while True:
            message = await self._next()
            if isinstance(message, Notification):
                self._kept.append(message)
            elif isinstance(message, Response):
                if message.error is not None:
                    raise Refused(str(message.error["message"]))
                return message.result

    async def notified(self) -> Notification:
        """The next notification; raise `EOFError`."""
        if self._kept:
            return self._kept.popleft()
        while True:
            message = await self._next()
            if isinstance(message, Notification):
                return message

    async def _next(self) -> Message:
        while not self._come:
            try:
                data = await self.stream.receive_some(RECEIVE_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise EOFError
            self._come += self._reader.feed(data)
        return self._come.popleft()


class Follower:
    """A conversation as one peer has it: its events, by subscribing and by being told.

    Attributes:
        digests: what each event said, in the order of their seq from 1 on.
        arrivals: when each came, in trio's time.
        gaps: how often it was told that something was left out.
        ends: how often its connection was closed.
        wrongs: what came out of order.
    """

    def __init__(self, path: str, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.digests: list[int] = []
        self.arrivals: list[float] = []
        self.gaps = 0
        self.ends = 0
        self.wrongs: list[str] = []
        self.wire: Wire | None = None
        self._path = path

    async def subscribe(self) -> None:
        """From the last event on, connecting if need be; raise `Refused`, or `EOFError`."""
        if self.wire is None:
            self.wire = await Wire.greet(self._path)
        after: int | None = len(self.digests)
        while after is not None:
            page = await self.wire.call(
                "conversation/subscribe",
                {"conversation_id": self.conversation_id, "after_seq": after},
            )
            for event in page["data"]:
                self._take(event)
            after = page.get("next_after_seq")

    async def follow_to(self, count: int) -> None:
        """Read until so many events are there, subscribing again after each gap and each end."""
        while len(self.digests) < count and not self.wrongs:
            try:
                if self.wire is None:
                    await self.subscribe()
                    continue
                told = await self.wire.notified()
                if told.method == "event":
                    self._take(told.params)
                elif told.method == "gap":
                    self.gaps += 1
                    await self.subscribe()
            except EOFError:
                self.ends += 1
                await self.leave()

    async def leave(self) -> None:
        """Close the connection."""
        if self.wire is not None:
            await trio.aclose_forcefully(self.wire.stream)
            self.wire = None

    def _take(self, event: dict[str, Any]) -> None:
        wanted = len(self.digests) + 1
        if event.get("seq") != wanted:
            self.wrongs.append(f"event {event.get('seq')} came where {wanted} was to come")
            return
        self.digests.append(digest(event))
        self.arrivals.append(trio.current_time())


def digest(event: dict[str, Any]) -> int:
    """A number that two events share only if they say the same, within this process."""
    kept = {key: value for key, value in event.items() if key != "conversation_id"}
    return hash(repr(sorted(kept.items())))


async def read_journal(wire: Wire, conversation_id: str) -> list[int]:
    """The digest of each stored event, in their order."""
    found: list[int] = []
    after: int | None = 0
    while after is not None:
        page = await wire.call(
            "conversation/read", {"conversation_id": conversation_id, "after_seq": after}
        )
        found += [digest(event) for event in page["data"]]
        after = page.get("next_after_seq")
    return found
