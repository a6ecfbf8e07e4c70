"""Scripted HTTP below the transport: what a server answers, said as values.

No sockets: httpx's own mock carries the replies. A scene runs out of replies
when it is asked more often than its script says, and that is an error.
"""

import json
from collections.abc import AsyncIterator, Callable

import httpx
import trio

from askd.core.items import Text, UserMessage
from askd.providers.base import Endpoint, ModelRequest, StreamEvent, TextDelta, TimeLimits
from askd.providers.codecs.openai_chat import OpenAIChat
from askd.providers.http.transport import Transport
from tests.fakes.chat_answers import say

CODEC = OpenAIChat("work")
WHERE = Endpoint(provider="work", base_url="http://host/v1", api_key="sk-secret")

Reply = Callable[[httpx.Request], httpx.Response]


class Body(httpx.AsyncByteStream):
    """A body in pieces: bytes are sent, a number is waited for, an exception is raised."""

    def __init__(self, *pieces: bytes | float | Exception) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            match piece:
                case bytes():
                    yield piece
                case Exception():
                    raise piece
                case _:
                    await trio.sleep(piece)


class Scene:
    """A transport over scripted replies; the requests and the reports that there were."""

    def __init__(self, *replies: Reply | httpx.Response | Exception) -> None:
        self.requests: list[httpx.Request] = []
        self.reports: list[tuple[str, str]] = []
        self._replies = list(replies)
        self.transport = Transport(
            mock=httpx.MockTransport(self.answer), chance=lambda: 1.0, now=lambda: 1000.0
        )

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """The next reply of the script."""
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, httpx.Response) else reply(request)

    async def ask(self, **limits: float) -> list[StreamEvent]:
        """Every event of one answer."""
        return await collect(self.transport, self.reports, limits=TimeLimits(**limits))


async def collect(
    transport: Transport,
    reports: list[tuple[str, str]] | None = None,
    *,
    endpoint: Endpoint = WHERE,
    prompt: str = "Hi",
    limits: TimeLimits | None = None,
) -> list[StreamEvent]:
    """Every event of one answer."""
    taken = [] if reports is None else reports
    request = ModelRequest(model="fake", items=[UserMessage("u", (Text(prompt),))])
    async with transport.stream(
        endpoint,
        CODEC,
        request,
        progress=lambda kind, text: taken.append((kind, text)),
        limits=limits,
    ) as events:
        return [event async for event in events]


def stream_of(*pieces: bytes | float | Exception) -> httpx.Response:
    """A streaming answer."""
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(*pieces))


def refuse(status: int, message: str = "No.", **headers: str) -> httpx.Response:
    """An answer with an error status."""
    body = json.dumps({"error": {"message": message}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, stream=Body(body))


def good() -> httpx.Response:
    """A whole answer."""
    return stream_of(*[step for step in say("He", "llo") if isinstance(step, bytes)])


def text_of(events: list[StreamEvent]) -> str:
    """The text of the events."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))
