"""Bounds: from which size on a view is made smaller, and how small.

All of them in tokens of one model's window. It measures nothing and plans nothing.
"""

from dataclasses import dataclass

WORTH = 0.8
"""What a compaction makes of a context must not be larger than this part of it: a model that
repeats its history at length would else be asked for it again and again."""
USER_SHARE = 4
"""Of the budget, kept messages take a quarter at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a conversation may take, with one model.

    Attributes:
        window: all that the model can hold.
        budget: what of it a request may fill.
        compact_above: a next request of more than this is compacted.
        prune_from: a next request of this or more is pruned, where compaction does not help.
        user_tokens: of users' own messages that a compaction keeps word for word.
        summary_tokens: what a summary may take.
        min_turns: the last turns that pruning leaves whole.
        max_messages: that a view may hold, the coming prompt and its answer among them.
    """

    window: int
    budget: int
    compact_above: int
    prune_from: int
    user_tokens: int
    summary_tokens: int
    min_turns: int
    max_messages: int | None = None


def find_bounds(
    window: int,
    budget: int,
    *,
    compaction_threshold: float,
    prune_threshold: float,
    user_tokens: int,
    summary_tokens: int,
    min_turns: int,
    max_messages: int | None = None,
) -> Bounds:
    """The bounds for a window; thresholds are parts of it and never lie above the budget."""
    return Bounds(
        window=window,
        budget=budget,
        compact_above=min(int(window * compaction_threshold), budget),
        prune_from=min(int(window * prune_threshold), budget),
        user_tokens=min(user_tokens, budget // USER_SHARE),
        summary_tokens=min(summary_tokens, budget // USER_SHARE),
        min_turns=min_turns,
        max_messages=max_messages,
    )


def is_worth(before: int, after: int) -> bool:
    """Whether a context has become small enough for the trouble; both in tokens."""
    return after <= before * WORTH
