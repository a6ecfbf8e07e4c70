"""The dialect "anthropic" as a whole: what a request becomes, and where it goes."""

import json
from typing import Any

import pytest

from askd.core.items import (
    AssistantMessage,
    Item,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.errors import Overflowed, RateLimited, Unauthenticated, UnknownModel
from askd.providers.base import Endpoint, Failed, ModelRequest
from askd.providers.codecs.anthropic import DEFAULT_MAX_TOKENS, AnthropicMessages, codec_for
from tests.fakes.vendor_anthropic import Anthropic

CODEC = AnthropicMessages("work")
USER = UserMessage("u", (Text("Hi"),))
CALL = AssistantMessage("a", calls=(ToolCall("c", "f", "{}"),), provider="other")
OUTPUT = ToolOutput("o", "c", "f", (Text("ok"),))
ANSWER = AssistantMessage("b", (Text("Done."),))
TOOL = {"name": "f", "description": "Runs.", "parameters": {"type": "object", "properties": {}}}
CACHED = {"type": "ephemeral"}


def body_of(*items: Item, model: str = "claude-haiku-4-5", **more: Any) -> Any:
    """The JSON that a request becomes; the vendor would take it."""
    request = ModelRequest(model=model, items=items or (USER,), **more)
    body = json.loads(CODEC.encode(request).body)
    assert Anthropic().find_violation(body) is None
    return body


def test_request_has_what_streaming_needs_and_no_more() -> None:
    sent = CODEC.encode(ModelRequest(model="m", items=[USER]))
    assert (sent.method, sent.path) == ("POST", "/messages")
    assert sent.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
    }
    assert json.loads(sent.body) == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "stream": True,
    }


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("https://api.anthropic.com", "/v1/messages"),
        ("https://api.anthropic.com/v1", "/messages"),
        ("https://api.anthropic.com/v1/", "/messages"),
        ("https://example.com/anthropic", "/v1/messages"),
    ],
)
def test_base_url_may_or_may_not_end_in_the_version(base_url: str, path: str) -> None:
    endpoint = Endpoint(provider="work", base_url=base_url, dialect="anthropic")
    assert codec_for(endpoint).encode(ModelRequest(model="m", items=[USER])).path == path


def test_every_option_that_was_said_is_sent() -> None:
    body = body_of(
        system="Be brief.", tools=[TOOL], temperature=0.0, max_output_tokens=7, stop=["END"],
        schema={"type": "object"},
    )  # fmt: skip
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": CACHED}]
    assert body["tools"] == [
        {"name": "f", "description": "Runs.", "input_schema": TOOL["parameters"]}
    ]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 7)
    assert body["stop_sequences"] == ["END"]
    assert body["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {"type": "object", "properties": {}, "additionalProperties": False},
        }
    }


def test_tool_without_words_or_shape_is_sent_all_the_same() -> None:
    body = body_of(tools=[{"name": "f"}])
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]


@pytest.mark.parametrize(
    ("window", "expected"),
    [(None, DEFAULT_MAX_TOKENS), (200_000, DEFAULT_MAX_TOKENS), (8192, 4096)],
)
def test_cap_that_was_not_said_leaves_half_of_the_window(window: int | None, expected: int) -> None:
    assert body_of(context_window=window)["max_tokens"] == expected


def test_system_prompt_as_the_users_words() -> None:
    body = body_of(system="Be brief.", system_as_user=True)
    assert "system" not in body
    assert [block["text"] for block in body["messages"][0]["content"]] == ["Be brief.", "Hi"]


def test_empty_system_prompt_is_none() -> None:
    assert "system" not in body_of(system=" \n")


def test_half_characters_do_not_stop_a_request() -> None:
    sent = CODEC.encode(ModelRequest(model="m", items=[UserMessage("u", (Text("a\ud83d"),))]))
    assert json.loads(sent.body)["messages"][0]["content"][0]["text"] == "a\ufffd"


# ---- thinking ----------------------------------------------------------------------------


def test_effort_becomes_a_budget_below_the_cap() -> None:
    body = body_of(effort="high")
    assert body["thinking"]["budget_tokens"] < body["max_tokens"]
    assert "output_config" not in body
    assert "thinking" not in body_of(effort="high", max_output_tokens=2000)


def test_effort_is_said_beside_a_schema() -> None:
    body = body_of(model="claude-opus-4-8", effort="low", schema={"type": "string"})
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": {"type": "string"}},
    }


def test_no_budget_where_calls_stand_without_their_thinking() -> None:
    assert "thinking" not in body_of(USER, CALL, OUTPUT, effort="high", tools=[TOOL])
    raw = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    thinks = AssistantMessage("a", reasoning=(Reasoning("Hm.", raw),), calls=CALL.calls,
                              provider="work")  # fmt: skip
    assert "thinking" in body_of(USER, thinks, OUTPUT, effort="high", tools=[TOOL])
    adaptive = body_of(USER, CALL, OUTPUT, effort="high", model="claude-opus-4-8", tools=[TOOL])
    assert adaptive["thinking"]["type"] == "adaptive"


# ---- caching, tools of the past ----------------------------------------------------------


def marks(body: Any) -> list[tuple[int, int]]:
    """Where the messages are marked to be kept."""
    return [
        (place, index)
        for place, message in enumerate(body["messages"])
        for index, block in enumerate(message["content"])
        if block.get("cache_control") == CACHED
    ]


def test_conversation_that_goes_on_is_kept() -> None:
    assert marks(body_of(USER, ANSWER, USER)) == [(2, 0)]
    assert marks(body_of(USER, CALL, OUTPUT, USER, tools=[TOOL])) == [(2, 1)]
    assert marks(body_of(tools=[TOOL])) == [(0, 0)]


def test_question_that_stands_alone_is_not_kept() -> None:
    body = body_of(system="Be brief.")
    assert marks(body) == []
    assert "cache_control" not in body["system"][0]


def test_answer_that_is_gone_on_with_is_kept_up_to_the_user() -> None:
    assert marks(body_of(USER, ANSWER)) == [(0, 0)]


def test_tools_of_the_past_are_defined_and_not_offered() -> None:
    body = body_of(USER, CALL, OUTPUT, ANSWER, USER)
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


# ---- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "words", "expected"),
    [
        (400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum",
         Overflowed),
        (401, "authentication_error", "invalid x-api-key", Unauthenticated),
        (404, "not_found_error", "model: claude-nope", UnknownModel),
        (429, "rate_limit_error", "This request would exceed your rate limit", RateLimited),
    ],
)  # fmt: skip
def test_error_answers_are_understood(
    status: int, kind: str, words: str, expected: type[Exception]
) -> None:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": words}}).encode()
    error = CODEC.read_error(status, {"content-type": "application/json"}, body)
    assert type(error) is expected
    assert "work" in str(error)


def test_decoder_names_the_provider() -> None:
    (failed,) = CODEC.decoder(ModelRequest(model="m", items=())).feed(b"data: nonsense\n\n")
    assert isinstance(failed, Failed)
    assert failed.failure.message.startswith("work ")
