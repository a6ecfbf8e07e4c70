"""One connection: reads requests, has them answered side by side, writes the answers.

One task reads and one writes; the requests in flight are counted. `hello` comes
first, within its time; a message must make progress. Whatever a peer sends, or
fails to read, ends at the most in this connection being closed. A turn is never
ended by it.
"""

import contextlib
import logging
import math
import os
from collections.abc import Callable, Coroutine
from typing import Any

import trio

from ask.protocol.errors import REASONS
from ask.protocol.frames import (
    BadFrame,
    FrameReader,
    Message,
    MessageTooLarge,
    Notification,
    Request,
    Response,
    encode_response,
)
from ask.protocol.messages import Map
from askd.errors import AskdError
from askd.server import wire
from askd.server.dispatch import Dispatch, Outcome
from askd.server.peer import Peer

RECEIVE_BYTES = 64 * 1024
HELLO_LIMIT_S = 2.0
"""From the connection until `hello` is whole."""
PROGRESS_LIMIT_S = 5.0
"""Within a message something must come this often, against a peer that drips bytes."""
MESSAGE_LIMIT_S = 60.0
"""For all of one message."""
REQUESTS_LIMIT = 32
"""Requests in flight: the next is read when an answer has been written."""
GRACE_S = 2.0
"""When the peer has said its last, requests in flight may take this long to be answered."""
FLUSH_S = 2.0
"""Then what is queued may take this long to be written."""
UNKNOWN_ID = 0
"""Answers a message whose id could not be read: MessagePack-RPC has no other place for that."""

log = logging.getLogger(__name__)


async def receive_some(stream: trio.abc.Stream) -> bytes | bytearray:
    """As the stream's own; of a socket without the first try, which mostly finds nothing yet."""
    if not isinstance(stream, trio.SocketStream):
        return await stream.receive_some(RECEIVE_BYTES)
    while True:
        await trio.lowlevel.wait_readable(stream.socket)
        data = receive_now(stream)
        if data is not None:
            return data


def receive_now(stream: trio.abc.Stream) -> bytes | None:
    """What has come already, of a socket; None: nothing, or nobody knows."""
    if not isinstance(stream, trio.SocketStream):
        return None
    try:
        return os.read(stream.socket.fileno(), RECEIVE_BYTES)
    except BlockingIOError:
        return None
    except OSError as error:
        raise trio.BrokenResourceError(f"The connection is broken: {error}") from error


