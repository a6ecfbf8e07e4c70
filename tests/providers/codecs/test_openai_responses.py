"""The dialect "openai-responses": the request, to OpenAI, to ChatGPT's backend, to others."""

import json
from typing import Any

import pytest

from askd.errors import RateLimited
from askd.providers.base import Effort, Endpoint, ModelRequest, Stopped
from askd.providers.codecs.openai_responses import INSTRUCTIONS, OpenAIResponses, codec_for
from tests.fakes.codec_streams import STREAMS, decode, read_stream, user


def at(url: str) -> OpenAIResponses:
    """The codec for this address."""
    return codec_for(Endpoint(provider="work", base_url=url, dialect="openai-responses"))


OFFICIAL = at("https://api.openai.com/v1")
CODEX = at("https://chatgpt.com/backend-api/codex")
OTHER = at("http://127.0.0.1:8080/v1")
CLOSED = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def body_of(codec: OpenAIResponses, **options: Any) -> Any:
    """The JSON that a request becomes."""
    request = ModelRequest(**{"model": "gpt-5-mini", "items": [user("Hi")], **options})
    return json.loads(codec.encode(request).body)


def test_request_stores_nothing_and_asks_for_sealed_reasoning() -> None:
    call = OFFICIAL.encode(ModelRequest(model="gpt-5-mini", items=[user("Hi")]))
    assert (call.method, call.path) == ("POST", "/responses")
    assert json.loads(call.body) == {
        "model": "gpt-5-mini",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_every_option_that_was_said_is_sent() -> None:
    tool = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
    sent = body_of(
        OFFICIAL, system="Be brief.", tools=[tool], temperature=0.0, max_output_tokens=70,
        effort="low",
    )  # fmt: skip
    assert sent["instructions"] == "Be brief."
    assert sent["tools"] == [{"type": "function", **tool, "strict": False}]
    assert (sent["temperature"], sent["max_output_tokens"]) == (0.0, 70)
    assert sent["reasoning"] == {"effort": "low", "summary": "auto"}


def test_stop_sequences_are_unknown_here() -> None:
    assert "stop" not in body_of(OFFICIAL, stop=["END"])


@pytest.mark.parametrize(
    ("model", "thinks"),
    [("gpt-5-mini", True), ("gpt-5.1-codex", True), ("o4-mini", True), ("codex-mini-latest", True),
     ("gpt-4o", False), ("gpt-4.1-mini", False), ("gpt-5-chat-latest", False),
     ("ft:gpt-4o:me", False)],
)  # fmt: skip
def test_openais_models_that_do_not_reason_are_not_told_to(model: str, thinks: bool) -> None:
    assert ("include" in body_of(OFFICIAL, model=model)) is thinks
    assert "include" in body_of(OTHER, model=model)


@pytest.mark.parametrize(
    ("effort", "reasoning"),
    [(None, None), ("none", {"effort": "none"}), ("high", {"effort": "high", "summary": "auto"})],
)
def test_summary_is_asked_for_with_an_effort(
    effort: Effort | None, reasoning: dict[str, str] | None
) -> None:
    # OpenAI refuses summaries to organisations that it has not verified.
    assert body_of(OFFICIAL, effort=effort).get("reasoning") == reasoning


def test_chatgpts_backend_gets_what_it_insists_on() -> None:
    sent = body_of(CODEX, temperature=0.5, max_output_tokens=70)
    assert sent["instructions"] == INSTRUCTIONS
    assert (sent["store"], sent["stream"]) == (False, True)
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert sent["reasoning"] == {"summary": "auto"}
    assert "temperature" not in sent
    assert "max_output_tokens" not in sent
    assert body_of(CODEX, system="S")["instructions"] == "S"
    as_user = body_of(CODEX, system="S", system_as_user=True)
    assert as_user["instructions"] == INSTRUCTIONS


def test_system_prompt_as_the_users_words() -> None:
    sent = body_of(OTHER, system="S", system_as_user=True)
    assert "instructions" not in sent
    assert [part["text"] for part in sent["input"][0]["content"]] == ["S", "Hi"]


def test_schema_is_sent_and_strict_if_it_qualifies() -> None:
    assert body_of(OFFICIAL, schema=CLOSED)["text"] == {
        "format": {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}
    }
    assert body_of(OFFICIAL, schema={"type": "object"})["text"]["format"]["strict"] is False


def test_schema_that_is_no_object_is_asked_for_in_words() -> None:
    sent = body_of(OFFICIAL, schema={"type": "array", "items": {"type": "string"}})
    assert "text" not in sent
    assert sent["instructions"].startswith("Answer with JSON alone")


def test_limit_that_was_used_up_is_a_cut_where_the_server_does_not_say_so() -> None:
    cut = read_stream("llama-cpp/openai-responses/length")
    recording = STREAMS / "llama-cpp/openai-responses/length.json"
    recorded = json.loads(recording.read_text())["request"]
    request = ModelRequest(model="m", items=(), max_output_tokens=recorded["max_output_tokens"])
    assert Stopped("length") in decode(OTHER, cut, request=request)
    assert Stopped("end") in decode(OTHER, read_stream("llama-cpp/openai-responses/plain"))
    # OpenAI says it; an answer that ends just there is whole.
    assert Stopped("end") in decode(OFFICIAL, cut, request=request)


def test_errors_name_the_provider() -> None:
    error = OFFICIAL.read_error(429, {}, b'{"error": {"message": "Slow down."}}')
    assert isinstance(error, RateLimited)
    assert "work" in error.message
