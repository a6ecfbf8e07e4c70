"""A server of tools in memory, below the SDK's session: it answers what a test says.

It is a transport (`OpenTransport`), so that whatever holds sessions can be tested without a
process and on a clock that jumps. It keeps what it was sent, and never repairs anything.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import trio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal

Map = dict[str, Any]
Answering = Callable[[Map], Awaitable[Map]]

OBJECT: Map = {"type": "object", "properties": {}}


class Refusal(Exception):
    """Raised by what answers: an error of the protocol, with these words."""


class MemoryServer:
    """One server, which can be opened over and over.

    Attributes:
        answers: by method; what is not there has a usual answer.
        tools: names and descriptions.
        received: all that was sent to it, over all its sessions.
        opened: how often it was.
        trouble: raised when it is opened.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answering] = {}
        self.tools = {"echo": "Say the same."}
        self.capabilities: Map = {"tools": {}, "resources": {}, "prompts": {}}
        self.received: list[Map] = []
        self.opened = 0
        self.closed = 0
        self.trouble: Exception | None = None
        self.journal: Journal | None = None
        self._out: anyio.abc.ObjectSendStream[SessionMessage | Exception] | None = None
        self._waiting: dict[str, tuple[trio.Event, list[Map]]] = {}

    @asynccontextmanager
    async def open(
        self, config: ServerConfig, *, journal: Journal
    ) -> AsyncIterator[tuple[Any, Any]]:
        """As `OpenTransport`."""
        self.opened += 1
        if self.trouble is not None:
            raise self.trouble
        self.journal = journal
        self._out, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
        async with self._out, incoming, outgoing, sent, trio.open_nursery() as nursery:
            nursery.start_soon(self._serve, sent, nursery)
            try:
                yield incoming, outgoing
            finally:
                self.closed += 1
                nursery.cancel_scope.cancel()

    def methods(self) -> list[str]:
        """What was asked and told, in order."""
        return [each["method"] for each in self.received if "method" in each]

    async def send(self, **message: Any) -> None:
        """Send a message of any kind."""
        assert self._out is not None
        parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
        await self._out.send(SessionMessage(parsed))

    async def ask(self, id: str, method: str, **params: Any) -> Map:
        """Ask the client something; its whole answer."""
        arrived: tuple[trio.Event, list[Map]] = (trio.Event(), [])
        self._waiting[id] = arrived
        await self.send(id=id, method=method, params=params)
        await arrived[0].wait()
        return arrived[1][0]

    async def end(self, sentence: str) -> None:
        """End as a program does: the reason is known, and then the way is closed."""
        assert self.journal is not None
        assert self._out is not None
        self.journal.end(sentence)
        await self._out.aclose()

    async def _serve(self, sent: Any, nursery: trio.Nursery) -> None:
        async for each in sent:
            message = each.message.model_dump(by_alias=True, exclude_unset=True, mode="json")
            self.received.append(message)
            if "method" not in message:
                arrived, slot = self._waiting.pop(message["id"])
                slot.append(message)
                arrived.set()
            elif "id" in message:
                nursery.start_soon(self._answer, message)

    async def _answer(self, message: Map) -> None:
        method, params = message["method"], message.get("params", {})
        answer = self.answers.get(method)
        try:
            result = self._find_usual(method) if answer is None else await answer(params)
        except Refusal as error:
            refusal = {"code": -32000 - 99, "message": str(error)}
            await self.send(id=message["id"], error=refusal)
        else:
            await self.send(id=message["id"], result=result)

    def _find_usual(self, method: str) -> Map:
        match method:
            case "initialize":
                return {
                    "protocolVersion": "2025-06-18",
                    "capabilities": self.capabilities,
                    "serverInfo": {"name": "memory", "version": "1.0"},
                }
            case "tools/list":
                return {
                    "tools": [
                        {"name": name, "description": said, "inputSchema": OBJECT}
                        for name, said in self.tools.items()
                    ]
                }
            case "tools/call":
                return {"content": [{"type": "text", "text": "called"}]}
            case _:
                raise Refusal(f"no method {method}")


async def hang(params: Map) -> Map:
    """What never answers."""
    await trio.sleep_forever()
    raise AssertionError
