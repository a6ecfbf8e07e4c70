"""The dialect "openai-chat": the request, and what is known of each address."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from askd.core.items import ToolCall
from askd.errors import Overflowed
from askd.providers.base import Dialect, Effort, Endpoint, ModelRequest
from askd.providers.codecs.openai_chat import OpenAIChat, Rules, codec_for, find_rules
from askd.providers.codecs.sent_calls import NINE_IDS, USUAL_IDS
from tests.fakes.codec_streams import assistant, output, user

CODEC = OpenAIChat("work")
CLOSED = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def body_of(codec: OpenAIChat = CODEC, **options: Any) -> Any:
    """The JSON that a request becomes."""
    request = ModelRequest(model="m", **{"items": [user("Hi")], **options})
    return json.loads(codec.encode(request).body)


def endpoint(base_url: str, provider: str = "work", dialect: Dialect = "openai-chat") -> Endpoint:
    """An endpoint at this address."""
    return Endpoint(provider=provider, base_url=base_url, dialect=dialect)


def test_request_has_what_streaming_needs_and_no_more() -> None:
    call_sent = CODEC.encode(ModelRequest(model="m", items=[user("Hi")]))
    assert (call_sent.method, call_sent.path) == ("POST", "/chat/completions")
    assert json.loads(call_sent.body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_every_option_that_was_said_is_sent() -> None:
    tool = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
    sent = body_of(
        system="Be brief.", tools=[tool], temperature=0.0, max_output_tokens=7,
        stop=["\n", "END"], effort="low",
    )  # fmt: skip
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["tools"] == [{"type": "function", "function": tool}]
    assert (sent["temperature"], sent["max_tokens"]) == (0.0, 7)
    assert (sent["stop"], sent["reasoning_effort"]) == (["\n", "END"], "low")


def test_openai_itself_has_renamed_the_cap() -> None:
    for url in ("https://api.openai.com/v1", "https://mine.openai.azure.com/openai/v1"):
        sent = body_of(codec_for(endpoint(url)), max_output_tokens=7)
        assert sent["max_completion_tokens"] == 7
        assert "max_tokens" not in sent
    other = codec_for(endpoint("http://127.0.0.1:8000/v1", "openai"))
    assert body_of(other, max_output_tokens=7)["max_tokens"] == 7


def test_half_characters_do_not_stop_a_request() -> None:
    assert body_of(items=[user("a\ud800b")])["messages"][0]["content"] == "a\ufffdb"


# ---- structured output -----------------------------------------------------------


def test_schema_is_sent_and_strict_if_it_qualifies() -> None:
    assert body_of(schema=CLOSED)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": CLOSED, "strict": True},
    }
    open_one = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert body_of(schema=open_one)["response_format"]["json_schema"]["strict"] is False


def test_schema_that_is_no_object_is_asked_for_in_words() -> None:
    sent = body_of(schema={"type": "array", "items": {"type": "string"}}, system="Be brief.")
    assert "response_format" not in sent
    assert sent["messages"][0]["content"].startswith("Be brief.\n\nAnswer with JSON alone")
    assert '"items": {"type": "string"}' in sent["messages"][0]["content"]


# ---- what is known of addresses ---------------------------------------------------


@pytest.mark.parametrize(
    ("url", "provider", "expected"),
    [
        ("https://openrouter.ai/api/v1", "mine", True),
        ("http://127.0.0.1:1/v1", "openrouter", True),
        ("https://api.example.com/openrouter.ai/v1", "work", False),
    ],
)
def test_only_openrouter_is_asked_for_the_cost(url: str, provider: str, expected: bool) -> None:
    codec = codec_for(endpoint(url, provider))
    sent = body_of(codec, effort="high")
    assert sent.get("usage") == ({"include": True} if expected else None)
    assert sent.get("reasoning") == ({"effort": "high"} if expected else None)
    assert ("reasoning_effort" in sent) is not expected


@pytest.mark.parametrize(
    ("effort", "kwargs"),
    [
        (None, None),
        ("none", {"enable_thinking": False}),
        ("low", {"enable_thinking": True, "reasoning_effort": "low"}),
    ],
)
def test_embedded_model_is_told_through_its_template(
    effort: Effort | None, kwargs: Mapping[str, Any] | None
) -> None:
    codec = codec_for(endpoint("http://127.0.0.1:1/v1", "local", "local"))
    sent = body_of(codec, effort=effort)
    assert sent.get("chat_template_kwargs") == kwargs
    assert "reasoning_effort" not in sent


def test_mistral_takes_ids_of_nine_characters() -> None:
    assert find_rules(endpoint("https://api.mistral.ai/v1")).call_ids is NINE_IDS
    assert find_rules(endpoint("http://127.0.0.1:1/v1")) == Rules(call_ids=USUAL_IDS, counts=True)
    items = [user("Go"), assistant("", ToolCall("call_1", "f", "{}")), output("call_1")]
    sent = body_of(codec_for(endpoint("https://api.mistral.ai/v1")), items=items)
    assert len(sent["messages"][2]["tool_call_id"]) == 9


def test_errors_name_the_provider() -> None:
    body = b'{"error": {"message": "Too long.", "code": "context_length_exceeded"}}'
    error = CODEC.read_error(400, {}, body)
    assert isinstance(error, Overflowed)
    assert error.message.startswith("work: ")
