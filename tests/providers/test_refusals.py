"""Error answers of many servers, and what each of them means."""

import json
from typing import Any

import pytest

from askd.core.outcome import Failure
from askd.errors import (
    BadAnswer,
    Overflowed,
    ProviderError,
    RateLimited,
    Refused,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.refusals import WORDS_LIMIT, read_refusal, restore_error

ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
    "with 'tool_calls'."
)
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: call_1"
)


def refusal(status: int, body: Any, **headers: str) -> ProviderError:
    """What an answer with this JSON (or these bytes) means."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_refusal("work", status, {k.replace("_", "-"): v for k, v in headers.items()}, data)


def openai(message: str, code: str | None = None, kind: str = "invalid_request_error") -> Any:
    """OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


@pytest.mark.parametrize(
    ("status", "body", "expected", "words"),
    [
        (401, openai("Incorrect API key.", "invalid_api_key"), Unauthenticated, "Incorrect"),
        (403, {"detail": "Forbidden"}, Unauthenticated, "Forbidden"),
        (404, openai("No model `x`.", "model_not_found"), UnknownModel, "No model"),
        (404, {"error": "model 'x' not found, try pulling it first"}, UnknownModel, "pulling"),
        (404, {"detail": "Not Found"}, Refused, "Check `base_url`"),
        (429, openai("Slow down.", "rate_limit_exceeded"), RateLimited, "Slow down"),
        (400, openai("Too long.", "context_length_exceeded"), Overflowed, "Too long"),
        (400, openai("prompt token count of 9 exceeds 8", "model_max_prompt_tokens_exceeded"),
         Overflowed, "9 exceeds 8"),
        (400, openai("request (9 tokens) exceeds the available context size (8 tokens)",
                     kind="exceed_context_size_error"), Overflowed, "9 tokens"),
        (400, {"object": "error", "message": "This model's maximum context length is 8 tokens."},
         Overflowed, "8 tokens"),
        (400, openai("Invalid 'x': string too long, prompt is too long",
                     "string_above_max_length"), Refused, "string too long"),
        (413, b"", Overflowed, "too large"),
        (400, openai("Bad temperature."), Refused, "Bad temperature."),
        (422, {"detail": [{"msg": "field required"}]}, Refused, "field required"),
        (402, openai("Pay first."), RateLimited, "Pay first."),
        (408, b"", Unavailable, "HTTP 408"),
        (500, openai("Oops.", kind="server_error"), Unavailable, "Oops."),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
         Unavailable, "Overloaded"),
        (502, b"<html><h1>Bad Gateway</h1></html>", Unavailable, "without a readable reason"),
        (503, b"upstream connect error", Unavailable, "upstream connect error"),
        (200, openai("Broke.", kind="api_error"), Unavailable, "Broke."),
        (200, openai("Bad prompt."), Refused, "Bad prompt."),
        (200, b"<html>Log in</html>", BadAnswer, "not a stream"),
    ],
)  # fmt: skip
def test_answer_means(status: int, body: Any, expected: type[ProviderError], words: str) -> None:
    error = refusal(status, body)
    assert type(error) is expected
    assert error.message.startswith("work")
    assert words in error.message
    assert "<" not in error.message


def test_used_up_quota_is_not_tried_again() -> None:
    error = refusal(429, openai("You exceeded your current quota.", "insufficient_quota"))
    assert isinstance(error, RateLimited)
    assert error.data == {"final": True}


@pytest.mark.parametrize("words", [ORPHAN, ORPHAN.replace("preceeding", "preceding"), UNANSWERED])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_broken_pairing_is_marked(words: str, quote: str) -> None:
    error = refusal(400, openai(words.replace("'", quote)))
    assert isinstance(error, Refused)
    assert error.data == {"pairing": True}
    assert "role" in error.message or "tool_calls" in error.message


def test_redirect_names_its_target_without_its_query() -> None:
    error = refusal(302, b"", location="https://login.example/start?token=secret")
    assert "https://login.example/start;" in error.message
    assert "secret" not in error.message


def test_redirect_to_nowhere_is_still_a_sentence() -> None:
    assert "another address" in refusal(307, b"").message


def test_providers_words_are_one_bounded_line() -> None:
    error = refusal(400, openai("a\nb\x1b[31m" + "x" * 10_000))
    assert "a b [31mx" in error.message
    assert len(error.message) < WORDS_LIMIT + 100


def test_half_characters_and_deep_nests_do_no_harm() -> None:
    assert "a?b" in refusal(400, b'{"error": {"message": "a\\ud800b"}}').message
    assert isinstance(refusal(400, b"[" * 100_000), Refused)
    assert isinstance(refusal(400, {"error": {"message": {"deep": 1}}}), Refused)


@pytest.mark.parametrize("cls", [RateLimited, Overflowed, Refused, Unauthenticated, UnknownModel])
def test_error_in_a_stream_is_the_exception_that_it_would_have_been(
    cls: type[ProviderError],
) -> None:
    restored = restore_error(cls("A sentence.").failure)
    assert type(restored) is cls
    assert restored.message == "A sentence."


def test_unheard_of_error_in_a_stream_is_unavailable() -> None:
    assert type(restore_error(Failure(1, "new", "Words."))) is Unavailable
