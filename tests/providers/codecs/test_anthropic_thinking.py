"""Which fields tell which generation of Claude to think."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.base import Effort
from askd.providers.codecs.anthropic_thinking import LEAST_BUDGET_TOKENS, Thinking, plan_thinking

ADAPTIVE: Mapping[str, Any] = {"type": "adaptive", "display": "summarized"}
OFF = Thinking()

BUDGET = (
    "claude-3-7-sonnet-20250219",
    "claude-3-5-haiku-latest",
    "claude-2.1",
    "claude-instant-1.2",
    "claude-opus-4-20250514",
    "claude-opus-4-0",
    "claude-sonnet-4-5-20250929",
    "claude-haiku-4-5",
    "anthropic/claude-opus-4.5",
    "SmolLM2-135M",
    "qwen3:8b",
)
ADAPTIVE_IF_ASKED = ("claude-opus-4-6", "claude-sonnet-4-6", "anthropic.claude-opus-4-7-v1:0",
                     "claude-opus-4-8", "anthropic/claude-sonnet-4.6")  # fmt: skip
ON_AND_OFF = {
    "claude-sonnet-5": "disabled",
    "claude-opus-5": "disabled",
    "claude-haiku-5-5": "disabled",
    "claude-sonnet-5-5": "between_tools",
    "claude-sonnet-6": "between_tools",
}
NEVER_OFF = ("claude-opus-5-5", "claude-fable-5", "claude-fable-5-2", "claude-mythos-preview",
             "claude-mythos-5-1", "claude-saga-7")  # fmt: skip


@pytest.mark.parametrize("model", BUDGET)
def test_older_models_and_other_names_get_a_budget(model: str) -> None:
    plan = plan_thinking(model, "medium", max_tokens=32_000)
    assert plan == Thinking(config={"type": "enabled", "budget_tokens": 8192})
    assert plan.is_manual
    assert plan_thinking(model, None, max_tokens=32_000) == OFF
    assert plan_thinking(model, "none", max_tokens=32_000) == OFF


@pytest.mark.parametrize("model", ADAPTIVE_IF_ASKED)
def test_models_from_4_6_on_think_if_asked(model: str) -> None:
    assert plan_thinking(model, "high", max_tokens=100) == Thinking(config=ADAPTIVE, effort="high")
    assert plan_thinking(model, "minimal", max_tokens=100).effort == "low"
    assert plan_thinking(model, None, max_tokens=100) == OFF
    assert plan_thinking(model, "none", max_tokens=100) == OFF


@pytest.mark.parametrize(("model", "off"), ON_AND_OFF.items())
def test_models_from_5_on_are_turned_off_in_their_own_word(model: str, off: str) -> None:
    assert plan_thinking(model, None, max_tokens=100) == Thinking(config=ADAPTIVE)
    assert plan_thinking(model, "none", max_tokens=100) == Thinking(config={"type": off})
    assert plan_thinking(model, "low", max_tokens=100) == Thinking(config=ADAPTIVE, effort="low")


@pytest.mark.parametrize("model", NEVER_OFF)
def test_models_that_always_think_do_it_as_little_as_they_may(model: str) -> None:
    assert plan_thinking(model, None, max_tokens=100) == Thinking(config=ADAPTIVE)
    assert plan_thinking(model, "none", max_tokens=100) == Thinking(config=ADAPTIVE, effort="low")


@given(st.sampled_from(["none", "minimal", "low", "medium", "high"]), st.integers(1, 200_000))
def test_budget_leaves_at_least_half_of_the_cap(effort: Effort, max_tokens: int) -> None:
    plan = plan_thinking("claude-haiku-4-5", effort, max_tokens=max_tokens)
    assert plan.effort is None
    if plan.config is None:
        assert effort == "none" or max_tokens < 2 * LEAST_BUDGET_TOKENS
    else:
        assert LEAST_BUDGET_TOKENS <= plan.config["budget_tokens"] <= max_tokens // 2
