"""How a turn or a request can end: the codes, as the command line shows them.

The same numbers stand in `ask.protocol.errors`, which the core may not import;
a house test holds the two tables equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

DONE = 0
FAILED = 1  # failed, refused, or interrupted by someone else
USAGE = 2  # wrong words: also an unknown model, an empty prompt, a bad configuration
NOT_FOUND = 3  # no such conversation or job, or more than one
CREDENTIALS = 4  # none, or wrong ones, or no provider at all
RATE_LIMITED = 5
APPROVAL_NEEDED = 6
OVERFLOW = 7
BUSY = 8
CUT = 9  # a length limit ended the answer
NO_DAEMON = 69
STORAGE = 74
TIME_LIMIT = 124

Outcome = Literal["completed", "failed", "interrupted", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something ended badly: an exit code, a word for programs, a sentence for people.

    `data`: the rest that the error knew, such as `retry_at`; it makes no other failure.
    """

    code: int
    reason: str
    message: str
    data: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one completion or of a whole turn, as the provider counted them.

    Cached tokens are a part of the input, reasoning tokens of the output.
    `cost_usd`: None where no price is known; a sum counts what is known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None

    @property
    def counted_input(self) -> int:
        """The input, or 0 where what was said of it contradicts itself."""
        return 0 if self.cached_tokens > self.input_tokens else self.input_tokens

    def __add__(self, other: "Usage") -> "Usage":
        costs = [each for each in (self.cost_usd, other.cost_usd) if each is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            sum(costs) if costs else None,
        )


Stop = Literal["end", "length", "calls", "refusal", "filtered", "pause", "unknown"]
"""Why a model stopped: done, cut by a limit, wants tools, refused, filtered, wants to be asked to
go on, not said."""


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ends: what its `turn_finished` will say beside the usage."""

    outcome: Outcome
    code: int
    reason: str | None = None
    message: str | None = None


def judge_stop(stop: Stop, *, is_empty: bool) -> End:
    """How a turn ends whose last answer asks for nothing more."""
    match stop:
        case "length":
            sentence = "The answer was cut by a length limit."
            return End("completed", CUT, "length", sentence)
        case "refusal":
            return End("failed", FAILED, "refused", "The model refused to answer.")
        case "filtered":
            sentence = "The provider's content filter stopped the answer."
            return End("failed", FAILED, "refused", sentence)
        case "end" | "calls" | "pause" | "unknown":
            sentence = "The model's answer was empty."
            return End("completed", DONE, None, sentence if is_empty else None)
    assert_never(stop)
