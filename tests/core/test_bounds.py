"""Bounds follow from a window, and never lie above what a request may fill."""

import pytest

from askd.core.bounds import Bounds, find_bounds, is_worth


def bound(window: int, reserved: int) -> Bounds:
    return find_bounds(
        window,
        window - reserved,
        compaction_threshold=0.8,
        prune_threshold=0.9,
        user_tokens=20_000,
        summary_tokens=500,
        min_turns=2,
    )


@pytest.mark.parametrize(
    ("window", "reserved", "compact_above", "prune_from", "user_tokens"),
    [
        (8_000, 1_000, 6_400, 7_000, 1_750),
        (8_000, 2_000, 6_000, 6_000, 1_500),
        (100_000, 4_096, 80_000, 90_000, 20_000),
        (200_000, 8_192, 160_000, 180_000, 20_000),
        (400_000, 128_000, 272_000, 272_000, 20_000),
    ],
)
def test_thresholds_of_windows(
    window: int, reserved: int, compact_above: int, prune_from: int, user_tokens: int
) -> None:
    found = bound(window, reserved)
    assert (found.compact_above, found.prune_from) == (compact_above, prune_from)
    assert found.user_tokens == user_tokens
    assert found.budget == window - reserved


def test_a_fifth_must_be_saved() -> None:
    assert is_worth(100, 80)
    assert not is_worth(100, 81)
