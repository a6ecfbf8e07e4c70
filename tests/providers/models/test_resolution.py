"""What a name means, and who answers without one: named, found, refused, explained."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from askd.errors import AskdError, NotConfigured, Unavailable, UnknownModel
from askd.providers.base import Caller, Limits, Model
from askd.providers.known import ProviderConfig
from askd.providers.local import LocalConfig, LocalModel
from askd.providers.models.choice import NOTHING_FOUND
from askd.providers.models.inventory import LOCAL_AGE_S, MOST_MODELS
from askd.providers.models.limits import ModelConfig
from askd.providers.models.offers import Offers
from askd.providers.models.resolution import Resolution
from tests.fakes.credentials import Desk, make_config, write_private
from tests.fakes.model_program import PROGRAM
from tests.fakes.shelves import Shelves

NOBODY = Caller()
WITH_KEY = Caller(secrets={"OPENAI_API_KEY": "sk-theirs"})


class Absent(LocalModel):
    """An embedded model that is not installed."""

    def find_missing(self) -> str | None:
        """Always something."""
        return "The embedded model's engine is not installed"


class Room:
    """A desk, shelves, and the resolution between them; Ollama is not running."""

    def __init__(self, home: Path) -> None:
        self.desk = Desk(home)
        self.shelves = Shelves(first=1000, second=2000)
        self.shelves.fails = Unavailable("nobody is there")
        self.shelves.failing = {"ollama"}

    def open(
        self,
        *providers: ProviderConfig,
        default_model: str | None = None,
        aliases: Mapping[str, str] | None = None,
        installed: bool = False,
        local_only: bool = False,
        models: Mapping[str, ModelConfig] | None = None,
    ) -> Resolution:
        """The resolution under these settings."""
        config = LocalConfig(context_tokens=1000)
        offers = Offers(
            credentials=self.desk.make(*providers, local_only=local_only),
            inventory=self.shelves.keep(),
            local=LocalModel(config, program=PROGRAM) if installed else Absent(config),
            models=models or {},
            local_only=local_only,
        )
        return Resolution(
            offers=offers,
            environ=self.desk.environ,
            default_model=default_model,
            aliases=aliases or {},
        )


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def refusal(resolution: Resolution, name: str | None, caller: Caller = NOBODY) -> AskdError:
    with pytest.raises(AskdError) as caught:
        await resolution.resolve(name, caller)
    return caught.value


# ---- names ------------------------------------------------------------------------


async def test_known_providers_need_no_settings(room: Room) -> None:
    resolution = room.open()
    caller = Caller(secrets={"ANTHROPIC_API_KEY": "ak", "GEMINI_API_KEY": "gk"})
    found = await resolution.resolve("anthropic/claude-sonnet-4-5", caller)
    assert (found.name, found.dialect) == ("anthropic/claude-sonnet-4-5", "anthropic")
    found = await resolution.resolve("gemini/gemini-2.5-pro", caller)
    assert found.limits.context_window == 1_048_576
    found = await resolution.resolve("openrouter/openai/gpt-4o", Caller(
        secrets={"OPENROUTER_API_KEY": "k"}
    ))  # fmt: skip
    assert found.bare_name == "openai/gpt-4o"
    assert room.shelves.asked == []


async def test_aliases_lead_to_names_and_may_shadow(room: Room) -> None:
    aliases = {"fast": "work/first", "openai": "work/second", "w": "work", "loop": "fast"}
    resolution = room.open(make_config(), aliases=aliases)
    assert (await resolution.resolve("fast", NOBODY)).name == "work/first"
    assert (await resolution.resolve("openai", WITH_KEY)).name == "work/second"
    assert (await resolution.resolve("w", NOBODY)).name == "work/first"
    assert "another alias" in (await refusal(resolution, "loop")).message


async def test_the_default_may_be_an_alias(room: Room) -> None:
    resolution = room.open(make_config(), default_model="fast", aliases={"fast": "work/second"})
    found = await resolution.resolve(None, NOBODY)
    assert (found.name, found.why) == ("work/second", None)
    assert await resolution.explain_default(NOBODY) == (
        "work/second",
        "`default_model` is fast",
    )


async def test_a_bare_name_is_found_by_asking_everybody(room: Room) -> None:
    room.shelves.of = {"a": {"m": 1, "both": 2}, "b": {"both": 3}}
    resolution = room.open(make_config("a"), make_config("b"))
    assert (await resolution.resolve("m", NOBODY)).name == "a/m"
    error = await refusal(resolution, "both")
    assert error.data == {"candidates": ["a/both", "b/both"]}


async def test_a_wrong_name_has_near_ones_aliases_among_them(room: Room) -> None:
    resolution = room.open(make_config(), aliases={"quick": "work/second"})
    error = await refusal(resolution, "frist")
    assert isinstance(error, UnknownModel)
    assert error.message == "Unknown model: frist. Did you mean work/first?"
    assert "quick" in (await refusal(resolution, "qick")).message


async def test_a_misspelt_provider_is_explained_without_asking_everybody(room: Room) -> None:
    resolution = room.open(make_config())
    await resolution.list_models(NOBODY)
    asked = len(room.shelves.asked)
    error = await refusal(resolution, "wrok/first")
    assert error.message == "Unknown model: wrok/first. Did you mean work/first?"
    assert len(room.shelves.asked) == asked


async def test_a_name_with_a_slash_that_a_provider_has_listed(room: Room) -> None:
    room.shelves.of = {"work": {"vendor/m": 5000}}
    resolution = room.open(make_config())
    assert isinstance(await refusal(resolution, "vendor/m"), UnknownModel)
    await resolution.list_models(NOBODY)
    assert (await resolution.resolve("vendor/m", NOBODY)).name == "work/vendor/m"


async def test_known_names_are_known_without_asking(room: Room) -> None:
    resolution = room.open(models={"groq/mine": ModelConfig()}, installed=True)
    caller = Caller(secrets={"OPENAI_API_KEY": "sk", "GROQ_API_KEY": "gk"})
    assert (await resolution.resolve("gpt-4o", caller)).name == "openai/gpt-4o"
    room.shelves.fails = None
    assert (await resolution.resolve("mine", caller)).name == "groq/mine"
    assert (await resolution.resolve("smollm2-135m", NOBODY)).name == "local/smollm2-135m"


async def test_what_was_listed_is_recalled_and_nobody_is_asked(room: Room) -> None:
    resolution = room.open(make_config(), installed=True)
    assert await resolution.recall_names(NOBODY) == ["local/smollm2-135m"]
    assert room.shelves.asked == []
    await resolution.list_models(NOBODY)
    asked = len(room.shelves.asked)
    names = await resolution.recall_names(NOBODY)
    assert {"work/first", "work/second", "local/smollm2-135m"} <= set(names)
    assert len(names) == len(set(names))
    assert len(room.shelves.asked) == asked


async def test_a_servers_own_refusal_names_what_it_listed(room: Room) -> None:
    resolution = room.open(make_config())
    model = Model(
        name="work/frist",
        provider="work",
        dialect="openai-chat",
        limits=Limits(context_window=1, reserved_output=0),
    )
    said = UnknownModel("work has no such model: frist")
    await resolution.list_models(NOBODY)
    error = await resolution.explain_missing(model, NOBODY, said)
    assert error.message == "work has no such model: frist. Did you mean work/first?"


# ---- nobody named one -------------------------------------------------------------


async def test_the_first_with_a_key_answers_with_its_default(room: Room) -> None:
    found = await room.open(make_config(), installed=True).resolve(None, WITH_KEY)
    assert found.name == "openai/gpt-5-mini"
    assert found.why == (
        "No model was named: using openai/gpt-5-mini, since OPENAI_API_KEY is set. Choose with -m."
    )
    assert room.shelves.asked == []


async def test_without_a_known_default_it_is_the_first_that_is_listed(room: Room) -> None:
    caller = Caller(secrets={"ANTHROPIC_API_KEY": "ak"})
    resolution = room.open()
    assert (await resolution.resolve(None, caller)).name == "anthropic/first"
    asked = len(room.shelves.asked)
    assert (await resolution.resolve(None, caller)).name == "anthropic/first"
    assert len(room.shelves.asked) == asked


async def test_what_is_known_of_openai_does_not_hold_elsewhere(room: Room) -> None:
    caller = Caller({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, {"OPENAI_API_KEY": "any"})
    assert (await room.open().resolve(None, caller)).name == "openai/first"


async def test_then_a_running_ollama_with_what_chats_here(room: Room) -> None:
    room.shelves.failing = {"nobody"}
    room.shelves.windows = {"embedder": 1, "cloud": 2, "qwen3:8b": 40_960}
    room.shelves.embeds = {"embedder"}
    room.shelves.facts = {"cloud": {"remote_host": "https://ollama.com"}}
    resolution = room.open(installed=True)
    found = await resolution.resolve(None, NOBODY)
    assert (found.name, found.limits.context_window) == ("ollama/qwen3:8b", 8192)
    assert "Ollama is running here" in str(found.why)
    assert await resolution.explain_default(NOBODY) == (
        "ollama/qwen3:8b",
        "no key and no provider is set and Ollama is running here",
    )


async def test_an_ollama_that_only_passes_on_is_not_chosen(room: Room) -> None:
    room.shelves.failing = {"nobody"}
    room.shelves.windows = {"cloud": 2}
    room.shelves.facts = {"cloud": {"remote_host": "https://ollama.com"}}
    assert (await room.open(installed=True).resolve(None, NOBODY)).provider == "local"
    error = await refusal(room.open(), "ollama")
    assert "name one: -m ollama/MODEL" in error.message


async def test_whether_ollama_runs_is_remembered(room: Room) -> None:
    resolution = room.open(installed=True)
    for _ in range(3):
        assert (await resolution.resolve(None, NOBODY)).provider == "local"
    assert room.shelves.asked == ["/api/tags"]
    room.shelves.failing = {"nobody"}
    room.shelves.now += LOCAL_AGE_S + 1
    assert (await resolution.resolve(None, NOBODY)).provider == "ollama"


async def test_an_ollama_elsewhere_is_looked_for_only_where_it_is_named(room: Room) -> None:
    room.shelves.failing = {"nobody"}
    room.desk.environ["OLLAMA_HOST"] = "10.0.0.1"
    assert (await room.open(installed=True).resolve(None, NOBODY)).provider == "local"
    assert room.shelves.asked == []
    named = Caller(env={"OLLAMA_HOST": "10.0.0.2"})
    assert (await room.open(installed=True).resolve(None, named)).provider == "ollama"
    refused = room.open(installed=True, local_only=True)
    assert (await refused.resolve(None, named)).provider == "local"


async def test_then_the_embedded_model_then_a_sentence(room: Room) -> None:
    found = await room.open(installed=True).resolve(None, NOBODY)
    assert found.name == "local/smollm2-135m"
    assert "very small model" in str(found.why)
    error = await refusal(room.open(), None)
    assert isinstance(error, NotConfigured)
    assert error.message == NOTHING_FOUND
    assert await room.open().explain_default(NOBODY) == (None, NOTHING_FOUND)
    assert isinstance(await refusal(room.open(), "some-name"), NotConfigured)


async def test_codexs_sign_in_is_listed_and_answers_only_by_name(room: Room) -> None:
    tokens = {"access_token": "at", "refresh_token": "rt", "id_token": "", "account_id": "a"}
    write_private(room.desk.codex_file, {"tokens": tokens})
    resolution = room.open(installed=True)
    assert (await resolution.resolve(None, NOBODY)).provider == "local"
    assert (await resolution.resolve("chatgpt", NOBODY)).name == "chatgpt/gpt-5"


async def test_a_default_that_cannot_be_used_is_explained(room: Room) -> None:
    resolution = room.open(make_config(api_key_env="WORK_KEY"), default_model="work/m")
    name, why = await resolution.explain_default(NOBODY)
    assert name is None
    assert "WORK_KEY" in str(why)


# ---- listings ---------------------------------------------------------------------


async def test_everybody_is_listed_and_who_fails_is_named(room: Room) -> None:
    room.shelves.failing |= {"down"}
    resolution = room.open(
        make_config("up"),
        make_config("down"),
        make_config("keyless", api_key_env="NOT_SET"),
        installed=True,
    )
    models, warnings = await resolution.list_models(NOBODY)
    assert [each.name for each in models] == ["up/first", "up/second", "local/smollm2-135m"]
    assert warnings[0] == "nobody is there"
    assert "NOT_SET" in warnings[1]
    error = await refusal(resolution, "zzz")
    assert "nobody is there" in error.message


async def test_who_fails_later_is_listed_with_a_warning(room: Room) -> None:
    resolution = room.open(make_config())
    await resolution.list_models(NOBODY)
    room.shelves.failing |= {"work"}
    models, warnings = await resolution.list_models(NOBODY, refresh=True)
    assert [each.name for each in models] == ["work/first", "work/second"]
    assert warnings == ["nobody is there. Shown is what it listed before."]


async def test_who_has_more_than_is_kept_is_named(room: Room) -> None:
    room.shelves.of["many"] = {f"m{number}": 1000 for number in range(MOST_MODELS + 1)}
    resolution = room.open(make_config("many"), make_config("few"), installed=True)
    models, warnings = await resolution.list_models(NOBODY)
    assert len(models) == MOST_MODELS + 2 + 1
    assert warnings == [
        "many lists more models than the 2,000 that are kept: name any other with -m many/NAME"
    ]
    assert (await resolution.resolve(f"many/m{MOST_MODELS}", NOBODY)).name == "many/m2000"


@pytest.mark.parametrize("caller", [NOBODY, WITH_KEY])
async def test_local_only_lists_nobody_else(room: Room, caller: Caller) -> None:
    resolution = room.open(
        make_config("away", base_url="http://10.0.0.1/v1"), installed=True, local_only=True
    )
    models, warnings = await resolution.list_models(caller)
    assert ([each.provider for each in models], warnings) == (["local"], [])
    for name in ("away/m", "openai/gpt-5", "anthropic"):
        secrets: dict[str, Any] = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
        assert (await refusal(resolution, name, Caller(secrets=secrets))).reason == "local_only"
