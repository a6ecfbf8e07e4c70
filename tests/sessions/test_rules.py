"""The bounds of a model follow from its window and the rules, single models' own among them."""

import pytest

from askd.providers.base import Limits, Model
from askd.sessions.rules import ContextRules, Thresholds


def model_of(window: int, reserved: int, name: str = "test/small") -> Model:
    limits = Limits(context_window=window, reserved_output=reserved)
    return Model(name=name, provider="test", dialect="openai-chat", limits=limits)


@pytest.mark.parametrize(
    ("window", "reserved", "compact_above", "prune_from"),
    [
        (8_192, 2_048, 6_144, 6_144),  # both would lie above the budget
        (8_192, 512, 6_553, 7_372),
        (100_000, 4_096, 80_000, 90_000),
        (100_000, 15_000, 80_000, 85_000),
        (200_000, 32_000, 160_000, 168_000),
        (200_000, 64_000, 136_000, 136_000),
    ],
)
def test_thresholds_are_parts_of_the_window_and_never_above_the_budget(
    window: int, reserved: int, compact_above: int, prune_from: int
) -> None:
    bounds = ContextRules().bounds(model_of(window, reserved))
    assert (bounds.compact_above, bounds.prune_from) == (compact_above, prune_from)
    assert bounds.budget == window - reserved
    assert bounds.user_tokens == min(20_000, bounds.budget // 4)
    assert (bounds.min_turns, bounds.max_messages) == (2, None)


def test_a_model_can_have_thresholds_of_its_own() -> None:
    rules = ContextRules(
        by_model={
            "test/small": Thresholds(compaction=0.5),
            "test/large": Thresholds(prune=0.6),
        }
    )
    small = rules.bounds(model_of(10_000, 100))
    large = rules.bounds(model_of(10_000, 100, "test/large"))
    assert (small.compact_above, small.prune_from) == (5_000, 9_000)
    assert (large.compact_above, large.prune_from) == (8_000, 6_000)
