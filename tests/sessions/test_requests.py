"""The prompt's options are above the model's manners, and what neither says is not said."""

from dataclasses import replace

import pytest

from askd.core.context import build_context
from askd.core.conversation import Conversation
from askd.core.events import TurnOptions
from askd.core.items import Text, UserMessage
from askd.core.outcome import Usage
from askd.providers.base import Limits, Manners, Model, ModelRequest, Price
from askd.sessions.contents import Contents
from askd.sessions.requests import (
    add_cost,
    build_request,
    explain_guess,
    find_context,
    find_system,
)

ITEMS = [UserMessage("u", (Text("hi"),))]
TOOLS = [{"name": "f", "description": "", "parameters": {}}]
SCHEMA = {"type": "null"}
MODEL = Model(
    name="test/some/small",
    provider="test",
    dialect="openai-chat",
    limits=Limits(context_window=1000, reserved_output=100),
)
POLITE = Manners(temperature=0.3, stop=("###",), effort="high", system_as_user=True, tools=False)


def build(
    options: TurnOptions | None = None,
    *,
    manners: Manners | None = None,
    images: dict[str, bytes] | None = None,
) -> ModelRequest:
    return build_request(
        ITEMS,
        contents=Contents(list(ITEMS), images or {}),
        system="s",
        model=replace(MODEL, manners=manners or Manners()),
        options=options or TurnOptions(),
        tools=TOOLS,
    )


def test_nothing_is_said_of_which_nobody_speaks() -> None:
    assert build() == ModelRequest(
        model="some/small", items=ITEMS, system="s", tools=TOOLS, context_window=1000
    )


def test_manners_speak_where_the_prompt_does_not() -> None:
    assert build(manners=POLITE) == ModelRequest(
        model="some/small",
        items=ITEMS,
        system="s",
        temperature=0.3,
        stop=("###",),
        effort="high",
        system_as_user=True,
        context_window=1000,
    )


def test_the_prompt_is_above_the_manners() -> None:
    options = TurnOptions(temperature=0.0, stop=(), effort="none", max_output_tokens=5)
    request = build(options, manners=POLITE)
    assert (request.temperature, request.stop, request.effort) == (0.0, (), "none")
    assert request.max_output_tokens == 5


def test_an_effort_that_is_none_is_passed_over() -> None:
    assert build(TurnOptions(effort="colossal"), manners=POLITE).effort == "high"


@pytest.mark.parametrize("takes", [True, False])
def test_a_schema_is_sent_or_told(takes: bool) -> None:
    options, manners = TurnOptions(answer_schema=SCHEMA), Manners(schema=takes)
    assert build(options, manners=manners).schema == (SCHEMA if takes else None)
    told = find_system("s", options, replace(MODEL, manners=manners)) or ""
    assert told.startswith("s\n\nAnswer with JSON")
    assert ('{"type": "null"}' in told) is not takes
    alone = find_system(None, options, MODEL) or ""
    assert alone.startswith("Answer with JSON")


@pytest.mark.parametrize("system", [None, "s"])
def test_without_a_schema_nothing_is_added(system: str | None) -> None:
    assert find_system(system, TurnOptions(), MODEL) == system


def test_images_go_along() -> None:
    assert build(images={"sha": b"x"}).images == {"sha": b"x"}


def test_costs() -> None:
    usage = Usage(1_000_000, 1_000_000)
    priced = replace(MODEL, price=Price(input=1.0, output=2.0))
    assert add_cost(usage, priced) == replace(usage, cost_usd=3.0)
    assert add_cost(replace(usage, cost_usd=0.5), priced) == replace(usage, cost_usd=0.5)
    assert add_cost(usage, MODEL) == usage
    assert add_cost(None, priced) is None


def test_the_guess_says_what_to_set() -> None:
    assert explain_guess(MODEL) == (
        "Nobody says how much test/some/small can read; 1000 tokens are assumed. If that is "
        'wrong, set context_window under [models."test/some/small"].'
    )
    quoted = replace(MODEL, name='test/say "hi"')
    assert '[models."test/say \\"hi\\""]' in explain_guess(quoted)


def test_a_context_has_the_system_prompt_that_its_model_is_told() -> None:
    conversation = Conversation("c")
    options = TurnOptions(answer_schema=SCHEMA)
    rude = replace(MODEL, manners=Manners(schema=False))
    for model in (MODEL, rude):
        found = find_context(conversation, None, system="s", options=options, model=model)
        told = find_system("s", options, model)
        assert found == build_context(conversation, None, system=told)
    unknown = find_context(conversation, None, system="s", options=options, model=None)
    assert unknown.system == "s"
