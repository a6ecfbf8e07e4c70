"""Servers of tools, for people: how each is, a start to see it by, what it wrote.

What a server says of itself goes on as it came, bounded; a client shows it as words of
others. No answer holds an address, an argument, a variable or a header of the settings.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ask.protocol.messages import (
    Empty,
    McpLogs,
    McpPage,
    McpRecord,
    McpRef,
    McpTestResult,
    McpTool,
)
from askd.errors import NotFound, ServerFailed
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer
from askd.tools.base import CannotRun
from askd.tools.mcp.base import ServerState, ServerTool
from askd.tools.mcp.names import name_tool

TOOLS_LIMIT = 500
"""Tools of one answer: with what is said of each it stays well below a message's limit."""
DESCRIPTION_CHARACTERS = 400
"""A first sentence that is longer is not read to its end."""
SAID_CHARACTERS = 2_000
"""Of a version or an error, which a server may make as long as it likes."""
LOG_BYTES = 256 * 1024
TAIL_LINES = 20
"""Of a server that failed: what it said last is why."""
TAIL_BYTES = 16 * 1024


def list_all(house: House, peer: Peer, params: Empty) -> McpPage:
    """Every configured server, as it is."""
    offered = _find_offered(house)
    return McpPage(data=[_describe(each, offered) for each in house.servers.states()])


async def test(house: House, peer: Peer, params: McpRef) -> McpTestResult:
    """Start a server, or ask it anew if it runs, and say how it is."""
    _check(house, params.server)
    with _say_why():
        state = await house.servers.check(params.server)
    offered = _find_offered(house)
    log = "" if state.error is None else _read_tail(house, params.server)
    return McpTestResult(
        server=_describe(state, offered),
        data=[
            McpTool(
                name=name_tool(each.server, each.name),
                description=each.description[:DESCRIPTION_CHARACTERS],
                offered=_is_offered(each, offered),
            )
            for each in state.tools[:TOOLS_LIMIT]
        ],
        log=log,
    )


def read_log(house: House, peer: Peer, params: McpRef) -> McpLogs:
    """The end of what a server wrote; empty if it was never started, or runs elsewhere."""
    _check(house, params.server)
    with _say_why():
        return McpLogs(text=_cut(house.servers.read_log(params.server), LOG_BYTES))


@contextmanager
def _say_why() -> Iterator[None]:
    try:
        yield
    except CannotRun as error:
        raise ServerFailed(str(error)[:SAID_CHARACTERS]) from None


def _check(house: House, server: str) -> None:
    if all(each.name != server for each in house.servers.states()):
        raise NotFound(
            f"There is no server of tools named {server[:SAID_CHARACTERS]!r}; see `ask mcp list`.",
            reason="server_not_found",
        )


def _describe(state: ServerState, offered: frozenset[str]) -> McpRecord:
    return wire.describe(
        McpRecord,
        state,
        tools=len(state.tools),
        offered=sum(_is_offered(each, offered) for each in state.tools),
        version=None if state.version is None else state.version[:SAID_CHARACTERS],
        error=None if state.error is None else state.error[:SAID_CHARACTERS],
    )


def _find_offered(house: House) -> frozenset[str]:
    return frozenset(each.name for each in house.servers.tools())


def _is_offered(tool: ServerTool, offered: frozenset[str]) -> bool:
    return name_tool(tool.server, tool.name) in offered


def _read_tail(house: House, server: str) -> str:
    """The last lines of it; a server that cannot be asked wrote nothing."""
    try:
        text = house.servers.read_log(server)
    except CannotRun:
        return ""
    return "".join(_cut(text, TAIL_BYTES).splitlines(keepends=True)[-TAIL_LINES:])


def _cut(text: str, limit: int) -> str:
    """The end of it, in bytes of UTF-8; what was cut in the middle of a character is gone."""
    return text.encode("utf-8", "replace")[-limit:].decode("utf-8", "ignore")
