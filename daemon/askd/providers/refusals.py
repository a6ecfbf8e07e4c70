"""What a server's error answer means, as one of our errors with a sentence.

Pure: status, headers and body in, a `ProviderError` out. The provider's own
words are shown, shortened; the shapes of all vendors and of the servers that
imitate them are here (OpenAI, Anthropic, Gemini, Ollama, llama.cpp, vLLM,
Copilot, ChatGPT's backend, OpenRouter, xAI, Mistral, FastAPI). It does not
decide whether to try again, but says `final` where that cannot help.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

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
from askd.providers.overflow import is_overflow

WORDS_LIMIT = 500
"""Characters of a provider's own words that are shown; a sentence, not a page."""

_USED_UP = {
    "insufficient_quota",  # OpenAI
    "usage_limit_reached",  # ChatGPT's backend, with `resets_at`
    "usage_not_included",  # the same: not in this plan
    "enforced_spend_limit_reached",  # Anthropic, in `details.error_code`
    "billing_error",  # Anthropic, with 402
    "billing_hard_limit_reached",
    "billing_not_active",
}
_USED_UP_WORDS = re.compile(
    r"credit balance is too low|insufficient (?:balance|credits|funds)"
    r"|used all available credits|exceeded your current quota, please check your plan",
    re.IGNORECASE,
)
_NEVER_FITS = re.compile(r"request too large.{0,200}(?:tokens per|\bTPM\b)", re.IGNORECASE)
"""A single request above a minute's allowance: no wait makes it fit."""

_KEY_CODES = {"invalid_api_key", "authentication_error", "UNAUTHENTICATED"}
_KEY_WORDS = re.compile(
    r"api key not valid|(?:incorrect|invalid) api key|only authorized for use with", re.IGNORECASE
)
_NOT_ABOUT_THE_KEY = {"unsupported_country_region_territory", "moderation"}

