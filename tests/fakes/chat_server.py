"""A scripted OpenAI Chat Completions server on loopback that enforces the vendor's rules.

It never repairs a request: one that breaks the pairing rules, has no messages or
the wrong key is refused in the vendor's words and kept in `violations`. In a
test: `async with open_chat_server() as server:`; for real processes:
`python -m tests.fakes.chat_server`, which prints its base URL as one line.

Beside `POST /v1/chat/completions` and `GET /v1/models` it answers what
`scripted_server` offers under `/v1/control/`.
"""

import argparse
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio

from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer
from tests.fakes.scripted_server import ScriptedServer, as_json, open_server

DEFAULT_INTERVAL_S = 0.05


class ChatServer(ScriptedServer):
    """The vendor's part of the server: what is let in, and what is answered."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        models: Sequence[str] = ("fake", "fake-large"),
        interval_s: float = DEFAULT_INTERVAL_S,
        context_bytes: int | None = None,
    ) -> None:
        super().__init__()
        self._api_key = api_key
        self._models = models
        self._interval_s = interval_s
        self._context_bytes = context_bytes
        self._failed: set[str] = set()

    async def answer_request(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        """A completion, the models, or an error."""
        expected = None if self._api_key is None else f"Bearer {self._api_key}"
        if expected is not None and headers.get("authorization") != expected:
            return self.refuse(
                chat_answers.error(401, "Incorrect API key provided: ***.", kind="invalid_api_key")
            )
        match method, path:
            case "GET", "/models":
                models = [{"id": name, "object": "model"} for name in self._models]
                return as_json({"object": "list", "data": models})
            case "POST", "/chat/completions":
                return self._complete(headers, body)
            case _:
                return chat_answers.error(404, f"Invalid URL ({method} {path})")

    def _complete(self, headers: dict[str, str], body: bytes) -> Answer:
        try:
            parsed = json.loads(body)
        except ValueError:
            return self.refuse(chat_answers.error(400, "We could not parse the JSON body."))
        refusal = chat_answers.find_violation(parsed)
        if refusal is not None:
            return self.refuse(refusal)
        self.let_in(headers, parsed)
        scripted = self.take_scripted()
        if scripted is not None:
            return scripted
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
    async with open_server(server, port=port, unix_socket=unix_socket):
        yield server


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
