"""When to ask a server again, and how long to wait first.

Pure: statuses, headers and a random number in, seconds out. It neither waits
nor asks; `transport` does, and only before anything of an answer was shown.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from askd.errors import ProviderError, RateLimited, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How patient to be. Times in seconds."""

    tries: int = 4  # the first one included
    base_s: float = 0.25  # doubling: 0.25, 0.5, 1
    longest_wait_s: float = 60.0  # a server that asks for more gets no second try


def is_retryable(error: ProviderError, headers: Mapping[str, str], status: int | None) -> bool:
    """Whether the same request may succeed a moment later. `status` None: there was no answer."""
    if error.data.get("final"):
        return False
    said = headers.get("x-should-retry", "").lower()
    if said in ("true", "false"):
        return said == "true"
    if status is None or status == 200:
        return isinstance(error, Unavailable | RateLimited)
    return status in (408, 409, 429) or status >= 500


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
