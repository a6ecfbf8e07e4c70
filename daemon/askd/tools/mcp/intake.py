"""What stands between a transport and the SDK's session: no server sends more than is looked at.

The SDK makes a task of each request that comes, and holds it until its answer has been taken; and
it makes objects of all that an answer lists, and of each thing that is wrong with it. Here what
would be too much of either is refused or waits. It answers nothing itself and knows no method.
"""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import trio
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from askd.tools.base import CannotRun
from askd.tools.mcp.paces import MESSAGES_AT_ONCE, MESSAGES_PER_S, Pace

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, WriteStream

UNHEARD_LIMIT = 16
"""Messages of ours that wait to be taken: while there are so many, no request is let in."""
ASKED_CHARACTERS = 1 << 20
"""Of the texts in one request of a server's: a form or a question is far shorter."""
ID_CHARACTERS = 256
"""Of a request's id, which our answer repeats."""
MOST_THINGS = 10_000
"""Maps and lists in one message, but for those that are handed on as they are. A thousand tools
have some thousand; each that does not fit is described by the SDK in several kilobytes."""
AS_THEY_ARE = frozenset({"structuredContent", "inputSchema", "outputSchema", "_meta"})
"""What a server may fill as it likes; nobody checks it before it is handed on."""

Item = SessionMessage | Exception


class Outlet:
    """What goes to a server: the stream of a transport, and how many wait for it.

    Attributes:
        waiting: messages that were not taken yet.
        moved: set when one more was taken.
    """

    def __init__(self, outgoing: "WriteStream[SessionMessage]") -> None:
        self.waiting = 0
        self.moved = trio.Event()
        self._outgoing = outgoing

    async def send(self, item: SessionMessage, /) -> None:
        """Send it; return once it was taken.

        Raises:
            CannotRun: it cannot be written down; in a transport that would end the session.
        """
        try:
            item.message.model_dump_json(by_alias=True, exclude_unset=True)
        except (ValueError, RecursionError):
            raise CannotRun("What it is to be told is nested too deep, or is no text.") from None
        self.waiting += 1
        try:
            await self._outgoing.send(item)
        finally:
            self.waiting -= 1
            self.moved.set()
            self.moved = trio.Event()

    async def aclose(self) -> None:
        """Close the transport's."""
        await self._outgoing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Intake:
    """What comes from a server, as its session may have it. `say`: is told what was left out."""

    def __init__(
        self, incoming: "ReadStream[Item]", outlet: Outlet, say: Callable[[str], None]
    ) -> None:
        self._incoming = incoming
        self._outlet = outlet
        self._say = say
        self._pace = Pace(per_s=MESSAGES_PER_S, burst=MESSAGES_AT_ONCE)

    @property
    def last_context(self) -> Any:
        """As the SDK's own streams have it: whose task sent the last message, if they know."""
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> Item:
        """The next message; raises as the transport's does at the end."""
        while True:
            item = await self._incoming.receive()
            await self._pace.take()
            if isinstance(item, Exception):
                return item
            message = self._judge(item.message)
            if message is item.message:
                if isinstance(message, JSONRPCRequest):
                    await self._wait_heard()
                return item
            if message is not None:
                return SessionMessage(message)

    async def aclose(self) -> None:
        """Close the transport's."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _wait_heard(self) -> None:
        """Wait until the server takes what it is told: nothing is asked by who does not listen."""
        while self._outlet.waiting >= UNHEARD_LIMIT:
            await self._outlet.moved.wait()

    def _judge(self, message: JSONRPCMessage) -> JSONRPCMessage | None:
        """The message, what stands for it, or None: it is left out."""
        match message:
            case JSONRPCResponse(id=id, result=result):
                if measure(result)[0] <= MOST_THINGS:
                    return message
                said = f"An answer of more than {MOST_THINGS:,} things is more than is taken in."
                self._say(said)
                error = ErrorData(code=INTERNAL_ERROR, message=said)
                return JSONRPCError(jsonrpc="2.0", id=id, error=error)
            case JSONRPCRequest(id=id, method=method, params=params):
                things, characters = measure(params)
                characters += len(method)
                if isinstance(id, str) and len(id) > ID_CHARACTERS:
                    self._say("A request whose id is too long is left out.")
                elif things > MOST_THINGS or characters > ASKED_CHARACTERS:
                    self._say("A request that is too large is left out.")
                else:
                    return message
                return None
            case JSONRPCNotification(params=params) if measure(params)[0] > MOST_THINGS:
                self._say("A notification that is too large is left out.")
                return None
            case _:
                return message


def measure(value: Any) -> tuple[int, int]:
    """How many maps and lists are in a value that was JSON, and how many characters of text.

    Of what is handed on as it is, nothing is counted but the text. It stops where there are
    too many of them.
    """
    things = characters = 0
    left: list[tuple[Any, bool]] = [(value, True)]
    while left and things <= MOST_THINGS:
        each, counts = left.pop()
        match each:
            case str():
                characters += len(each)
            case dict():
                things += counts
                characters += sum(map(len, each))
                left += [(one, counts and name not in AS_THEY_ARE) for name, one in each.items()]
            case list():
                things += counts
                left += [(one, counts) for one in each]
            case _:
                pass
    return things, characters
