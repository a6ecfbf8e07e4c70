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
from askd.providers.refusals import (
    WORDS_LIMIT,
    classify,
    read_error_object,
    read_refusal,
    restore_error,
)

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


def test_object_that_says_nothing_is_not_shown() -> None:
    assert read_refusal("work", 429, {}, b"{}").message == "work: too many requests (HTTP 429)"


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


# ---- the shapes and words of single vendors -------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "expected", "words"),
    [
        # Anthropic
        (401, {"type": "error", "error": {"type": "authentication_error",
                                          "message": "invalid x-api-key"}},
         Unauthenticated, "invalid x-api-key"),
        (403, {"type": "error", "error": {"type": "permission_error", "message": "Not yours."}},
         Unauthenticated, "Not yours."),
        (400, {"type": "error", "error": {"type": "invalid_request_error", "message":
               "This credential is only authorized for use with Claude Code and cannot be used "
               "for other API requests."}}, Unauthenticated, "only authorized for use"),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}},
         UnknownModel, "claude-9"),
        (400, {"type": "error", "error": {"type": "invalid_request_error", "message":
               "Your credit balance is too low to access the Anthropic API."}},
         RateLimited, "credit balance"),
        (402, {"type": "error", "error": {"type": "billing_error", "message": "Pay."}},
         RateLimited, "Pay."),
        (500, {"type": "error", "error": {"type": "api_error", "message": "Internal."}},
         Unavailable, "Internal."),
        # ChatGPT's backend
        (400, {"detail": "The 'gpt-9' model is not supported when using Codex with a ChatGPT "
                         "account."}, UnknownModel, "gpt-9"),
        (400, {"detail": "Store must be set to false"}, Refused, "Store must"),
        (401, {"detail": {"code": "deactivated_workspace"}}, Unauthenticated, "deactivated"),
        (429, {"error": {"type": "usage_not_included", "message": "Not in your plan."}},
         RateLimited, "Not in your plan."),
        # Copilot
        (400, {"error": {"message": "The requested model is not supported.",
                         "code": "model_not_supported"}}, UnknownModel, "requested model"),
        (403, {"error": {"message": "No access to Copilot.", "code": ""}},
         Unauthenticated, "No access"),
        # Ollama
        (500, {"error": "llama runner process has terminated"}, Unavailable, "llama runner"),
        (400, {"error": "\"x\" does not support tools"}, Refused, "does not support tools"),
        # llama.cpp
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
         Unavailable, "Loading model"),
        (200, {"error": {"message": "Busy.", "type": "x", "code": 503}}, Unavailable, "HTTP 503"),
        # Gemini
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
                          "status": "INVALID_ARGUMENT"}}], Unauthenticated, "not valid"),
        (429, [{"error": {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"}}],
         RateLimited, "Slow."),
        # OpenRouter
        (429, {"error": {"message": "Provider returned error", "code": 429,
                         "metadata": {"raw": "x is rate-limited upstream"}}},
         RateLimited, "Provider returned error: x is rate-limited upstream"),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, RateLimited, "credits"),
        (400, {"error": {"message": "x/y is not a valid model ID", "code": 400}},
         UnknownModel, "not a valid model"),
        (200, {"error": {"message": "Upstream.", "code": 502}}, Unavailable, "Upstream."),
        # xAI
        (400, {"code": "Client specified an invalid argument",
               "error": "Incorrect API key provided: xa***."}, Unauthenticated, "Incorrect"),
        (403, {"code": "x", "error": "Your team has used all available credits."},
         RateLimited, "credits"),
        # Mistral, DeepSeek, FastAPI
        (422, {"object": "error", "message": {"detail": [{"loc": ["body", "x"], "msg": "missing"},
                                                         {"msg": "too big"}]}},
         Refused, "missing; too big"),
        (400, {"object": "error", "message": "Invalid model: x", "type": "invalid_model",
               "code": "1500"}, UnknownModel, "Invalid model"),
        (400, {"error": {"message": "Model Not Exist", "type": "invalid_request_error"}},
         UnknownModel, "Not Exist"),
        (402, {"error": {"message": "Insufficient Balance"}}, RateLimited, "Insufficient Balance"),
        # others on the way
        (403, b"<html>Blocked by policy</html>", Refused, "a web page (HTTP 403)"),
        (403, openai("Not here.", "unsupported_country_region_territory"), Refused, "Not here."),
        (407, b"<html>Sign in</html>", Unauthenticated, "the proxy wants a name"),
        (200, {"choices": []}, BadAnswer, "one piece of JSON"),
        (200, [1, 2], BadAnswer, "one piece of JSON"),
        (200, b"{broken", BadAnswer, "one piece of JSON"),
        (204, b"", Refused, "HTTP 204"),
    ],
)  # fmt: skip
def test_vendor_means(status: int, body: Any, expected: type[ProviderError], words: str) -> None:
    error = refusal(status, body)
    assert type(error) is expected
    assert words in error.message


