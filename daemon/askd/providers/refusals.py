"""What a server's error answer means, as one of our errors with a sentence.

Pure: status, headers and body in, a `ProviderError` out. The provider's own
words are shown, shortened; what is known of the shapes of OpenAI and of the
servers that imitate it (llama.cpp, vLLM, Ollama, Copilot, FastAPI) is here.
It does not decide whether to try again.
"""

import json
import re
from collections.abc import Mapping
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

WORDS_LIMIT = 500
"""Characters of a provider's own words that are shown; a sentence, not a page."""

_OVERFLOW_CODES = {
    "context_length_exceeded",
    "model_max_prompt_tokens_exceeded",
    "exceed_context_size_error",
}
_OVERFLOW_WORDS = (
    "exceed context limit",
    "this model's maximum context length is",
    "model's maximum context limit",
    "is longer than the model's context length",
    "input tokens exceed the configured limit",
    "exceeds the available context size",
    "exceeds the maximum number of tokens allowed",
    "prompt is too long",
)
_NO_OVERFLOW = "string_above_max_length"
"""The code of a single field that is too long; its text reads like an overflow's."""

_PAIRING_WORDS = re.compile(
    r"role ['\"]tool['\"] must be a response to a prec"
    r"|an assistant message with ['\"]tool_calls['\"] must be followed by tool messages",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def read_refusal(
    provider: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """The error that an answer with an error status means.

    Its `data` may hold `final: True` (trying again cannot help, whatever the
    status says) and `pairing: True` (the request broke the rules of tool calls).
    """
    if headers.get("content-type", "").startswith("text/html") or body.lstrip()[:1] == b"<":
        words, code, kind = "", "", ""
    else:
        words, code, kind = read_error_object(_parse(body))
    if 300 <= status < 400:
        target = headers.get("location", "").partition("?")[0]
        return Refused(
            f"{provider} redirects to {target or 'another address'}; a key is never sent after "
            "a redirect: set `base_url` to the final address."
        )
    return classify(provider, status=status, words=words, code=code, kind=kind)


def read_error_object(parsed: Any) -> tuple[str, str, str]:
    """Words, code and type out of whatever stands in place of `{"error": {...}}`."""
    error = parsed
    if isinstance(parsed, dict):
        error = parsed.get("error") or parsed.get("detail") or parsed.get("message") or parsed
    if isinstance(error, dict):
        words = error.get("message") or error.get("detail") or json.dumps(error)
        return _shorten(words), str(error.get("code") or ""), str(error.get("type") or "")
    if isinstance(error, str):
        return _shorten(error), "", ""
    return ("", "", "") if error is None else (_shorten(json.dumps(error)), "", "")


def classify(
    provider: str, *, status: int, words: str, code: str = "", kind: str = ""
) -> ProviderError:
    """The error for this status and these words; status 200 is an error inside a stream."""
    lowered = words.lower()
    said = f": {words}" if words else ""
    if _NO_OVERFLOW not in (code, kind) and (
        {code, kind} & _OVERFLOW_CODES or any(each in lowered for each in _OVERFLOW_WORDS)
    ):
        return Overflowed(f"{provider}: the conversation exceeds the model's window{said}")
    if status in (401, 403) or code == "invalid_api_key" or kind == "authentication_error":
        return Unauthenticated(f"{provider} refused the key (HTTP {status}){said}")
    if code == "model_not_found" or (status == 404 and "model" in lowered):
        return UnknownModel(f"{provider} has no such model{said}")
    if code == "insufficient_quota":
        return RateLimited(f"{provider}: the quota is used up{said}", data={"final": True})
    if status == 429 or code == "rate_limit_exceeded":
        return RateLimited(f"{provider}: too many requests (HTTP 429){said}")
    if status == 413:
        return Overflowed(f"{provider}: the request is too large (HTTP 413){said}")
    if status in (408, 409) or status >= 500 or (status == 200 and kind == "server_error"):
        page = "" if words else " without a readable reason"
        shown = "in its answer" if status == 200 else f"(HTTP {status})"
        return Unavailable(f"{provider} had an error {shown}{page}{said}")
    if status == 404:
        return Refused(
            f"{provider}: nothing is there (HTTP 404){said}. Check `base_url`: "
            "it ends before `/chat/completions`, often in `/v1`."
        )
    if status == 200:
        if words:
            return Unavailable(f"{provider} had an error in its answer{said}")
        return BadAnswer(f"{provider} answered with something that is not a stream of events.")
    data = {"pairing": True} if _PAIRING_WORDS.search(words) else {}
    return Refused(f"{provider} refused the request (HTTP {status}){said}", data=data)


_BY_REASON: Mapping[str, type[ProviderError]] = {
    each.reason: each
    for each in (BadAnswer, Overflowed, RateLimited, Refused, Unauthenticated, UnknownModel)
}


def restore_error(failure: Failure) -> ProviderError:
    """An error inside a stream, as the exception that it would have been before it."""
    return _BY_REASON.get(failure.reason, Unavailable)(failure.message)


def _parse(body: bytes) -> Any:
    text = body.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text or None


def _shorten(words: Any) -> str:
    """One line without control characters, of bounded length."""
    text = words if isinstance(words, str) else json.dumps(words)
    text = _CONTROL.sub(" ", text.encode("utf-8", "replace").decode()).strip()
    return text if len(text) <= WORDS_LIMIT else text[:WORDS_LIMIT] + "..."
