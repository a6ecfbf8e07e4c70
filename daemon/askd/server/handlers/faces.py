"""Faces: this daemon as a server of MCP on one connection, opened, spoken to, closed.

What is said on it, and in whose name, is the face's own affair; nothing that comes in a
line can raise here.
"""

import logging
import os
from collections.abc import Awaitable, Callable

import trio

from ask.protocol.messages import Done, McpOpen, McpSend
from askd.errors import AskdError, NotConfigured, RequestError
from askd.processes.descendants import descends
from askd.server.house import House
from askd.server.mcp.channel import Channel
from askd.server.peer import Peer

CLOSE_S = 5.0
"""The longest that closing waits for the face's end: what still runs goes on without it."""
NOT_INSTALLED = 'MCP needs a part that is not installed: pip install "askd[mcp]"'
FAILED = "The face failed; the daemon's log says why: ask daemon logs"

Serve = Callable[..., Awaitable[str | None]]

log = logging.getLogger(__name__)


async def open_face(house: House, peer: Peer, params: McpOpen) -> Done:
    """Make this connection a face; lines go by `mcp/send` and come as `mcp/message`."""
    if peer.face is not None and not peer.face.is_over:
        raise RequestError("mcp/open: this connection has a face already.")
    if peer.tasks is None:
        raise RequestError("mcp/open: this connection cannot have a face.")
    channel = peer.face = Channel(peer.outbox)
    try:
        # In a thread: the SDK takes most of a second to load, and nobody else should wait.
        serve = await trio.to_thread.run_sync(_load)
    except BaseException:
        peer.face = None
        raise
    is_inner = peer.pid is not None and descends(peer.pid, os.getpid())
    peer.tasks.start_soon(_run, serve, house, channel, params, is_inner)
    return Done()


async def send(house: House, peer: Peer, params: McpSend) -> Done:
    """Take a piece of a line; the answer comes when the next may be sent."""
    await _find(peer).take(params.bytes, more=params.more)
    return Done()


async def close(house: House, peer: Peer, params: object) -> Done:
    """No more lines come; answered when the face has ended. Turns that it asked for go on."""
    channel = _find(peer)
    channel.close()
    with trio.move_on_after(CLOSE_S):
        await channel.ended.wait()
    channel.leave()
    return Done()


def _find(peer: Peer) -> Channel:
    if peer.face is None:
        raise RequestError("This connection has no face; mcp/open opens one.", reason="no_face")
    return peer.face


def _load() -> Serve:
    try:
        from askd.server.mcp.face import serve_face
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("askd", ""):
            raise
        raise NotConfigured(NOT_INSTALLED) from None
    return serve_face


async def _run(
    serve: Serve, house: House, channel: Channel, params: McpOpen, is_inner: bool
) -> None:
    """A face's whole life. Raises nothing but cancellation: its connection stays."""
    why: str | None = None
    try:
        with channel.scope:
            why = await serve(house, channel, params, is_inner=is_inner)
    except AskdError as error:
        why = error.message
    except Exception:
        log.exception("A face failed")
        why = FAILED
    finally:
        channel.end(why)