_MODEL_CODES = {"model_not_found", "model_not_supported", "model_not_available"}
_MODEL_WORDS = re.compile(
    r"not a valid model|model not exist|invalid model\b|no such model"
    r"|model\b.{0,80}(?:is not supported|does not exist|not found)",
    re.IGNORECASE,
)
_PAIRING_WORDS = re.compile(
    r"role ['\"]tool['\"] must be a response to a prec"  # "preceeding", "preceding"
    r"|an assistant message with ['\"]tool_calls['\"] must be followed by tool messages"
    r"|insufficient tool messages following"
    r"|unexpected `?tool_use_id`? found in `?tool_result`? blocks"
    r"|`?tool_use`? ids were found without `?tool_result`? blocks"
    r"|no tool call found for .{0,40}call output|no tool output found for .{0,40}call"
    r"|not the same number of function calls and responses"  # Mistral
    r"|unexpected role ['\"]tool['\"] after role"
    r"|number of function response parts is equal to the number of function call parts",  # Gemini
    re.IGNORECASE,
)
_REFUSED = {
    "invalid_request_error",
    "invalid_prompt",
    "invalid_request",
    "content_policy_violation",
}
_TOO_MANY = {"rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "too_many_requests"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def read_refusal(
    provider: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """The error that an answer with an error status means.

    Its `data` may hold `final: True` (trying again cannot help, whatever the
    status says), `pairing: True` (the request broke the rules of tool calls),
    `retry_at` (unix seconds) and `retry_in_s`, if the body says when.
    """
    if 300 <= status < 400:
        target = headers.get("location", "").partition("?")[0]
        return Refused(
            f"{provider} redirects to {target or 'another address'}; a key is never sent after "
            "a redirect: set `base_url` to the final address."
        )
    if headers.get("content-type", "").startswith("text/html") or body.lstrip()[:1] == b"<":
        return _read_page(provider, status)
    parsed = _parse(body)
    words, code, kind = read_error_object(parsed)
    if status == 200 and not _has_error(parsed):
        return BadAnswer(
            f"{provider} answered with one piece of JSON where a stream was asked for. "
            "Check `base_url` and `dialect`."
        )
    error = classify(provider, status=status, words=words, code=code, kind=kind)
    if isinstance(error, RateLimited):
        _add_reset(error, parsed)
    return error


def read_error_object(parsed: Any) -> tuple[str, str, str]:
    """Words, code and type out of whatever stands in place of `{"error": {...}}`."""
    outer, error = _find_error(parsed)
    if isinstance(error, dict):
        details = error.get("details")
        code = details.get("error_code") if isinstance(details, dict) else None
        code = code or error.get("code") or outer.get("code")
        kind = error.get("type") or error.get("status")
        return _shorten(_read_words(error)), _read_name(code), _read_name(kind)
    if error is None:
        return "", "", ""
    return (
        _shorten(_read_words(error)),
        _read_name(outer.get("code")),
        _read_name(outer.get("type")),
    )


def classify(
    provider: str, *, status: int, words: str, code: str = "", kind: str = ""
) -> ProviderError:
    """The error for this status and these words; status 200 is an error inside a stream."""
    names = {code, kind}
    said = f": {words}" if words else ""
    if status == 200 and code.isdecimal() and 400 <= int(code) < 600:
        status = int(code)  # OpenRouter, llama.cpp: the status that it would have been
    if is_overflow(words, code=code, kind=kind):
        return Overflowed(f"{provider}: the conversation exceeds the model's window{said}")
    if names & _USED_UP or status == 402 or _USED_UP_WORDS.search(words):
        return RateLimited(
            f"{provider}: the quota or balance is used up{said}", data={"final": True}
        )
    if _NEVER_FITS.search(words):
        return RateLimited(
            f"{provider}: the request is larger than its rate limit{said}", data={"final": True}
        )
    if _PAIRING_WORDS.search(words):
        shown = _describe(status)
        return Refused(f"{provider} refused the request {shown}{said}", data={"pairing": True})
    if (
        (status in (401, 403) and not names & _NOT_ABOUT_THE_KEY)
        or names & _KEY_CODES
        or (400 <= status < 500 and _KEY_WORDS.search(words))
    ):
        return Unauthenticated(f"{provider} refused the key {_describe(status)}{said}")
    if (
        names & _MODEL_CODES
        or (status == 404 and "model" in words.lower())
        or (status in (400, 422) and _MODEL_WORDS.search(words))
    ):
        return UnknownModel(f"{provider} has no such model{said}")
    if status == 429 or names & _TOO_MANY:
        return RateLimited(f"{provider}: too many requests {_describe(status)}{said}")
    if status == 413 or "request_too_large" in names:
        return Overflowed(f"{provider}: the request is too large {_describe(status)}{said}")
    return _classify_rest(provider, status, said, is_refused=bool(names & _REFUSED))


def _classify_rest(provider: str, status: int, said: str, *, is_refused: bool) -> ProviderError:
    if status == 407:
        return Unauthenticated(
            f"{provider}: the proxy wants a name and a password (HTTP 407): put them into its "
            "address, http://NAME:PASSWORD@HOST:PORT."
        )
    if status in (408, 409) or status >= 500:
        page = "" if said else " without a readable reason"
        return Unavailable(f"{provider} had an error {_describe(status)}{page}{said}")
    if status == 404:
        return Refused(
            f"{provider}: nothing is there (HTTP 404){said}. Check `base_url`: "
            "it ends before `/chat/completions`, often in `/v1`."
        )
    if status == 200 and not is_refused:
        if said:
            return Unavailable(f"{provider} had an error in its answer{said}")
        return BadAnswer(f"{provider} answered with something that is not a stream of events.")
    return Refused(f"{provider} refused the request {_describe(status)}{said}")


_BY_REASON: Mapping[str, type[ProviderError]] = {
    each.reason: each
    for each in (BadAnswer, Overflowed, RateLimited, Refused, Unauthenticated, UnknownModel)
}


def restore_error(failure: Failure) -> ProviderError:
    """An error inside a stream, as the exception that it would have been before it."""
    cls = _BY_REASON.get(failure.reason, Unavailable)
    return cls(failure.message, data=dict(failure.data))


def _read_page(provider: str, status: int) -> ProviderError:
    """A web page: the server of a model sends none, so something else answers here."""
    if status in (200, 403):
        shown = "with a web page, not a stream" if status == 200 else "with a web page (HTTP 403)"
        cls = BadAnswer if status == 200 else Refused
        return cls(
            f"{provider} answered {shown}: a proxy or a login page is on the way, or `base_url` "
            "is not that of the API."
        )
    return classify(provider, status=status, words="")


def _describe(status: int) -> str:
    return "in its answer" if status == 200 else f"(HTTP {status})"


def _find_error(parsed: Any) -> tuple[dict[str, Any], Any]:
    """The object around an error, and what stands for the error in it."""
    if isinstance(parsed, list) and len(parsed) == 1:  # Gemini's OpenAI dialect wraps it so
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return {}, parsed
    for name in ("error", "detail", "message"):
        if parsed.get(name):
            return parsed, parsed[name]
    return parsed, parsed


def _has_error(parsed: Any) -> bool:
    outer, error = _find_error(parsed)
    return bool(outer) and error is not outer


def _read_words(error: Any) -> str:
    match error:
        case str():
            return error
        case {} if not error:  # an object that says nothing
            return ""
        case {"message": words, "metadata": {"raw": str(raw)}}:  # OpenRouter, of its provider
            return f"{_read_words(words)}: {raw}"
        case {"message": words} | {"detail": words} | {"msg": words} if words:
            return _read_words(words)
        case [{"msg": str()}, *_]:  # FastAPI's list of fields
            return "; ".join(_read_words(each) for each in error)
        case _:
            return json.dumps(error)


def _read_name(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and value else ""


def _add_reset(error: RateLimited, parsed: Any) -> None:
    """ChatGPT's backend says when a used-up limit is renewed."""
    _, found = _find_error(parsed)
    said = found if isinstance(found, dict) else {}
    at, in_s = said.get("resets_at"), said.get("resets_in_seconds")
    try:
        if isinstance(at, int | float):
            moment = datetime.fromtimestamp(at, UTC)
            error.data["retry_at"] = float(at)
            error.message += f" It is renewed at {moment:%Y-%m-%d %H:%M} UTC."
        elif isinstance(in_s, int | float) and 0 <= in_s < 1e9:
            error.data["retry_in_s"] = float(in_s)
    except (ValueError, OverflowError, OSError):
        pass  # a number that is no moment


def _parse(body: bytes) -> Any:
    text = body.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text or None


def _shorten(words: str) -> str:
    """One line without control characters, of bounded length."""
    text = _CONTROL.sub(" ", words.encode("utf-8", "replace").decode()).strip()
    return text if len(text) <= WORDS_LIMIT else text[:WORDS_LIMIT] + "..."
