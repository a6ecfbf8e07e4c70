"""Models by name: which there are, which one answers, and the stream of its answer.

It wires this room together: names are resolved, credentials find the endpoint, a
codec translates, the transport streams, the embedded model is started. It
imports the HTTP client on first use, since that is a third of the daemon's
start. It never sends a prompt to a provider that the name does not say.
"""

import importlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from askd.errors import Unauthenticated, UnknownModel
from askd.providers.base import (
    Caller,
    Endpoint,
    HttpCall,
    Model,
    ModelRequest,
    Progress,
    StreamEvent,
    TimeLimits,
)
from askd.providers.codecs.forced_answers import ForcedEvents
from askd.providers.codecs.forced_calls import write_calls
from askd.providers.credentials.credentials import Credentials
from askd.providers.known import ProviderConfig
from askd.providers.local import TIME_LIMITS, LocalConfig, LocalModel
from askd.providers.models.counts import Counts
from askd.providers.models.dialects import Question, codec_for, prepare_endpoint
from askd.providers.models.inventory import Inventory
from askd.providers.models.limits import ModelConfig
from askd.providers.models.offers import Offers
from askd.providers.models.resolution import Resolution
from askd.providers.redact import KnownSecrets

if TYPE_CHECKING:
    from askd.providers.http.transport import Reply, Transport

__all__ = ["Caller", "LocalConfig", "ModelConfig", "Models", "ProviderConfig"]

OUTPUT_LIMITED = ("anthropic", "local")
"""Dialects that are told how much to say: Anthropic's insists, and a small model would ramble."""


Reading = Callable[[AsyncIterator[StreamEvent]], AsyncIterator[StreamEvent]]

THINKING_GAP_S = 300.0
"""Between two events of a model that may think unseen; Codex waits as long."""


