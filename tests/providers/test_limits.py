"""Limits of models: configured, published, or a guess that says so."""

import pytest

from askd.providers.base import Limits
from askd.providers.limits import GUESS, ModelConfig, find_limits, find_local_limits


def test_longest_prefix_counts() -> None:
    assert find_limits("openai", "gpt-4o-mini", None).context_window == 128_000
    assert find_limits("openai", "gpt-4", None).context_window == 8_192
    assert find_limits("openai", "gpt-5-mini-2026-01-01", None).budget == 272_000


def test_unknown_model_is_a_guess_that_says_so() -> None:
    assert find_limits("openai", "nobody-knows", None) == GUESS
    assert find_limits("work", "gpt-5", None) == GUESS  # another server's name proves nothing
    assert not GUESS.known


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (ModelConfig(context_window=100_000), Limits(context_window=100_000, reserved_output=4096)),
        (ModelConfig(context_window=1_000), Limits(context_window=1_000, reserved_output=250)),
        (ModelConfig(context_window=1_000, max_output_tokens=5_000),
         Limits(context_window=1_000, reserved_output=500)),
        (ModelConfig(max_output_tokens=100),
         Limits(context_window=32_768, reserved_output=100, known=False)),
        (ModelConfig(), GUESS),
    ],
)  # fmt: skip
def test_configuration_wins(config: ModelConfig, expected: Limits) -> None:
    assert find_limits("work", "m", config) == expected


def test_configured_window_stays_within_itself() -> None:
    for window in (1, 2, 10, 4_096, 10**9):
        limits = find_limits("work", "m", ModelConfig(context_window=window))
        assert 0 <= limits.reserved_output < window
        assert limits.budget > 0


def test_embedded_model() -> None:
    assert find_local_limits(8192, None) == Limits(context_window=8192, reserved_output=2048)
    assert find_local_limits(1000, None).reserved_output == 250
    assert find_local_limits(8192, ModelConfig(max_output_tokens=64)).reserved_output == 64