@pytest.mark.parametrize(
    "words",
    [
        "messages.24.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
        "messages.167: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_X. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
        "messages.8: tool_use ids were found without tool_result blocks immediately after: toolu_X",
        "messages.8: unexpected tool_use_id found in tool_result blocks: toolu_X.",
        "No tool call found for function call output with call_id call_X.",
        "No tool output found for function call call_X.",
        "(insufficient tool messages following tool_calls message)",
        "Not the same number of function calls and responses",
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
    ],
)
@pytest.mark.parametrize("status", [400, 200])
def test_pairing_of_every_vendor(words: str, status: int) -> None:
    error = classify("work", status=status, words=words, kind="invalid_request_error")
    assert type(error) is Refused
    assert error.data == {"pairing": True}
    assert restore_error(error.failure).data == {"pairing": True}


@pytest.mark.parametrize(
    "words",
    ["Invalid tool_use_id.", "tools: duplicate tool names", "No tool named x.",
     "role 'tool' is not supported"],
)  # fmt: skip
def test_other_trouble_with_tools_is_not_about_pairing(words: str) -> None:
    assert classify("work", status=400, words=words).data == {}


@pytest.mark.parametrize(
    "code",
    ["insufficient_quota", "usage_limit_reached", "enforced_spend_limit_reached", "billing_error"],
)
def test_used_up_is_final_inside_a_stream_too(code: str) -> None:
    error = classify("work", status=200, words="No more.", code=code)
    assert isinstance(error, RateLimited)
    assert restore_error(error.failure).data == {"final": True}


def test_request_above_a_minutes_allowance_is_not_tried_again() -> None:
    words = "Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000."
    error = refusal(429, openai(words, "rate_limit_exceeded"))
    assert isinstance(error, RateLimited)
    assert error.data == {"final": True}


def test_when_a_plan_is_renewed() -> None:
    body = {"error": {"type": "usage_limit_reached", "message": "Reached.", "plan_type": "plus",
                      "resets_at": 1_800_000_000}}  # fmt: skip
    error = refusal(429, body)
    assert error.data == {"final": True, "retry_at": 1_800_000_000.0}
    assert error.message.endswith("Reached. It is renewed at 2027-01-15 08:00 UTC.")
    soon = {"error": {"type": "usage_limit_reached", "resets_in_seconds": 90}}
    assert refusal(429, soon).data == {"final": True, "retry_in_s": 90.0}


@pytest.mark.parametrize("moment", [1e30, -1e30, "soon", None, float("inf")])
def test_moment_that_is_none(moment: Any) -> None:
    body = {"error": {"type": "usage_limit_reached", "resets_at": moment}}
    assert refusal(429, body).data == {"final": True}


@pytest.mark.parametrize(
    ("parsed", "expected"),
    [
        (None, ("", "", "")),
        ("words", ("words", "", "")),
        ({"error": {"message": "a", "code": None, "type": "t"}}, ("a", "", "t")),
        ({"error": {"message": "a", "code": 429}}, ("a", "429", "")),
        ({"code": "c", "error": "a"}, ("a", "c", "")),
        ({"detail": "a"}, ("a", "", "")),
        ({"error": {"details": {"error_code": "e"}, "code": "c", "message": "a"}}, ("a", "e", "")),
        ({"message": "a", "type": "t", "code": 1}, ("a", "1", "t")),
        (7, ("7", "", "")),
    ],
)
def test_error_objects(parsed: Any, expected: tuple[str, str, str]) -> None:
    assert read_error_object(parsed) == expected
