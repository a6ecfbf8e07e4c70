"""The call that has tokens counted holds what is read, and nothing about the answer."""

import json
from typing import Any

import pytest

from askd.core.items import Text, UserMessage
from askd.errors import BadAnswer
from askd.providers.base import Counting, Dialect, Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.counting import MOST_TOKENS, read_count
from askd.providers.models.dialects import codec_for

TOOL = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
REQUEST = ModelRequest(
    model="m",
    items=[UserMessage("u", (Text("Hi \ud800"),))],
    system="Be brief.",
    tools=[TOOL],
    temperature=0.5,
    max_output_tokens=9,
    stop=("END",),
    context_window=100_000,
)


def count_call(dialect: Dialect, base_url: str = "http://127.0.0.1:1/v1") -> HttpCall | None:
    codec = codec_for(Endpoint(provider="p", base_url=base_url, dialect=dialect))
    return codec.encode_count(REQUEST) if isinstance(codec, Counting) else None


@pytest.mark.parametrize(
    ("dialect", "path", "fields"),
    [
        ("anthropic", "/messages/count_tokens", {"model", "messages", "system", "tools"}),
        ("openai-chat", "/chat/completions/input_tokens", {"model", "messages", "tools"}),
        ("local", "/chat/completions/input_tokens", {"model", "messages", "tools"}),
        (
            "openai-responses",
            "/responses/input_tokens",
            {"model", "input", "instructions", "tools"},
        ),
    ],
)
def test_what_is_asked(dialect: Dialect, path: str, fields: set[str]) -> None:
    call = count_call(dialect)
    assert call is not None
    assert (call.method, call.path) == ("POST", path)
    assert call.headers["accept"] == "application/json"
    body = json.loads(call.body)
    assert set(body) == fields
    codec = codec_for(Endpoint(provider="p", base_url="http://127.0.0.1:1/v1", dialect=dialect))
    asked = json.loads(codec.encode(REQUEST).body)
    assert body == {name: asked[name] for name in fields}


@pytest.mark.parametrize(
    ("dialect", "base_url"),
    [
        ("openai-chat", "https://api.openai.com/v1"),  # would be sent all of it for nothing
        ("openai-chat", "https://openrouter.ai/api/v1"),
        ("openai-responses", "https://chatgpt.com/backend-api/codex"),
        ("ollama", "http://127.0.0.1:11434"),
        ("copilot", "https://api.githubcopilot.com"),
    ],
)
def test_who_is_not_asked(dialect: Dialect, base_url: str) -> None:
    assert count_call(dialect, base_url) is None


def test_the_count_is_read() -> None:
    assert read_count("p", {"object": "response.input_tokens", "input_tokens": 32}) == 32


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"input_tokens": "32"}, {"input_tokens": 0}, {"input_tokens": True}]
)
def test_what_holds_no_count_is_refused(answer: Any) -> None:
    with pytest.raises(BadAnswer, match="p: the answer holds no count"):
        read_count("p", answer)
    with pytest.raises(BadAnswer):
        read_count("p", {"input_tokens": MOST_TOKENS})
