"""What one provider offers: settings before its listing before the table, and to whom."""

from pathlib import Path
from typing import Any

import pytest

from askd.errors import NotConfigured, SecretsNeeded, UnknownModel
from askd.providers.base import Caller, Endpoint, Manners, Price
from askd.providers.known import ProviderConfig
from askd.providers.local import LocalConfig, LocalModel
from askd.providers.models.limits import GUESS, OLLAMA_WINDOW, ModelConfig
from askd.providers.models.offers import FREE, Offers, find_callers_key
from tests.fakes.credentials import Desk, make_config
from tests.fakes.model_program import PROGRAM
from tests.fakes.shelves import Shelves

NOBODY = Caller()


@pytest.fixture
def shelves() -> Shelves:
    return Shelves(first=1000, second=2000)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def stand(
    desk: Desk, shelves: Shelves, *providers: ProviderConfig, local_only: bool = False, **more: Any
) -> Offers:
    """What is offered under these settings."""
    local = LocalModel(LocalConfig(context_tokens=1000), program=PROGRAM)
    return Offers(
        credentials=desk.make(*providers, local_only=local_only),
        inventory=shelves.keep(),
        local=local,
        models=more.get("models", {}),
        local_only=local_only,
    )


async def test_a_window_that_nobody_knows_is_asked_for_once(desk: Desk, shelves: Shelves) -> None:
    offers = stand(desk, shelves, make_config())
    for _ in range(2):
        model = await offers.describe("work", "second", NOBODY)
        assert (model.limits.context_window, model.limits.known) == (2000, True)
    assert (await offers.describe("work", "unheard-of", NOBODY)).limits == GUESS
    assert shelves.asked == ["/models"]


async def test_nobody_is_asked_where_settings_or_the_table_know(
    desk: Desk, shelves: Shelves
) -> None:
    models = {"work/m": ModelConfig(context_window=50_000)}
    offers = stand(desk, shelves, make_config(), models=models)
    assert (await offers.describe("work", "m", NOBODY)).limits.context_window == 50_000
    caller = Caller(secrets={"OPENAI_API_KEY": "sk-theirs"})
    model = await offers.describe("openai", "gpt-4o", caller)
    assert (model.limits.context_window, model.dialect) == (128_000, "openai-responses")
    assert shelves.asked == []


