"""Limits of models: configured, listed, published, or a guess that says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.base import Limits, Manners
from askd.providers.models.limits import (
    GUESS,
    MOST_RESERVED,
    OLLAMA_WINDOW,
    ModelConfig,
    find_limits,
    find_local_limits,
    find_published,
    merge_manners,
)
from askd.providers.models.listings import Listed


def test_longest_prefix_counts() -> None:
    assert find_limits("openai", "gpt-4o-mini", None).context_window == 128_000
    assert find_limits("openai", "gpt-4", None).context_window == 8_192
    assert find_limits("openai", "gpt-5-mini-2026-01-01", None).budget == 272_000
    assert find_limits("anthropic", "claude-opus-4-5", None).reserved_output == 32_000
    assert find_limits("gemini", "gemini-2.5-flash", None).context_window == 1_048_576


def test_resellers_put_the_vendor_before_the_name() -> None:
    assert find_limits("openrouter", "openai/gpt-4o", None).context_window == 128_000
    assert find_limits("openrouter", "x/y", None) == GUESS


def test_unknown_model_is_a_guess_that_says_so() -> None:
    assert find_limits("openai", "nobody-knows", None) == GUESS
    assert find_limits("work", "gpt-5", None) == GUESS  # another server's name proves nothing
    assert not GUESS.known
    # ... but only Anthropic's models are behind Anthropic's dialect.
    assert find_limits("mine", "claude-sonnet-4-5", None, dialect="anthropic").known
    assert find_published("work", "gpt-5", "openai-chat") is None


def test_a_listing_is_better_than_the_table() -> None:
    listed = Listed(name="gpt-4o", context_window=64_000)
    found = find_limits("openai", "gpt-4o", None, listed=listed)
    assert found == Limits(context_window=64_000, reserved_output=16_384)
    listed = Listed(name="gpt-4o", context_window=64_000, max_output_tokens=8_000)
    assert find_limits("openai", "gpt-4o", None, listed=listed).reserved_output == 8_000
    nothing = Listed(name="gpt-4o", max_output_tokens=8_000)
    assert find_limits("openai", "gpt-4o", None, listed=nothing).context_window == 128_000


def test_an_answer_as_long_as_the_window_is_no_limit() -> None:
    listed = Listed(name="m", context_window=131_072, max_output_tokens=131_072)
    assert find_limits("work", "m", None, listed=listed).reserved_output == MOST_RESERVED


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
    listed = Listed(name="m", context_window=7_777)
    if config.context_window is not None:
        assert find_limits("work", "m", config, listed=listed) == expected


@given(
    window=st.none() | st.integers(1, 10**9),
    output=st.none() | st.integers(1, 10**9),
    listed=st.builds(
        Listed,
        name=st.just("m"),
        context_window=st.none() | st.integers(1, 10**9),
        max_output_tokens=st.none() | st.integers(1, 10**9),
    ),
    dialect=st.sampled_from(["openai-chat", "ollama", "anthropic"]),
)
def test_the_reserve_never_fills_the_window(window, output, listed, dialect) -> None:  # type: ignore[no-untyped-def]
    config = ModelConfig(context_window=window, max_output_tokens=output)
    limits = find_limits("work", "m", config, listed=listed, dialect=dialect)
    assert 0 <= limits.reserved_output < limits.context_window or limits.context_window == 1
    assert limits.budget > 0


def ollama(config: ModelConfig | None = None, listed: Listed | None = None) -> Limits:
    return find_limits("ollama", "m", config, listed=listed, dialect="ollama")


def test_ollama_is_not_told_to_hold_more_than_memory_does() -> None:
    assert ollama(listed=Listed(name="m", context_window=131_072)) == Limits(
        context_window=OLLAMA_WINDOW, reserved_output=OLLAMA_WINDOW // 4
    )
    assert ollama(listed=Listed(name="m", context_window=2_048)).context_window == 2_048
    unknown = ollama()
    assert (unknown.context_window, unknown.known) == (OLLAMA_WINDOW, False)


def test_ollamas_window_is_what_somebody_set() -> None:
    listed = Listed(name="m", context_window=131_072)
    assert ollama(ModelConfig(context_window=65_536), listed).context_window == 65_536
    fixed = Listed(name="m", context_window=16_384, is_fixed=True)
    assert ollama(listed=fixed).context_window == 16_384
    remote = Listed(name="m", context_window=131_072, is_remote=True)
    assert ollama(listed=remote).context_window == 131_072


def test_embedded_model() -> None:
    assert find_local_limits(8192, None) == Limits(context_window=8192, reserved_output=2048)
    assert find_local_limits(1000, None).reserved_output == 250
    assert find_local_limits(8192, ModelConfig(max_output_tokens=64)).reserved_output == 64


@pytest.mark.parametrize(
    ("config", "listed", "expected"),
    [
        (None, None, Manners()),
        (None, Listed(name="m", images=True, tools=False), Manners(images=True, tools=False)),
        (None, Listed(name="m", tools=True), Manners(tools=True)),
        (ModelConfig(tools=True), Listed(name="m", tools=False), Manners(tools=True)),
        (ModelConfig(tools=False), Listed(name="m", tools=True), Manners(tools=False)),
        (None, Listed(name="m", tools="schema"), Manners(tools="schema")),
        (ModelConfig(manners=Manners(tools=False)), Listed(name="m", tools="schema"),
         Manners(tools=False)),
        (ModelConfig(tools=True), Listed(name="m", tools="schema"), Manners(tools=True)),
        (ModelConfig(tools="schema"), Listed(name="m", tools=False), Manners(tools="schema")),
        (ModelConfig(manners=Manners(images=False, stop=("x",))), Listed(name="m", images=True),
         Manners(images=False, stop=("x",))),
    ],
)  # fmt: skip
def test_settings_go_before_the_listing(
    config: ModelConfig | None, listed: Listed | None, expected: Manners
) -> None:
    assert merge_manners(config, listed) == expected
