"""All six dialects at once: the real providers' room on strict servers in memory.

A request goes the whole way: sessions, driver, completion, models, codec, transport,
httpx. What arrives is kept as bytes before the vendor's rules are asked; no socket is
opened, so that a test costs milliseconds. The embedded model has no process here: its
server is the strict OpenAI-Chat one, which is what it speaks.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import httpx
import trio
from hypothesis import settings

from askd.providers.base import Dialect, Endpoint, Progress
from askd.providers.http.transport import Transport
from askd.providers.local import PROVIDER, LocalConfig, LocalModel
from askd.providers.models.limits import ModelConfig
from askd.providers.models.registry import Models, ProviderConfig
from askd.tools.base import Tool
from tests.fakes.chat_answers import Answer, Status, chunk, usage
from tests.fakes.chat_answers import call as call_tool
from tests.fakes.chat_answers import say as say_words
from tests.fakes.chat_server import ChatServer
from tests.fakes.log import FakeStore
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.sessions import Room, open_room
from tests.fakes.vendor import Said
from tests.fakes.vendors import VENDORS, VendorServer

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

WINDOW = 1_000_000
"""Tokens; what is tested here is not the size of a request."""

COMPLETIONS = ("/chat/completions", "/responses", "/messages", "/api/chat")

QUICKLY = settings(derandomize=True, deadline=None, max_examples=120)
"""The same cases each time, few enough for a room that is quick."""


class Embedded(LocalModel):
    """The embedded model without its process: `base_url` is where it would serve."""

    base_url = ""

    def find_missing(self) -> str | None:
        """Nothing."""
        return None

    @asynccontextmanager
    async def use(self, progress: Progress) -> AsyncIterator[Endpoint]:
        """The endpoint, as the real one makes it."""
        yield Endpoint(provider=PROVIDER, base_url=self.base_url, api_key="k", account=self.name)


@dataclass(slots=True)
class Line:
    """The way to one provider.

    Attributes:
        bodies: every completion request that arrived, whether it was let in or not.
        broken: answers to give in place of the server's, one per request.
        hanging: requests are taken, and never answered.
        script: sees each request before its answer, and may say what that is.
    """

    dialect: Dialect
    server: ScriptedServer
    model: str
    bodies: list[bytes] = field(default_factory=list)
    broken: list[Status] = field(default_factory=list)
    hanging: bool = False
    script: Callable[["Line", bytes], None] | None = None

    def say(
        self,
        words: str = "so",
        *,
        thought: str = "",
        call: tuple[str, str, str] | None = None,
        tokens: int = 10,
    ) -> None:
        """Answer the next request with words, or with a thought and a call: id, name, arguments.

        `tokens` is what its prompt is said to have had.
        """
        if isinstance(self.server, VendorServer):
            texts = () if call else (words,)
            stop: Literal["calls", "end"] = "calls" if call else "end"
            said = Said(texts=texts, thought=thought, call=call, stop=stop, input_tokens=tokens)
            self.server.say(said)
            return
        thinks = [chunk({"reasoning_content": thought})] if thought else []
        steps = call_tool(*call) if call else say_words(words)
        counted = [usage(prompt=tokens) if each == usage() else each for each in steps]
        self.server.script([*thinks, *counted])


@dataclass(slots=True)
class Wires:
    """Every line, by dialect, and the models behind them."""

    lines: dict[Dialect, Line]
    models: Models

    def find_violations(self) -> list[str]:
        """What any of the vendors has refused, in its words."""
        return [words for line in self.lines.values() for words in line.server.violations]

    def count(self) -> int:
        """How many requests have arrived."""
        return sum(len(line.bodies) for line in self.lines.values())


class _Network(httpx.AsyncBaseTransport):
    """Carries requests to the server that has their port."""

    def __init__(self, lines: dict[int, Line]) -> None:
        self._lines = lines

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        line = self._lines[request.url.port or 0]
        path = request.url.path.removeprefix(line.server.prefix)
        body = await request.aread()
        if path in COMPLETIONS:
            line.bodies.append(body)
            if line.broken:
                return _write_response(line.broken.pop(0), "application/json")
            if line.hanging:
                await trio.sleep_forever()
            if line.script is not None:
                line.script(line, body)
        headers = {name.lower(): value for name, value in request.headers.items()}
        answer = await line.server.answer_request(request.method, path, headers, body)
        return _write_response(answer, line.server.stream_type)


def _write_response(answer: Answer, stream_type: str) -> httpx.Response:
    if isinstance(answer, Status):
        return httpx.Response(answer.code, headers=answer.headers, stream=_Body(answer.body))
    content = b"".join(step for step in answer if isinstance(step, bytes))
    return httpx.Response(200, headers={"content-type": stream_type}, stream=_Body(content))


class _Body(httpx.AsyncByteStream):
    """A body that comes in one piece."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


@contextmanager
def lay_wires(
    *, key: str = "k", window: int = WINDOW, reserved: int | None = None
) -> Iterator[Wires]:
    """Six providers, named `my-DIALECT`, and the embedded model.

    Args:
        key: everybody's.
        window, reserved: of every model, in tokens; of it, for the answer.
    """
    limits = ModelConfig(context_window=window, max_output_tokens=reserved)
    embedded = Embedded(LocalConfig(context_tokens=window))
    lines: dict[int, Line] = {}
    providers: list[ProviderConfig] = []
    for port, dialect in enumerate(DIALECTS, start=1001):
        server: ScriptedServer = (
            VendorServer(VENDORS[dialect](), api_key=None) if dialect in VENDORS else ChatServer()
        )
        server.base_url = f"http://127.0.0.1:{port}{server.prefix}"
        name = f"my-{dialect}/fake"
        if dialect == "local":
            embedded.base_url, name = server.base_url, f"{PROVIDER}/{embedded.name}"
        else:
            providers.append(_configure(dialect, server.base_url))
        lines[port] = Line(dialect, server, name)
    models = Models(
        environ={"KEY": key},
        directory=Path("/nonexistent/credentials"),
        transport=Transport(mock=_Network(lines)),
        local_model=embedded,
        local=LocalConfig(context_tokens=window),
        default_model="my-openai-chat/fake",
        providers=providers,
        models={line.model: limits for line in lines.values()},
    )
    yield Wires({line.dialect: line for line in lines.values()}, models)


def _configure(dialect: Dialect, base_url: str) -> ProviderConfig:
    editor = {"Editor-Version": "test/1", "Copilot-Integration-Id": "test"}
    return ProviderConfig(
        name=f"my-{dialect}",
        dialect=dialect,
        base_url=base_url,
        api_key_env="KEY",
        headers=editor if dialect == "copilot" else {},
    )


@asynccontextmanager
async def open_wired(
    wires: Wires, store: FakeStore, *, tools: Iterable[Tool] = ()
) -> AsyncIterator[Room]:
    """A room of sessions on this store, whose models are at the ends of the wires."""
    async with open_room(store=store, models=cast("Any", wires.models), tools=tools) as room:
        yield room
