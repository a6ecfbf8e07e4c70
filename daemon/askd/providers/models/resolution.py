"""What a model's name means, and which model answers when nobody named one.

A name is `provider/model`, a provider alone, an alias of one of these, or a
model's name alone if exactly one provider is known to have it. No provider is
guessed for a name that nobody knows. It keeps nothing, and describes no model:
that is what providers offer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import trio

from askd.errors import NotConfigured, ProviderError, UnknownModel
from askd.providers.addresses import is_loopback, is_openai, read_host
from askd.providers.base import Caller, Model
from askd.providers.local import PROVIDER
from askd.providers.models.catalog import (
    explain_missing,
    explain_unknown,
    find_matches,
    follow_alias,
)
from askd.providers.models.choice import (
    NOTHING_FOUND,
    OLLAMA,
    Candidate,
    explain_local,
    rank_providers,
    say_why,
)
from askd.providers.models.inventory import MOST_MODELS
from askd.providers.models.limits import OPENAI_NAMES
from askd.providers.models.offers import Offers


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Names under one set of settings.

    Attributes:
        environ: the daemon's own variables, its keys among them.
        default_model: the name to use when nobody gives one; None: look for one.
    """

    offers: Offers
    environ: Mapping[str, str]
    default_model: str | None
    aliases: Mapping[str, str]

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        """The model of this name, or the one that answers when none is given.

        Raises:
            UnknownModel: no provider, or more than one, has it; or an alias leads nowhere.
            NotConfigured: there is nothing to choose from; or what is missing.
            SecretsNeeded: nobody has the key.
            ProviderError: a server had to be asked for its models, and failed.
        """
        name = name or self.default_model
        if not name:
            chosen = await self._choose(caller)
            model = await self._find_default(chosen.provider, caller)
            why = say_why(f"{chosen.provider}/{model}", chosen.reason)
            return await self.offers.describe(chosen.provider, model, caller, why=why)
        name = follow_alias(name, self.aliases)
        provider, slash, model = name.partition("/")
        if slash and model and self.offers.is_provider(provider):
            return await self.offers.describe(provider, model, caller)
        if self.offers.is_provider(name):
            model = await self._find_default(name, caller)
            return await self.offers.describe(name, model, caller)
        return await self._find_bare(name, caller)

    async def explain_default(self, caller: Caller) -> tuple[str | None, str | None]:
        """The model that answers when none is named, and why; None and why there is none.

        The reason is a clause to stand behind "because", or whole sentences if there is none.
        """
        try:
            if self.default_model:
                model = await self.resolve(self.default_model, caller)
                return model.name, f"`default_model` is {self.default_model}"
            chosen = await self._choose(caller)
            default = await self._find_default(chosen.provider, caller)
            return f"{chosen.provider}/{default}", chosen.reason
        except ProviderError as error:
            return None, error.message

    async def explain_missing(
        self, model: Model, caller: Caller, error: UnknownModel
    ) -> UnknownModel:
        """A server's word that it has no such model, with those that it may have."""
        candidates = await self.offers.recall_names([model.provider], caller)
        return explain_missing(error, model.name, candidates)

    async def list_models(
        self, caller: Caller, *, refresh: bool = False
    ) -> tuple[list[Model], list[str]]:
        """Every model that this caller could use, and a sentence per provider that failed or has
        more than are kept."""
        names = [each.provider for each in await self._find_candidates(caller)]
        found: dict[str, list[Model]] = {}
        warnings: dict[str, str] = {}

        async def ask(provider: str) -> None:
            try:
                models, trouble = await self.offers.list_models(provider, caller, refresh=refresh)
                if await self.offers.is_cut(provider, caller):
                    warnings[provider] = (
                        f"{provider} lists more models than the {MOST_MODELS:,} that are kept: "
                        f"name any other with -m {provider}/NAME"
                    )
            except ProviderError as error:
                models, trouble = [], error
            found[provider] = models
            if trouble is not None:
                kept = ". Shown is what it listed before." if models else ""
                warnings[provider] = trouble.message.rstrip(".") + kept

        # One task per provider lives here, each with a time limit.
        async with trio.open_nursery() as nursery:
            for provider in names:
                nursery.start_soon(ask, provider)
        models = [model for provider in names for model in found[provider]]
        return models, [warnings[provider] for provider in names if provider in warnings]

    async def recall_names(self, caller: Caller) -> list[str]:
        """The full names of what these providers have listed before; nobody is asked."""
        ranked = rank_providers(self.offers.credentials, caller, self.environ)
        providers = dict.fromkeys([*(each.provider for each in ranked), OLLAMA])
        names = await self.offers.recall_names(list(providers), caller)
        if self.offers.is_embedded(PROVIDER) and self.offers.local.find_missing() is None:
            names.append(f"{PROVIDER}/{self.offers.local.name}")
        return names

    # ---- nobody named a model ------------------------------------------------------

    async def _choose(self, caller: Caller) -> Candidate:
        """The first provider that could answer, and why."""
        for each in rank_providers(self.offers.credentials, caller, self.environ):
            if each.is_default:
                return each
        for each in await self._find_local(caller):
            return each
        raise NotConfigured(NOTHING_FOUND)

    async def _find_candidates(self, caller: Caller) -> list[Candidate]:
        """Every provider that this caller may have models of, in the order of choice."""
        ranked = list(rank_providers(self.offers.credentials, caller, self.environ))
        names = {each.provider for each in ranked}
        local = await self._find_local(caller)
        return ranked + [each for each in local if each.provider not in names]

    async def _find_local(self, caller: Caller) -> list[Candidate]:
        """What needs no key: a running Ollama, the embedded model."""
        found = []
        if await self._has_ollama(caller):
            found.append(Candidate(OLLAMA, explain_local(ollama=True)))
        if self.offers.is_embedded(PROVIDER) and self.offers.local.find_missing() is None:
            found.append(Candidate(PROVIDER, explain_local(ollama=False)))
        return found

    async def _has_ollama(self, caller: Caller) -> bool:
        """Whether Ollama, without being configured, answers with a model that chats here."""
        config = self.offers.credentials.configs.get(OLLAMA)
        if config is None or config.is_configured:
            return False
        try:
            endpoint = self.offers.credentials.find(OLLAMA, caller)
        except ProviderError:
            return False
        host = read_host(endpoint.base_url)
        is_here = endpoint.unix_socket is not None or bool(host and is_loopback(host))
        # On another machine it is looked for only where somebody says that there is one.
        if not is_here and not caller.env.get("OLLAMA_HOST"):
            return False
        if not await self.offers.inventory.is_there(endpoint):
            return False
        listed, _ = await self.offers.ask(endpoint, caller)
        return any(not each.is_remote for each in listed)

    async def _find_default(self, provider: str, caller: Caller) -> str:
        """The provider's default model: configured, well known, or the first it lists."""
        if self.offers.is_embedded(provider):
            return self.offers.local.name
        config = self.offers.credentials.configs[provider]
        endpoint = self.offers.credentials.find(provider, caller)
        # What is known of a vendor does not hold at the address that a caller named for it.
        is_usual = config.is_configured or endpoint.dialect == config.dialect
        if config.default_model and is_usual:
            return config.default_model
        listed, trouble = await self.offers.ask(endpoint, caller)
        # Nobody is sent to another machine by a server on this one without having said so.
        names = [each.name for each in listed if not each.is_remote]
        if names:
            return names[0]
        if trouble is not None:
            raise trouble
        raise UnknownModel(f"{provider} lists no models; name one: -m {provider}/MODEL")

    # ---- bare names ----------------------------------------------------------------

    async def _find_bare(self, name: str, caller: Caller) -> Model:
        """A name without a provider: known by configuration, else by asking everybody."""
        usable = [each.provider for each in await self._find_candidates(caller)]
        candidates = self._known_names(usable, caller)
        matches = find_matches(name, candidates)
        warnings: list[str] = []
        if not matches and "/" in name:
            # Most likely a provider that is misspelt: not worth asking everybody.
            candidates += await self.offers.recall_names(usable, caller)
            matches = find_matches(name, candidates)
        elif not matches:
            listed, warnings = await self.list_models(caller)
            candidates = sorted({*candidates, *(model.name for model in listed)})
            matches = find_matches(name, candidates)
        if len(matches) == 1:
            provider, _, model_name = matches[0].partition("/")
            return await self.offers.describe(provider, model_name, caller)
        if matches:
            raise UnknownModel(
                f"More than one provider has {name!r}: {', '.join(matches)}.",
                data={"candidates": matches},
            )
        if not usable:
            raise NotConfigured(NOTHING_FOUND)
        raise explain_unknown(name, [*candidates, *self.aliases], warnings=warnings)

    def _known_names(self, usable: Sequence[str], caller: Caller) -> list[str]:
        """The full names that are known without asking a server."""
        configs = self.offers.credentials.configs
        names = {name for name in self.offers.models if name.partition("/")[0] in usable}
        for provider in usable:
            if self.offers.is_embedded(provider):
                names.add(f"{PROVIDER}/{self.offers.local.name}")
                continue
            default = configs[provider].default_model
            known = [default] if default else []
            if provider == "openai" and self._is_openai(caller):
                known += OPENAI_NAMES
            names |= {f"{provider}/{each}" for each in known}
        return sorted(names)

    def _is_openai(self, caller: Caller) -> bool:
        try:
            return is_openai(self.offers.credentials.find("openai", caller))
        except ProviderError:
            return False
