"""The part of a scripted HTTP server that knows no vendor: connections, steps, control.

`ScriptedServer.answer_request` is what a vendor's server fills in; everything here
is the same for all of them. It never repairs a request and never retries a send.

Under `control/` beside the vendor's own paths: `GET requests`, `GET violations`,
`GET disconnects` (answers that clients walked away from) - each waits for
`?at_least=N` - and `POST release`.
"""

import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
import trio

from tests.fakes.chat_answers import Answer, Drop, Hold, Json, Pause, Status, Step

READ_BYTES = 1 << 20


class ScriptedServer(ABC):
    """The server's state; `serve` is one connection.

    Attributes:
        base_url: what a client is configured with.
        requests: every completion request that was let in, as parsed bodies, in order.
        headers: their headers, names in lower case.
        violations: the vendor's words for every request that was refused.
        disconnects: how many running answers their client walked away from.
        connections: how many were opened.
    """

    prefix = "/v1"
    """The path of `base_url`; every path of the vendor follows it."""

    stream_type = "text/event-stream"

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.disconnects = 0
        self.connections = 0
        self._scripted: deque[Answer] = deque()
        self._gate = trio.Event()
        self._changed = trio.Event()

    @abstractmethod
    async def answer_request(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        """What one request is answered with. `path` is without the prefix and the query."""

    def script(self, *answers: Answer) -> None:
        """Use these answers for the next requests, before any word in a prompt counts."""
        self._scripted.extend(answers)

    def take_scripted(self) -> Answer | None:
        """The next scripted answer, if there is one."""
        return self._scripted.popleft() if self._scripted else None

    def let_in(self, headers: dict[str, str], parsed: Json) -> None:
        """Keep a request that broke no rule."""
        self.requests.append(parsed)
        self.headers.append(headers)
        self._notify()

    def refuse(self, status: Status) -> Status:
        """Keep the words of a refusal, and answer with it."""
        self.violations.append(read_words(status.body))
        self._notify()
        return status

    def release(self) -> None:
        """Let every held answer go on; one that starts later holds again."""
        self._gate.set()
        self._gate = trio.Event()

    async def wait_for(self, name: str, count: int) -> Any:
        """Wait until `requests`, `violations` or `disconnects` has reached `count`."""
        while True:
            value = getattr(self, name)
            if (value if isinstance(value, int) else len(value)) >= count:
                return value
            await self._changed.wait()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer one connection's requests until it closes or breaks."""
        self.connections += 1
        connection = h11.Connection(h11.SERVER)
        try:
            async with stream:
                while await self._serve_one(connection, stream):
                    connection.start_next_cycle()
        except (trio.BrokenResourceError, h11.RemoteProtocolError):
            return  # the client's business

    async def _serve_one(self, connection: h11.Connection, stream: trio.SocketStream) -> bool:
        """One request and its answer; False when the connection is used up."""
        request: h11.Request | None = None
        body = bytearray()
        while True:
            match connection.next_event():
                case h11.Request() as request:
                    pass
                case h11.Data(data=data):
                    body += data
                case h11.NEED_DATA:
                    connection.receive_data(await stream.receive_some(READ_BYTES))
                case h11.EndOfMessage():
                    break
                case _:
                    return False
        assert request is not None
        answer = await self._answer(request, bytes(body))
        gate = self._gate
        if isinstance(answer, Status):
            await _send_status(connection, stream, answer)
        elif not await self._stream(connection, stream, answer, gate):
            return False
        return connection.our_state is h11.DONE and connection.their_state is h11.DONE

    async def _answer(self, request: h11.Request, body: bytes) -> Answer:
        target = urlsplit(request.target.decode())
        path = target.path.removeprefix(self.prefix)
        if path.startswith("/control/"):
            return await self._control(path.removeprefix("/control/"), target.query)
        headers = {name.decode(): value.decode() for name, value in request.headers}
        return await self.answer_request(request.method.decode(), path, headers, body)

    async def _control(self, name: str, query: str) -> Status:
        if name == "release":
            self.release()
            return as_json({})
        if name not in ("requests", "violations", "disconnects"):
            return as_json({"error": f"There is no control {name!r}."}, 404)
        count = int(parse_qs(query).get("at_least", ["0"])[0])
        return as_json(await self.wait_for(name, count))

    def _notify(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _stream(
        self,
        connection: h11.Connection,
        stream: trio.SocketStream,
        steps: Sequence[Step],
        gate: trio.Event,
    ) -> bool:
        """Send an answer; False when it was dropped or its client went away."""
        headers = [("Content-Type", self.stream_type), ("Transfer-Encoding", "chunked")]
        whole = False
        # Two live here: the sender, who ends it, and the watcher of the client's side.
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                data = b""
                with suppress(trio.BrokenResourceError):
                    data = await stream.receive_some(READ_BYTES)
                if data:  # the next request already: the client has all of this answer
                    connection.receive_data(data)
                    return
                self.disconnects += 1
                self._notify()
                nursery.cancel_scope.cancel()

            nursery.start_soon(watch)
            # Who leaves while it is sent is counted by the watcher, if it was faster.
            with suppress(trio.BrokenResourceError):
                await _send(connection, stream, h11.Response(status_code=200, headers=headers))
                for step in steps:
                    match step:
                        case bytes():
                            await _send(connection, stream, h11.Data(data=step))
                        case Pause(seconds=seconds):
                            await trio.sleep(seconds)
                        case Hold():
                            await gate.wait()
                        case Drop():
                            await stream.send_all(b"40\r\ndata: {")
                            break
                else:
                    await _send(connection, stream, h11.EndOfMessage())
                    whole = True
            nursery.cancel_scope.cancel()
        return whole


async def _send(connection: h11.Connection, stream: trio.SocketStream, event: h11.Event) -> None:
    data = connection.send(event)
    if data:
        await stream.send_all(data)


async def _send_status(
    connection: h11.Connection, stream: trio.SocketStream, status: Status
) -> None:
    kind = "text/html" if status.body.startswith(b"<") else "application/json"
    headers = {"Content-Type": kind, "Content-Length": str(len(status.body)), **status.headers}
    response = h11.Response(status_code=status.code, headers=list(headers.items()))
    await _send(connection, stream, response)
    await _send(connection, stream, h11.Data(data=status.body))
    await _send(connection, stream, h11.EndOfMessage())


def read_words(body: bytes) -> str:
    """The sentence in an error's body, in any vendor's shape."""
    try:
        error = json.loads(body)
    except ValueError:
        return body.decode().strip()
    error = error.get("error", error)
    return str(error["message"] if isinstance(error, dict) else error)


def as_json(value: Any, code: int = 200) -> Status:
    """A value as a whole response."""
    return Status(code, json.dumps(value).encode())


@asynccontextmanager
async def open_server(
    server: ScriptedServer, *, port: int = 0, unix_socket: str | None = None
) -> AsyncIterator[None]:
    """Run a server while the block runs; its connections are cut at the end.

    Args:
        port: 0 for any free one.
        unix_socket: listen on this path and not on a port.
    """
    if unix_socket is None:
        listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
        server.base_url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}{server.prefix}"
    else:
        bound = trio.socket.socket(trio.socket.AF_UNIX)
        await bound.bind(unix_socket)
        bound.listen()
        listeners = [trio.SocketListener(bound)]
        server.base_url = f"http://localhost{server.prefix}"
    # The connections live here; the end of the block ends them.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, server.serve, listeners)
        yield
        nursery.cancel_scope.cancel()
