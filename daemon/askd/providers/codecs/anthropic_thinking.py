"""How each generation of Claude is told to think: the fields `thinking` and `effort`.

Pure: a model's name, the effort that was asked for and the cap of the output in, the
fields out. What each generation takes is what Anthropic documents in its migration
guides; a field of another generation is refused with HTTP 400. In short:

    before 4.6         a budget of tokens, off unless asked; servers that imitate
                       Anthropic know this form too, so every other name gets it
    4.6 to 4.8         `adaptive` with an effort, off unless asked
    5 and later        `adaptive` with an effort, on unless turned off; how it is turned
                       off differs, and some cannot be: those think as little as they may

Where a model thinks, a readable summary is asked for: without that word the newer ones
send signatures alone. A temperature is none of its concern: who sets one for a model
that takes none hears so from the server.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from askd.providers.base import Effort

LEAST_BUDGET_TOKENS = 1024
"""Anthropic refuses a smaller one."""

_BUDGETS: Mapping[Effort, int] = {"minimal": 1024, "low": 4096, "medium": 8192, "high": 16_000}
"""Tokens to think with; the largest is half of the default cap, so that an answer has room."""

_EFFORTS: Mapping[Effort, str] = {
    "none": "low",  # for models that cannot be told to stop
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
}

_FAMILY_FIRST = re.compile(r"claude-([a-z]+)(?:-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d))?")
_VERSION_FIRST = re.compile(r"claude-(?:instant|v?\d)")
_NEWEST = (99, 0)

Way = Literal["budget", "adaptive", "always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """What to send. None: leave the field out.

    Attributes:
        config: the field `thinking`.
        effort: the field `output_config.effort`.
    """

    config: Mapping[str, Any] | None = None
    effort: str | None = None

    @property
    def is_manual(self) -> bool:
        """Whether a budget was given; the server then wants thinking ahead of calls, too."""
        return self.config is not None and self.config["type"] == "enabled"


_ADAPTIVE = {"type": "adaptive", "display": "summarized"}


def plan_thinking(model: str, effort: Effort | None, *, max_tokens: int) -> Thinking:
    """The fields for this model, effort and cap of the output, thinking included.

    The cap is a promise and the effort a wish: a budget takes at most half of the
    cap, and where the least one does not fit the model does not think.
    """
    way, off = _find_way(model)
    if way == "budget":
        budget = min(_BUDGETS.get(effort or "none", 0), max_tokens // 2)
        if budget < LEAST_BUDGET_TOKENS:
            return Thinking()
        return Thinking(config={"type": "enabled", "budget_tokens": budget})
    if effort is None:
        return Thinking(config=_ADAPTIVE if way == "always" else None)
    if effort == "none" and (way == "adaptive" or off):
        return Thinking(config={"type": off} if off else None)
    return Thinking(config=_ADAPTIVE, effort=_EFFORTS[effort])


def _find_way(model: str) -> tuple[Way, str | None]:
    """How a model is told to think, and the type that turns off what is on by itself."""
    name = model.lower()
    found = _FAMILY_FIRST.search(name)
    if found is None or _VERSION_FIRST.search(name):
        return "budget", None
    family, major, minor = found.groups()
    version = (int(major), int(minor or 0)) if major else _NEWEST
    if family in ("opus", "sonnet", "haiku"):
        if version < (4, 6):
            return "budget", None
        if version < (5, 0):
            return "adaptive", None
    return "always", _find_off(family, version)


def _find_off(family: str, version: tuple[int, int]) -> str | None:
    match family:
        case "haiku":
            return "disabled"
        case "sonnet":
            return "disabled" if version < (5, 5) else "between_tools"
        case "opus" if version < (5, 5):
            return "disabled"
        case _:
            return None
