"""A scripted OpenAI Chat Completions server on loopback that enforces the vendor's rules.

It never repairs a request: one that breaks the pairing rules, has no messages or
the wrong key is refused in the vendor's words and kept in `violations`. In a
test: `async with open_chat_server() as server:`; for real processes:
`python -m tests.fakes.chat_server`, which prints its base URL as one line.

Beside `POST /v1/chat/completions` and `GET /v1/models` it answers under
`/v1/control/`: `GET requests`, `GET violations`, `GET disconnects` (answers that
clients walked away from) - each waits for `?at_least=N` - and `POST release`.
"""

import argparse
import json
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
import trio

from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer, Drop, Hold, Json, Pause, Status, Step

DEFAULT_INTERVAL_S = 0.05
READ_BYTES = 1 << 20


class ChatServer:
    """The server's state; `serve` is one connection.

    Attributes:
        base_url: what a client is configured with, `http://127.0.0.1:PORT/v1`.
        requests: every completion request that was let in, as parsed bodies, in order.
        headers: their headers, names in lower case.
        violations: the vendor's words for every request that was refused.
        disconnects: how many running answers their client walked away from.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        models: Sequence[str] = ("fake", "fake-large"),
        interval_s: float = DEFAULT_INTERVAL_S,
        context_bytes: int | None = None,
    ) -> None:
        self.base_url = ""
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.disconnects = 0
        self._api_key = api_key
        self._models = models
        self._interval_s = interval_s
        self._context_bytes = context_bytes
        self._scripted: deque[Answer] = deque()
        self._failed: set[str] = set()
        self._gate = trio.Event()
        self._changed = trio.Event()

    def script(self, *answers: Answer) -> None:
        """Use these answers for the next requests, before any word in a prompt counts."""
        self._scripted.extend(answers)

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
        path = target.path.removeprefix("/v1")
        if path.startswith("/control/"):
            return await self._control(path.removeprefix("/control/"), target.query)
        headers = {name.decode(): value.decode() for name, value in request.headers}
        expected = None if self._api_key is None else f"Bearer {self._api_key}"
        if expected is not None and headers.get("authorization") != expected:
            return self._refuse(
                chat_answers.error(401, "Incorrect API key provided: ***.", kind="invalid_api_key")
            )
        match request.method, path:
            case b"GET", "/models":
                models = [{"id": name, "object": "model"} for name in self._models]
                return _json({"object": "list", "data": models})
            case b"POST", "/chat/completions":
                return self._complete(headers, body)
            case _:
                return chat_answers.error(404, f"Invalid URL ({request.method.decode()} {path})")

    def _complete(self, headers: dict[str, str], body: bytes) -> Answer:
        try:
            parsed = json.loads(body)
        except ValueError:
            return self._refuse(chat_answers.error(400, "We could not parse the JSON body."))
        refusal = chat_answers.find_violation(parsed)
        if refusal is not None:
            return self._refuse(refusal)
        self.requests.append(parsed)
        self.headers.append(headers)
        self._notify()
        if self._scripted:
            return self._scripted.popleft()
        if str(parsed.get("model")).startswith("missing"):
            text = f"The model `{parsed['model']}` does not exist or you do not have access to it."
            return chat_answers.error(404, text, kind="model_not_found")
        if self._context_bytes is not None and len(body) > self._context_bytes:
            text = (
                f"This model's maximum context length is {self._context_bytes // 4} tokens. "
                f"However, your messages resulted in {len(body) // 4} tokens."
            )
            return chat_answers.error(400, text, param="messages", kind="context_length_exceeded")
        prompt = chat_answers.last_prompt(parsed)
        seen = prompt in self._failed
        self._failed.add(prompt)
        return chat_answers.choose_answer(
            parsed, len(body), interval=self._interval_s, failed_before=seen
        )

    async def _control(self, name: str, query: str) -> Status:
        if name == "release":
            self.release()
            return _json({})
        if name not in ("requests", "violations", "disconnects"):
            return chat_answers.error(404, f"There is no control {name!r}.")
        count = int(parse_qs(query).get("at_least", ["0"])[0])
        return _json(await self.wait_for(name, count))

    def _refuse(self, status: Status) -> Status:
        self.violations.append(json.loads(status.body)["error"]["message"])
        self._notify()
        return status

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
        headers = [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]
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


def _json(value: Any) -> Status:
    return Status(200, json.dumps(value).encode())


@asynccontextmanager
async def open_chat_server(
    *,
    api_key: str | None = None,
    models: Sequence[str] = ("fake", "fake-large"),
    interval_s: float = DEFAULT_INTERVAL_S,
    context_bytes: int | None = None,
    port: int = 0,
    unix_socket: str | None = None,
) -> AsyncIterator[ChatServer]:
    """Run a server while the block runs; its connections are cut at the end.

    Args:
        api_key: refuse every other one; None: take anybody.
        interval_s: the pace of SLOW.
        context_bytes: refuse larger bodies as exceeding the context; None: never.
        port: 0 for any free one.
        unix_socket: listen on this path and not on a port.
    """
    server = ChatServer(
        api_key=api_key, models=models, interval_s=interval_s, context_bytes=context_bytes
    )
    if unix_socket is None:
        listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
        server.base_url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
    else:
        bound = trio.socket.socket(trio.socket.AF_UNIX)
        await bound.bind(unix_socket)
        bound.listen()
        listeners = [trio.SocketListener(bound)]
        server.base_url = "http://localhost/v1"
    # The connections live here; the end of the block ends them.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, server.serve, listeners)
        yield server
        nursery.cancel_scope.cancel()


async def _run(options: argparse.Namespace) -> None:
    async with open_chat_server(
        api_key=options.api_key,
        models=options.model or ("fake", "fake-large"),
        interval_s=options.interval,
        context_bytes=options.context_bytes,
        port=options.port,
    ) as server:
        print(server.base_url, flush=True)
        if options.watch_stdin:
            await trio.lowlevel.wait_readable(sys.stdin)
        else:
            await trio.sleep_forever()


def main() -> None:
    """Serve until killed, or until standard input closes with `--watch-stdin`."""
    parser = argparse.ArgumentParser(description="A scripted OpenAI-Chat server on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default=os.environ.get("FAKE_API_KEY"))
    parser.add_argument("--model", action="append", help="offer this model; may be repeated")
    parser.add_argument("--interval", type=float, default=DEFAULT_INTERVAL_S)
    parser.add_argument("--context-bytes", type=int)
    parser.add_argument("--watch-stdin", action="store_true", help="end when stdin closes")
    trio.run(_run, parser.parse_args())


if __name__ == "__main__":
    main()
