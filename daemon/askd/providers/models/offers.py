"""What one provider offers a caller: its models as values, with limits, manners and price.

It joins what the settings say of a model, what its provider lists and what is
published. It chooses no provider and reads no name that lacks one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from askd.errors import NotConfigured, ProviderError
from askd.providers.addresses import LOCAL_ONLY, is_loopback, read_host
from askd.providers.base import Caller, Endpoint, Model, Price
from askd.providers.credentials.credentials import Credentials
from askd.providers.local import PROVIDER, LocalModel
from askd.providers.models.catalog import explain_unknown
from askd.providers.models.inventory import Inventory
from askd.providers.models.limits import (
    ModelConfig,
    find_limits,
    find_local_limits,
    find_published,
    merge_manners,
)
from askd.providers.models.listings import Listed

FREE = Price(input=0.0, output=0.0)
"""What runs on this machine costs nothing that we could count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Models of single providers, under one set of settings.

    Attributes:
        models: `[models."provider/model"]`.
        local_only: a server on this machine that passes prompts on is refused, too.
    """

    credentials: Credentials
    inventory: Inventory
    local: LocalModel
    models: Mapping[str, ModelConfig]
    local_only: bool

    def is_provider(self, name: str) -> bool:
        """Whether there is a provider of this name, known or configured."""
        return name in self.credentials.configs or name == PROVIDER

    def is_embedded(self, provider: str) -> bool:
        """Whether this is the embedded model: a configured provider of its name goes first."""
        return provider == PROVIDER and provider not in self.credentials.configs

    async def describe(
        self, provider: str, model: str, caller: Caller, *, why: str | None = None
    ) -> Model:
        """The model of this full name; raises if it could not be asked.

        Its provider is asked how large its window is only if neither the settings nor the table
        nor an earlier listing says so.
        """
        if self.is_embedded(provider):
            return self._describe_embedded(model, why=why)
        endpoint = self.credentials.find(provider, caller)
        theirs = find_callers_key(endpoint, caller)
        listed = (await self.inventory.look_up(endpoint, theirs)).get(model)
        config = self.models.get(f"{provider}/{model}")
        is_settled = config is not None and config.context_window is not None
        if (
            listed is None
            and not is_settled
            and find_published(provider, model, endpoint.dialect) is None
        ):
            fetch = partial(self.credentials.fetch, provider, caller)
            listed = await self.inventory.find(endpoint, theirs, model, fetch=fetch)
        return self._make(endpoint, listed or Listed(name=model), why=why)

    async def list_models(
        self, provider: str, caller: Caller, *, refresh: bool
    ) -> tuple[list[Model], ProviderError | None]:
        """All that it offers, and why that may not be what it offers today."""
        if self.is_embedded(provider):
            return [self._describe_embedded(self.local.name, why=None)], None
        endpoint = self.credentials.find(provider, caller)
        listed, trouble = await self.ask(endpoint, caller, refresh=refresh)
        return [self._make(endpoint, each) for each in listed], trouble

    async def is_cut(self, provider: str, caller: Caller) -> bool:
        """Whether it has more models than `list_models` has kept."""
        if self.is_embedded(provider):
            return False
        endpoint = self.credentials.find(provider, caller)
        return await self.inventory.is_cut(endpoint, find_callers_key(endpoint, caller))

    async def ask(
        self, endpoint: Endpoint, caller: Caller, *, refresh: bool = False
    ) -> tuple[list[Listed], ProviderError | None]:
        """The same as its server lists it."""
        theirs = find_callers_key(endpoint, caller)
        fetch = partial(self.credentials.fetch, endpoint.provider, caller)
        listed, trouble = await self.inventory.list(endpoint, theirs, fetch=fetch, refresh=refresh)
        if self.local_only:
            listed = [each for each in listed if not each.is_remote]
        return listed, trouble

    async def recall_names(self, providers: Sequence[str], caller: Caller) -> list[str]:
        """The full names of what these have listed before; nobody is asked."""
        names: list[str] = []
        for provider in providers:
            try:
                endpoint = self.credentials.find(provider, caller)
            except ProviderError:
                continue
            theirs = find_callers_key(endpoint, caller)
            known = await self.inventory.look_up(endpoint, theirs)
            names += [f"{provider}/{each}" for each in known]
        return names

    def _make(self, endpoint: Endpoint, listed: Listed, *, why: str | None = None) -> Model:
        provider, dialect = endpoint.provider, endpoint.dialect
        name = f"{provider}/{listed.name}"
        if self.local_only and listed.is_remote:
            raise NotConfigured(
                f"{name} is passed on to another machine by {provider}, and `local_only` is set.",
                reason=LOCAL_ONLY,
            )
        config = self.models.get(name)
        return Model(
            name=name,
            provider=provider,
            dialect=dialect,
            limits=find_limits(provider, listed.name, config, listed=listed, dialect=dialect),
            manners=merge_manners(config, listed),
            price=self._find_price(endpoint, listed, config),
            why=why,
        )

    def _describe_embedded(self, model: str, *, why: str | None) -> Model:
        missing = self.local.find_missing()
        if missing is not None:
            raise NotConfigured(missing)
        name = f"{PROVIDER}/{model}"
        if model != self.local.name:
            raise explain_unknown(name, [f"{PROVIDER}/{self.local.name}"])
        config = self.models.get(name)
        # Its template has no place for tools, and the engine is started without eyes.
        listed = Listed(name=model, tools="schema", images=False)
        return Model(
            name=name,
            provider=PROVIDER,
            dialect="local",
            limits=find_local_limits(self.local.context_tokens, config),
            manners=merge_manners(config, listed),
            price=FREE if config is None or config.price is None else config.price,
            why=why,
        )

    def _find_price(
        self, endpoint: Endpoint, listed: Listed, config: ModelConfig | None
    ) -> Price | None:
        if config is not None and config.price is not None:
            return config.price
        host = read_host(endpoint.base_url)
        is_here = endpoint.unix_socket is not None or (host is not None and is_loopback(host))
        is_ours = endpoint.dialect == "ollama" and is_here and not listed.is_remote
        return FREE if is_ours else listed.price


def find_callers_key(endpoint: Endpoint, caller: Caller) -> str | None:
    """The endpoint's key, if it is one that the caller sent along."""
    key = endpoint.api_key
    return key if key is not None and key in map(str.strip, caller.secrets.values()) else None
