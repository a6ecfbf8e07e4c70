"""A server that counts is asked, in the way of its dialect; one that does not, not twice."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import httpx
import pytest

from askd.core.items import AssistantMessage, Reasoning, Text, UserMessage
from askd.errors import ProviderError
from askd.providers.base import Endpoint, ModelRequest
from askd.providers.http.retry import RetryRules
from askd.providers.http.transport import Transport
from askd.providers.models.counts import RETRY_S, Counts
from askd.providers.origins import MARK, find_origin

REQUEST = ModelRequest(model="m", items=[UserMessage("u", (Text("Hi"),))])
ANTHROPIC = Endpoint(
    provider="anthropic",
    base_url="https://api.anthropic.com",
    dialect="anthropic",
    api_key="k",
    auth="x-api-key",
)


class Body(httpx.AsyncByteStream):
    """A body that comes over a wire."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content


def say(status: int, text: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(status, stream=Body(text.encode()))


class World:
    """A server that answers with what `answer` says, and a clock."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.answer = answer
        self.asked: list[httpx.Request] = []
        self.now = 1000.0
        self.counts = Counts(now=lambda: self.now)
        self.transport = Transport(rules=RetryRules(tries=1), mock=httpx.MockTransport(self._take))

    def _take(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self.answer(request)

    async def count(
        self, endpoint: Endpoint = ANTHROPIC, request: ModelRequest = REQUEST
    ) -> int | None:
        return await self.counts.count(self.transport, endpoint, request)


async def test_the_count_of_a_server_that_counts() -> None:
    world = World(say(200, '{"input_tokens": 12}'))
    assert [await world.count(), await world.count()] == [12, 12]
    request = world.asked[0]
    assert str(request.url) == "https://api.anthropic.com/v1/messages/count_tokens"
    assert request.headers["x-api-key"] == "k"
    assert request.headers["anthropic-version"]
    assert set(json.loads(request.content)) == {"model", "messages"}


async def test_a_count_sends_no_thought_that_the_request_itself_would_not_send() -> None:
    world = World(say(200, '{"input_tokens": 12}'))
    server = Endpoint(
        provider="p", base_url="http://127.0.0.1:1/v1", dialect="openai-responses", api_key="k"
    )
    own, others = (
        Reasoning("hm", {"type": "reasoning", "encrypted_content": sealed, MARK: find_origin(by)})
        for sealed, by in (("own", server), ("another's", replace(server, api_key="another")))
    )
    answer = AssistantMessage("a", (Text("So."),), reasoning=(own, others), provider="p")
    request = replace(REQUEST, items=[*REQUEST.items, answer])
    assert await world.count(server, request) == 12
    sent = json.loads(world.asked[0].content)["input"]
    assert [each["encrypted_content"] for each in sent if each.get("type") == "reasoning"] == [
        "own"
    ]


@pytest.mark.parametrize(
    ("status", "text"), [(404, '{"error": "not found"}'), (200, '{"tokens": 12}'), (200, "<html>")]
)
async def test_who_does_not_count_is_left_alone_for_a_while(status: int, text: str) -> None:
    world = World(say(status, text))
    with pytest.raises(ProviderError):
        await world.count()
    assert await world.count() is None
    assert len(world.asked) == 1
    world.answer = say(200, '{"input_tokens": 12}')
    world.now += RETRY_S
    assert await world.count() == 12


async def test_a_dialect_without_counts_is_not_asked_at_all() -> None:
    world = World(say(500, ""))
    ollama = Endpoint(provider="ollama", base_url="http://127.0.0.1:11434", dialect="ollama")
    assert await world.count(ollama) is None
    assert world.asked == []
