"""When to ask a server again, and how long to wait first.

Pure: statuses, headers and a random number in, seconds out. It neither waits
nor asks; `transport` does, and only before anything of an answer was shown.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from askd.errors import Overflowed, ProviderError, RateLimited, Unavailable

LONGEST_WAIT_S = 60.0
"""A server that asks for more is not waited for: whoever asked hears when instead."""

_PART = r"\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\b"
_COMPACT = r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+"
_SAID = re.compile(
    rf"(?:try again|retry) (?:in|after)\s+({_COMPACT}(?![a-z])|{_PART})", re.IGNORECASE
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|s|m|h|d)")
_SECONDS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How patient to be. Times in seconds."""

    tries: int = 4  # the first one included
    base_s: float = 0.25  # doubling: 0.25, 0.5, 1
    longest_wait_s: float = LONGEST_WAIT_S


def is_retryable(error: ProviderError, headers: Mapping[str, str], status: int | None) -> bool:
    """Whether the same request may succeed a moment later. `status` None: there was no answer."""
    if error.data.get("final") or isinstance(error, Overflowed):
        return False
    said = headers.get("x-should-retry", "").lower()
    if said in ("true", "false"):
        return said == "true"
    if not isinstance(error, Unavailable | RateLimited):
        return False
    return status in (None, 200, 408, 409, 429) or status >= 500


def read_retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that the server asks to wait, or None. `now` in unix seconds."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    if value is None:
        return None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def read_retry_words(words: str) -> float | None:
    """Seconds that a sentence such as "Please try again in 6m0.5s." asks to wait, or None.

    The forms of OpenAI ("2.5s", "20ms", "1 second"), Groq ("7m12.4s") and Gemini.
    """
    said = _SAID.search(words)
    if said is None:
        return None
    amounts = _AMOUNT.findall(said[1].lower())
    return math.fsum(float(number) * _SECONDS[unit] for number, unit in amounts)


def write_seconds(seconds: float) -> str:
    """A wait in words: "0.3 s", "45 s", "10 minutes", "5 hours", "3 days"."""
    if seconds < 10:
        return f"{max(seconds, 0.1):.1f}".removesuffix(".0") + " s"
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds > 2 * size - 1:
            return f"{math.ceil(seconds / size)} {unit}"
    return f"{math.ceil(seconds)} s"


def plan_wait(
    rules: RetryRules, *, tried: int, retry_after: float | None, chance: float
) -> float | None:
    """Seconds until the next try after `tried` of them; None: give up.

    Without the server's word: full jitter, `chance` (0..1) of the doubled base.
    """
    if tried >= rules.tries:
        return None
    if retry_after is not None:
        return retry_after if retry_after <= rules.longest_wait_s else None
    return chance * rules.base_s * float(2 ** (tried - 1))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None
