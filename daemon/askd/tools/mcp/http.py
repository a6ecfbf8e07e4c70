"""A server at an address: MCP over streamable HTTP, by the SDK.

It opens the way and closes it, with the session at the server if there is one. What goes wrong
on the way is a sentence: of the call that it concerns, or of the journal if the session cannot
be begun at all.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.transports import Streams
from askd.tools.mcp.ways import HttpWay

EVENT_LIMIT_BYTES = 16 << 20
"""Of one event of a stream, which is one message: half of what a whole answer may hold."""


@asynccontextmanager
async def open_http(
    config: ServerConfig, *, journal: Journal, way: HttpWay
) -> AsyncIterator[Streams]:
    """Reach the server while the block runs; nothing is asked of it before the SDK does.

    Raises:
        CannotRun: its settings name a token that is not there, or `local_only` forbids the way.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from askd.tools.mcp.http_roads import Roads
    from askd.tools.mcp.http_wire import Wire

    assert config.url is not None
    way.learn(config)
    journal.hide = way.hide
    # Before anything is opened: what cannot be sent is said at once.
    way.find_proxy(config.name, config.url)
    await way.tokens.fetch(config)
    wire = Wire(config, Roads(config, way), way, fail=journal.end)
    async with (
        httpx2.AsyncClient(transport=wire, trust_env=False, timeout=None) as client,
        streamable_http_client(
            config.url, http_client=client, max_sse_event_size=EVENT_LIMIT_BYTES
        ) as streams,
    ):
        yield streams
