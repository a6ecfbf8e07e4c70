"""The reception: who is let in, how many at a time, and what became of them.

Only the daemon's own user is; a connection too many hears why. Whatever happens
on one connection stays there. Those that have yet to say hello are few, and the
silent ones among them make room, so that they cannot keep the others out.
"""

import logging
import os

import trio

from ask.protocol.errors import REASONS
from ask.protocol.frames import BadFrame, FrameReader, Request, encode_response
from askd.server.connection import UNKNOWN_ID, Connection
from askd.server.dispatch import Dispatch
from askd.server.house import House
from askd.server.listener import Door, read_peer, serve_door

CONNECTIONS_LIMIT = 128
"""Terminals, scripts and editors of one person; each may hold a few megabytes here."""
HANDSHAKES_LIMIT = 16
"""Connections that have not said hello yet."""
HANDSHAKE_PATIENCE_S = 0.05
"""How long the next one waits for a place: whoever has written hello is heard by then."""
SILENCE_S = 0.2
"""Those that have been silent this long make room if others wait."""
REFUSAL_S = 0.5
"""How long a connection too many may take to say which request it wants refused."""

log = logging.getLogger(__name__)


class Reception:
    """Everybody who is connected.

    Attributes:
        left_at: when the last client left, or when we began; in trio's time.
    """

    def __init__(self, *, uid: int | None = None) -> None:
        self.left_at = 0.0
        self._uid = os.geteuid() if uid is None else uid
        self._connections: set[Connection] = set()
        self._handshakes: dict[Connection, tuple[float, trio.CancelScope]] = {}
        self._refused = 0
        self._moved = trio.Event()

    def count_clients(self) -> int:
        """How many have said hello and are still there."""
        return len(self._connections) - len(self._handshakes)

    async def run(
        self,
        door: Door,
        house: House,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept and serve until cancelled; everyone's last frames are written then."""
        self.left_at = trio.current_time()
        dispatch = Dispatch(house)

        async def welcome(stream: trio.SocketStream) -> None:
            await self.welcome(stream, dispatch)

        task_status.started()
        await serve_door(door, welcome, admit=self.admit)

    async def admit(self) -> None:
        """Wait until one more connection may begin its handshake."""
        while len(self._handshakes) >= HANDSHAKES_LIMIT:
            with trio.move_on_after(HANDSHAKE_PATIENCE_S) as patience:
                await self._moved.wait()
            if patience.cancelled_caught:
                # All of them at once: whoever waits behind hundreds would wait for minutes.
                for since, scope in self._handshakes.values():
                    if trio.current_time() - since >= SILENCE_S:
                        scope.cancel()
                await trio.lowlevel.checkpoint()

    async def welcome(self, stream: trio.SocketStream, dispatch: Dispatch) -> None:
        """Serve one connection to its end. Raises nothing but cancellation."""
        try:
            pid, uid = read_peer(stream)
            if uid != self._uid:
                log.warning("A connection of another user is refused: uid=%d", uid)
                await self._refuse(stream, "not_permitted", "This daemon serves its own user only.")
            elif len(self._connections) >= CONNECTIONS_LIMIT:
                log.warning("A connection too many is refused: %d are open", CONNECTIONS_LIMIT)
                await self._refuse(
                    stream,
                    "too_many_connections",
                    f"The daemon has {CONNECTIONS_LIMIT} connections already; close some.",
                )
            else:
                await self._serve(stream, dispatch, pid=pid)
        except Exception:
            log.exception("A connection failed")
        finally:
            await trio.aclose_forcefully(stream)

    async def _serve(self, stream: trio.SocketStream, dispatch: Dispatch, *, pid: int) -> None:
        connection = Connection(stream, dispatch, greeted=self._end_handshake)
        connection.peer.pid = pid
        self._connections.add(connection)
        with trio.CancelScope() as scope:
            self._handshakes[connection] = (trio.current_time(), scope)
            try:
                await connection.run()
            finally:
                self._connections.discard(connection)
                self._end_handshake(connection)
                self.left_at = trio.current_time()

    def _end_handshake(self, connection: Connection) -> None:
        self._handshakes.pop(connection, None)
        self._moved.set()
        self._moved = trio.Event()

    async def _refuse(self, stream: trio.SocketStream, reason: str, message: str) -> None:
        """Answer the first request, if it comes soon, with why it will not be served."""
        if self._refused >= HANDSHAKES_LIMIT:
            return
        self._refused += 1
        try:
            with trio.move_on_after(REFUSAL_S):
                id = await _read_first_id(stream)
                error = {"code": REASONS[reason], "message": message, "data": {"reason": reason}}
                await stream.send_all(encode_response(id, error))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it did not wait for the answer
        finally:
            self._refused -= 1


async def _read_first_id(stream: trio.SocketStream) -> int:
    reader = FrameReader.for_daemon()
    while data := await stream.receive_some(4096):
        try:
            messages = reader.feed(data)
        except BadFrame as error:
            return UNKNOWN_ID if error.id is None else error.id
        for message in messages:
            if isinstance(message, Request):
                return message.id
    return UNKNOWN_ID
