"""Lines of a face as messages of the SDK, and back.

Nonsense is answered and counted, and in the end left. Requests are let in while their
answers are read: whoever does not read gets no more of our memory. What a message asks
for is not looked at.
"""

from collections.abc import Callable
from typing import Any

import mcp_types as types
import trio
from mcp.shared.message import SessionMessage

from askd.server.mcp.channel import LINE_BYTES, Channel, TooLong
from askd.tools.mcp.lines import MOST_PIECES, is_overloaded

UNSAID_LIMIT = 256
"""Answers that nobody reads. The next request is refused, and that refusal waits with them: nothing
more is read until they are."""
NONSENSE_LIMIT = 100
"""Lines that are no message; whoever sends more of them does not speak MCP."""
LAST_S = 1.0
"""How long what was asked for may take once nothing more is said: a listing is answered."""


class Lines:
    """Both directions of one channel. `count_unsaid`: messages that wait to be said."""

    def __init__(self, channel: Channel, *, count_unsaid: Callable[[], int]) -> None:
        self._channel = channel
        self._count_unsaid = count_unsaid
        self._nonsense = 0
        self._awaited: set[str | int] = set()
        self._answered = trio.Event()

    async def read_all(self, to_server: Any) -> str | None:
        """Hand every message on until no more come; a sentence: why no more are read."""
        async with to_server, self._channel.lines as lines:
            async for line in lines:
                message = await self._decode(line)
                if message is None:
                    if self._nonsense >= NONSENSE_LIMIT:
                        return "What came was no MCP: one JSON-RPC message a line."
                    continue
                if await self._admit(message):
                    await to_server.send(SessionMessage(message=message))
            with trio.move_on_after(LAST_S):
                while self._awaited:
                    await self._answered.wait()
        return None

    async def _decode(self, line: bytes | TooLong) -> types.JSONRPCMessage | None:
        """One message; None: there is none in the line, and whoever sent it has been told."""
        if isinstance(line, TooLong):
            self._nonsense += 1
            said = f"A line has {LINE_BYTES >> 20} MiB at the most."
            await self._complain(types.INVALID_REQUEST, said)
            return None
        if not line.strip():
            return None
        if is_overloaded(line):
            self._nonsense += 1
            said = f"A message has {MOST_PIECES:,} things at the most."
            await self._complain(types.INVALID_REQUEST, said)
            return None
        try:
            return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._nonsense += 1
            await self._complain(types.PARSE_ERROR, "This line is no JSON-RPC message.")
            return None

    async def _admit(self, message: types.JSONRPCMessage) -> bool:
        """Whether a message is handed on; whoever does not read its answers gets no more tasks."""
        match message:
            case types.JSONRPCRequest(id=id) if id in self._awaited:
                said = "A request of this id has no answer yet."
                await self._complain(types.INVALID_REQUEST, said)
                return False
            case types.JSONRPCRequest(id=id) if self._count_unsaid() >= UNSAID_LIMIT:
                said = f"{UNSAID_LIMIT} answers wait to be read; read some of them."
                await self._complain(types.INVALID_REQUEST, said, id=id)
                return False
            case types.JSONRPCRequest(id=id):
                self._awaited.add(id)
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                cancelled = (params or {}).get("requestId")
                if isinstance(cancelled, str | int):  # such a one is never answered
                    self._awaited.discard(cancelled)
            case _:
                pass
        return True

    async def _complain(self, code: int, sentence: str, *, id: str | int | None = None) -> None:
        error = types.ErrorData(code=code, message=sentence)
        await self._say(types.JSONRPCError(jsonrpc="2.0", id=id, error=error))

    async def write_all(self, from_server: Any) -> None:
        """Say every message of the server's until its end."""
        async with from_server:
            async for each in from_server:
                await self._say(each.message)
                if isinstance(each.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._awaited.discard(each.message.id)
                    self._answered.set()
                    self._answered = trio.Event()

    async def _say(self, message: types.JSONRPCMessage) -> None:
        line = message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._channel.say(line.encode())
