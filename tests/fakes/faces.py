"""Clients of a face: the SDK's own over the real wire, and one that is only told and asked."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import trio
from mcp import ClientSession
from mcp.shared.message import SessionMessage

from askd.server.mcp.forms import Filled, Form
from tests.fakes.house import EndOfStream, PeerStream, Server

PIECE_BYTES = 40
"""Lines go in small pieces, so that every test puts some together."""


@dataclass
class Person:
    """Answers forms of the SDK's client in order; keeps what was shown."""

    answers: Sequence[types.ElicitResult | trio.Event] = ()
    shown: list[types.ElicitRequestFormParams] = field(default_factory=list)

    async def __call__(self, context: object, params: Any) -> types.ElicitResult:
        answer = self.answers[len(self.shown)]
        self.shown.append(params)
        if isinstance(answer, trio.Event):
            await answer.wait()
            return types.ElicitResult(action="cancel")
        return answer


class Wire:
    """Carries the SDK's messages to a face and back, as `ask mcp serve` does."""

    def __init__(self, peer: PeerStream) -> None:
        self.closed: str | None = None
        self._peer = peer
        self._answers: dict[int, trio.Event] = {}
        self._refusals: list[Any] = []
        self._line = b""

    async def read(self, to_client: Any) -> None:
        """Hand on every line of the face."""
        async with to_client:
            while True:
                try:
                    message = await self._peer.next()
                except (EndOfStream, trio.ClosedResourceError):
                    return
                if message[0] == 1:
                    self._refusals += [message[2]] if message[2] is not None else []
                    self._answers.pop(message[1]).set()
                    continue
                _, method, (params,) = message
                if method == "mcp/closed":
                    self.closed = params["message"]
                    return
                assert method == "mcp/message"
                self._line += params["bytes"]
                if not params["more"]:
                    line, self._line = self._line, b""
                    found = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await to_client.send(SessionMessage(message=found))

    async def write(self, from_client: Any) -> None:
        """Send every line of the client."""
        async with from_client:
            async for each in from_client:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                size = max(PIECE_BYTES, len(line) // 20)
                for start in range(0, len(line), size):
                    more = start + size < len(line)
                    await self.send(line[start : start + size], more=more)

    async def send(self, piece: bytes, *, more: bool = False) -> None:
        """Send a piece of a line, and wait until it was taken."""
        answered = trio.Event()
        id = await self._peer.send("mcp/send", {"bytes": piece, "more": more})
        self._answers[id] = answered
        await answered.wait()


@asynccontextmanager
async def open_face(
    server: Server,
    *,
    person: Person | None = None,
    name: str = "tester",
    peer: PeerStream | None = None,
    **wish: Any,
) -> AsyncIterator[ClientSession]:
    """The SDK's client of a face after the handshake; `peer`: on this connection."""
    peer = peer or await server.greet()
    await peer.call("mcp/open", wish)
    wire = Wire(peer)
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](0)
    # In it: both directions of the wire.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wire.read, to_client)
        nursery.start_soon(wire.write, from_client)
        async with ClientSession(
            incoming,
            outgoing,
            elicitation_callback=person,
            client_info=types.Implementation(name=name, version="1"),
        ) as session:
            await session.initialize()
            yield session
        nursery.cancel_scope.cancel()
    await peer.stream.aclose()


def texts_of(result: Any) -> list[str]:
    """What a model is told."""
    return [each.text for each in result.content]


@dataclass
class FakeAsker:
    """A client behind one call: `askd.server.mcp.asking.Asker`."""

    name: str = "mcp:fake"
    can_be_asked: bool = False
    has_left: bool = False
    answer: Callable[[Form], Filled | None] = lambda form: None
    reports: list[tuple[float, str]] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    never: bool = False

    async def report(self, progress: float, sentence: str) -> None:
        await trio.lowlevel.checkpoint()
        if self.reports:
            assert progress > self.reports[-1][0], "progress has to grow"
        self.reports.append((progress, sentence))

    async def put(self, form: Form) -> Filled | None:
        self.forms.append(form)
        await trio.lowlevel.checkpoint()
        if self.never:
            await trio.sleep_forever()
        return self.answer(form)