class Connection:
    """A peer's stream and what is going on on it. `greeted` hears of it when it has said hello."""

    def __init__(
        self,
        stream: trio.abc.Stream,
        dispatch: Dispatch,
        *,
        greeted: Callable[["Connection"], None] = lambda connection: None,
    ) -> None:
        self.peer = Peer()
        self._stream = stream
        self._dispatch = dispatch
        self._tell_greeted = greeted
        self._is_new = True
        self._is_greeted = False
        self._slots = trio.Semaphore(REQUESTS_LIMIT)

    async def run(self) -> None:
        """Serve until the peer leaves, or must; the stream is closed then."""
        try:
            # Here live the writer and, within, the reader with its requests. The writer is
            # shielded, since a cancelled write leaves half a frame: it ends by its own limits.
            async with trio.open_nursery() as nursery:
                reading, writing = trio.CancelScope(), trio.CancelScope(shield=True)
                nursery.start_soon(self._write_all, reading, writing)
                try:
                    with reading:
                        await self._serve_requests()
                finally:
                    self.peer.leave()
                    self.peer.outbox.finish()
                    writing.deadline = trio.current_time() + FLUSH_S
        finally:
            await trio.aclose_forcefully(self._stream)

    async def _write_all(self, reading: trio.CancelScope, writing: trio.CancelScope) -> None:
        with writing:
            try:
                await self.peer.outbox.write_all(self._stream)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                # It left without reading all. What it said before it left is still heard: the
                # reader comes to the end of that by itself.
                reading.deadline = trio.current_time() + GRACE_S
                return
            except trio.TooSlowError:
                log.info("A client does not read and is disconnected: %s", self.peer.client)
        reading.cancel()

    async def _serve_requests(self) -> None:
        # Here live the requests in flight, and a face; once nobody is read, they get a grace.
        async with trio.open_nursery() as requests:
            self.peer.tasks = requests
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self._read_all(requests)
            # Nobody is there to follow anything any more, but a request that was sent before
            # the end of the input wants its answer: `printf ... | nc -U` is a client too.
            self.peer.leave()
            requests.cancel_scope.deadline = trio.current_time() + GRACE_S

    async def _read_all(self, requests: trio.Nursery) -> None:
        reader = FrameReader.for_daemon()
        hello_by = trio.current_time() + HELLO_LIMIT_S
        began = math.inf  # when the unfinished message did
        while True:
            deadline = math.inf
            if reader.unfinished:
                deadline = min(trio.current_time() + PROGRESS_LIMIT_S, began + MESSAGE_LIMIT_S)
            if not self._is_greeted:
                deadline = min(deadline, hello_by)
            data = await self._receive(deadline)
            if data is None:
                self._refuse(UNKNOWN_ID, "malformed", "A message did not come in time.")
                return
            if not data:
                return
            fault: BadFrame | None = None
            try:
                messages = reader.feed(data)
            except BadFrame as error:
                messages, fault = error.messages, error
            for number, message in enumerate(messages):
                if number:  # however many one peer asks at once, the others are heard between
                    await trio.lowlevel.checkpoint()
                if not await self._take(message, requests):
                    return
            if fault is not None:
                id = UNKNOWN_ID if fault.id is None else fault.id
                self._refuse(id, "malformed", f"Malformed message: {fault}.")
                return
            if not reader.unfinished:
                began = math.inf
            elif messages or began == math.inf:
                began = trio.current_time()

    async def _receive(self, deadline: float) -> bytes | bytearray | None:
        """Read some; None: nothing came in time."""
        if self._is_new:
            self._is_new = False
            # Whoever connects has mostly written before we are awake.
            data = receive_now(self._stream)
            if data is not None:
                return data
        if deadline == math.inf:
            return await receive_some(self._stream)
        with trio.move_on_at(deadline):
            return await receive_some(self._stream)
        return None

    async def _take(self, message: Message, requests: trio.Nursery) -> bool:
        """Start on one message; False: the connection is over."""
        match message:
            case Request(id=id, method=method, params=params) if not self._is_greeted:
                if method != "hello":
                    self._refuse(id, "hello_needed", "The first request must be hello.")
                    return False
                error, result = self._dispatch.greet(self.peer, params)
                self._post(id, error, result)
                if error is None or self.peer.foreign:
                    self._is_greeted = True
                    self._tell_greeted(self)
            case Request():
                if self._slots.value:
                    self._slots.acquire_nowait()
                else:
                    await self._slots.acquire()
                found = self._dispatch.answer(self.peer, message.method, message.params)
                if isinstance(found, Outcome):
                    self._send(message, found)
                else:
                    requests.start_soon(self._answer, message, found)
            case Notification(method=method):
                log.debug("A client's notification is passed over: %.40s", method)
            case Response(id=id):
                self._refuse(id, "malformed", "The daemon asks for nothing: an answer to what?")
                return False
        return True

    async def _answer(self, request: Request, found: Coroutine[Any, Any, Outcome]) -> None:
        try:
            outcome = await found
        except BaseException:
            self._slots.release()
            raise
        self._send(request, outcome)

    def _send(self, request: Request, outcome: Outcome) -> None:
        """Send an answer, and begin what follows from it: no checkpoint between."""
        answered = False
        try:
            with self.peer.outbox.together():
                if self._post(request.id, outcome.error, outcome.result, slot=True):
                    answered = True
                    if outcome.then is not None:
                        outcome.then()
        except Exception:
            log.exception("What followed from an answer failed: %.40s", request.method)
        finally:
            if not answered:
                self._slots.release()

    def _post(
        self, id: int, error: Map | None, result: Map | None = None, *, slot: bool = False
    ) -> bool:
        """Queue an answer; False: it could not be sent, and an error says so in its place."""
        fits = True
        try:
            frame = encode_response(id, error, result)
        except MessageTooLarge as fault:
            fits = False
            refusal = AskdError(f"The answer does not fit one message: {fault}.")
            frame = encode_response(id, wire.encode_error(refusal))
        self.peer.outbox.post(frame, on_sent=self._slots.release if slot and fits else None)
        return fits

    def _refuse(self, id: int, reason: str, message: str) -> None:
        error = {"code": REASONS[reason], "message": message, "data": {"reason": reason}}
        self.peer.outbox.post(encode_response(id, error))