class Models:
    """Finds models and streams their answers. `run` must be running for `stream` to work.

    Args:
        environ: the daemon's own variables: keys, addresses, proxies, where sign-ins are.
        child_env: the environment of commands that print a key.
        directory: where kept keys and our own sign-ins are.
        cache: the file in which listings are remembered; None: in memory alone.
        secrets: is told of every key.
        now: unix seconds.
        transport, local_model: tests have their own.
        settings: what `configure` takes.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        directory: Path,
        child_env: Mapping[str, str] | None = None,
        cache: Path | None = None,
        secrets: KnownSecrets | None = None,
        now: Callable[[], float] = time.time,
        transport: "Transport | None" = None,
        local_model: LocalModel | None = None,
        **settings: Any,
    ) -> None:
        self._environ = environ
        self._secrets = KnownSecrets() if secrets is None else secrets
        self._transport_made = transport
        self._local = local_model or LocalModel(LocalConfig())
        self._counts = Counts(now=now)
        self._inventory = Inventory(self._ask_json, cache=cache, now=now)
        self._credentials = Credentials(
            (),
            environ=environ,
            child_env=child_env or {},
            local_only=False,
            directory=directory,
            ask=self._ask,
            secrets=self._secrets,
            now=now,
        )
        self.configure(**settings)

    def configure(
        self,
        *,
        providers: Sequence[ProviderConfig] = (),
        default_model: str | None = None,
        local: LocalConfig | None = None,
        models: Mapping[str, ModelConfig] | None = None,
        aliases: Mapping[str, str] | None = None,
        local_only: bool = False,
    ) -> None:
        """Take other settings; what runs goes on, the next request finds them.

        Args:
            providers: `[providers.NAME]`, in the order of the file.
            default_model: the name to use when nobody gives one.
            local: the embedded model's settings.
            models: `[models."provider/model"]`.
            local_only: refuse every endpoint that is not on this machine.
        """
        self._local.configure(local or LocalConfig())
        self._credentials.configure(providers, local_only=local_only)
        self._offers = Offers(
            credentials=self._credentials,
            inventory=self._inventory,
            local=self._local,
            models=models or {},
            local_only=local_only,
        )
        self._resolution = Resolution(
            offers=self._offers,
            environ=self._environ,
            default_model=default_model,
            aliases=aliases or {},
        )

    @property
    def credentials(self) -> Credentials:
        """Whose key goes where; the same one for as long as this lives."""
        return self._credentials

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names, and what each leads to."""
        return self._resolution.aliases

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the connections and the embedded model's process, until cancelled."""
        try:
            # Here live the embedded model's keeper and, for a moment, the import of the HTTP
            # client: in a thread, so that the first prompt finds it done. Cancelled from outside.
            async with trio.open_nursery() as nursery:
                await nursery.start(self._local.run)
                task_status.started()
                await trio.to_thread.run_sync(_import_transport)
                await self._make_transport().run()
        finally:
            if self._transport_made is not None:
                await self._transport_made.aclose()

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        """The model of this name, or the one that answers when none is given.

        Raises:
            UnknownModel: no provider, or more than one, has it; or an alias leads nowhere.
            NotConfigured: there is nothing to choose from; or what is missing.
            SecretsNeeded: nobody has the key.
            ProviderError: a server had to be asked for its models, and failed.
        """
        return await self._resolution.resolve(name, caller)

    async def explain_default(self, caller: Caller) -> tuple[str | None, str | None]:
        """The model that answers when none is named, and why; None and why there is none."""
        return await self._resolution.explain_default(caller)

    async def list_models(
        self, caller: Caller, *, refresh: bool = False
    ) -> tuple[list[Model], list[str]]:
        """Every model that this caller could use, and a warning per provider that failed."""
        return await self._resolution.list_models(caller, refresh=refresh)

    async def recall_names(self, caller: Caller) -> list[str]:
        """The full names of all that this caller's providers have listed; nobody is asked."""
        return await self._resolution.recall_names(caller)

    @asynccontextmanager
    async def stream(
        self, model: Model, request: ModelRequest, caller: Caller, *, progress: Progress
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """One answer's events; leaving the block stops the model.

        The iterator ends normally only after the dialect's own end.

        Raises:
            ProviderError: from the block's start or from the iterator.
        """
        read = find_reading(model, request)
        request = complete_request(model, request)
        transport = await self._transport()
        if self._offers.is_embedded(model.provider):
            async with (
                self._local.use(progress) as endpoint,
                transport.stream(
                    endpoint, codec_for(endpoint), request, progress=progress, limits=TIME_LIMITS
                ) as events,
            ):
                yield read(events)
            return
        endpoint = await self._credentials.fetch(model.provider, caller)
        renew = partial(self._credentials.renew, model.provider, caller)
        try:
            async with transport.stream(
                endpoint,
                codec_for(endpoint),
                request,
                progress=progress,
                limits=find_patience(model, request),
                renew=renew,
            ) as events:
                yield read(events)
        except Unauthenticated:
            self._credentials.forget(model.provider)
            raise
        except UnknownModel as error:
            raise await self._resolution.explain_missing(model, caller, error) from None

    async def count(self, model: Model, request: ModelRequest, caller: Caller) -> int | None:
        """The request's tokens as its server counts them; None: it offers no such thing.

        Raises:
            ProviderError: it was asked and gave none. The caller limits the time.
        """
        request = complete_request(model, request)
        transport = await self._transport()
        if self._offers.is_embedded(model.provider):
            async with self._local.use(_say_nothing) as endpoint:
                return await self._counts.count(transport, endpoint, request)
        endpoint = await self._credentials.fetch(model.provider, caller)
        return await self._counts.count(transport, endpoint, request)

    # ---- asking ------------------------------------------------------------------

    async def _ask_json(self, endpoint: Endpoint, question: Question) -> Any:
        """A question about models, asked of its server."""
        transport = await self._transport()
        ready = prepare_endpoint(endpoint)
        codec = codec_for(ready)
        return await transport.fetch_json(ready, question.path, codec=codec, body=question.body)

    async def _ask(self, endpoint: Endpoint, call: HttpCall) -> "Reply":
        transport = await self._transport()
        return await transport.ask(endpoint, call)

    async def _transport(self) -> "Transport":
        if self._transport_made is None:
            # In a thread, for it takes a while; several may come back at once.
            await trio.to_thread.run_sync(_import_transport)
        return self._make_transport()

    def _make_transport(self) -> "Transport":
        if self._transport_made is None:
            self._transport_made = _import_transport().Transport(secrets=self._secrets)
        return self._transport_made


def complete_request(model: Model, request: ModelRequest) -> ModelRequest:
    """The request with what this model's server has to be told and nobody has said.

    One for a model that calls tools in JSON is written as such a model reads it.
    """
    if model.manners.tools == "schema":
        request = write_calls(request, can_force=model.manners.schema)
    window = request.context_window or model.limits.context_window
    most = request.max_output_tokens
    if most is None and model.dialect in OUTPUT_LIMITED:
        most = model.limits.reserved_output
    return replace(request, context_window=window, max_output_tokens=most)


def find_reading(model: Model, request: ModelRequest) -> Reading:
    """How the answer to a request is read: as it is, or as one in JSON that may be a call."""
    if model.manners.tools != "schema" or not request.tools:
        return _read_plainly
    return partial(ForcedEvents, is_structured=request.schema is not None)


def _read_plainly(events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
    return events


def find_patience(model: Model, request: ModelRequest) -> TimeLimits:
    """How long this model may be silent: one that thinks says nothing of it at some providers."""
    thinks = request.effort in ("low", "medium", "high") or model.dialect == "openai-responses"
    return TimeLimits(gap_s=THINKING_GAP_S) if thinks else TimeLimits()


def _say_nothing(kind: str, text: str) -> None:
    """For a count: the request that follows it says what is to be said."""


def _import_transport() -> Any:
    """The one door to the HTTP client."""
    return importlib.import_module("askd.providers.http.transport")