async def test_openais_own_dialect_is_not_an_imitators(desk: Desk, shelves: Shelves) -> None:
    caller = Caller({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, {"OPENAI_API_KEY": "sk-theirs"})
    model = await stand(desk, shelves).describe("openai", "gpt-4o", caller)
    assert model.dialect == "openai-chat"


async def test_settings_go_before_the_listing(desk: Desk, shelves: Shelves) -> None:
    config = ModelConfig(
        context_window=9000,
        price=Price(input=1.0, output=2.0),
        tools=False,
        manners=Manners(images=True, temperature=0.5),
    )
    offers = stand(desk, shelves, make_config(), models={"work/first": config})
    models, trouble = await offers.list_models("work", NOBODY, refresh=False)
    assert trouble is None
    first, second = models
    assert first.limits.context_window == 9000
    assert first.price == config.price
    assert first.manners == Manners(images=True, temperature=0.5, tools=False)
    assert (second.limits.context_window, second.price) == (2000, None)


async def test_ollamas_window_is_bounded_and_known_by_one_question(
    desk: Desk, shelves: Shelves
) -> None:
    shelves.windows = {"big": 131_072}
    offers = stand(desk, shelves)
    model = await offers.describe("ollama", "big", NOBODY)
    assert (model.dialect, model.limits.context_window) == ("ollama", OLLAMA_WINDOW)
    assert shelves.asked == ["/api/show big"]


async def test_a_callers_listing_is_the_callers(desk: Desk, shelves: Shelves) -> None:
    offers = stand(desk, shelves, make_config(api_key_env="WORK_KEY", api_key_cmd=("false",)))
    caller = Caller(secrets={"WORK_KEY": "wk-theirs"})
    await offers.list_models("work", caller, refresh=False)
    assert await offers.recall_names(["work"], caller) == ["work/first", "work/second"]
    assert await offers.recall_names(["work"], NOBODY) == []
    assert await offers.recall_names(["work"], Caller(secrets={"WORK_KEY": "wk-2"})) == []


async def test_names_are_recalled_of_those_that_can_be_asked(desk: Desk, shelves: Shelves) -> None:
    offers = stand(desk, shelves, make_config(), make_config("keyless", api_key_env="NOT_SET"))
    await offers.list_models("work", NOBODY, refresh=False)
    assert await offers.recall_names(["keyless", "work"], NOBODY) == ["work/first", "work/second"]


async def test_missing_key_is_said_before_anything_is_asked(desk: Desk, shelves: Shelves) -> None:
    offers = stand(desk, shelves, make_config(api_key_env="WORK_KEY"))
    with pytest.raises(SecretsNeeded) as caught:
        await offers.describe("work", "m", NOBODY)
    assert caught.value.data == {"names": ["WORK_KEY"]}
    assert shelves.asked == []


async def test_local_only_holds_for_who_passes_prompts_on(desk: Desk, shelves: Shelves) -> None:
    shelves.windows = {"here": 1000, "cloud": 2000}
    shelves.facts = {"cloud": {"remote_host": "https://ollama.com"}}
    offers = stand(desk, shelves, local_only=True)
    models, _ = await offers.list_models("ollama", NOBODY, refresh=False)
    assert [each.name for each in models] == ["ollama/here"]
    with pytest.raises(NotConfigured) as caught:
        await offers.describe("ollama", "cloud", NOBODY)
    assert caught.value.reason == "local_only"
    free = stand(desk, shelves)
    assert (await free.describe("ollama", "cloud", NOBODY)).limits.context_window == 2000


async def test_what_runs_here_costs_nothing(desk: Desk, shelves: Shelves) -> None:
    shelves.windows = {"here": 1000, "cloud": 2000}
    shelves.facts = {"cloud": {"remote_host": "https://ollama.com"}}
    offers = stand(desk, shelves)
    here = await offers.describe("ollama", "here", NOBODY)
    cloud = await offers.describe("ollama", "cloud", NOBODY)
    assert (here.price, cloud.price) == (FREE, None)
    ((embedded,), _) = await offers.list_models("local", NOBODY, refresh=False)
    assert embedded.price == FREE
    remote = stand(
        desk, shelves, make_config(dialect="ollama", base_url="http://ollama.example:11434")
    )
    assert (await remote.describe("work", "here", NOBODY)).price is None


async def test_the_embedded_model(desk: Desk, shelves: Shelves) -> None:
    offers = stand(desk, shelves)
    assert offers.is_provider("local")
    assert offers.is_embedded("local")
    ((model,), trouble) = await offers.list_models("local", NOBODY, refresh=True)
    assert trouble is None
    assert (model.dialect, model.limits.context_window) == ("local", 1000)
    assert model.manners == Manners(tools="schema", images=False)
    with pytest.raises(UnknownModel, match=f"Did you mean {model.name}"):
        await offers.describe("local", "smollm", NOBODY)


def test_a_configured_provider_may_be_called_local(desk: Desk, shelves: Shelves) -> None:
    offers = stand(desk, shelves, make_config("local"))
    assert offers.is_provider("local")
    assert not offers.is_embedded("local")
    assert offers.is_provider("anthropic")
    assert not offers.is_provider("nobody")


def test_a_callers_key_is_known_by_its_value() -> None:
    endpoint = Endpoint(provider="p", base_url="http://127.0.0.1:1", api_key="k1")
    assert find_callers_key(endpoint, Caller(secrets={"ANY": " k1\n"})) == "k1"
    assert find_callers_key(endpoint, Caller(secrets={"ANY": "k2"})) is None
    keyless = Endpoint(provider="p", base_url="http://127.0.0.1:1")
    assert find_callers_key(keyless, Caller(secrets={"ANY": ""})) is None
