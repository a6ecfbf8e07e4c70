"""Which models each provider has: asked in time, remembered in memory and in a file.

A listing that was asked for with a caller's own key is for that caller alone. A
provider that does not answer keeps what it listed last. It chooses no provider
and knows no settings; `ask` is how a question reaches a server.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import trio

from askd.errors import BadAnswer, ProviderError, Unavailable, UnknownModel, find_leaves
from askd.providers.addresses import is_loopback, read_host
from askd.providers.base import Endpoint
from askd.providers.models.dialects import Question, ask_listing, ask_model, read_model, read_page
from askd.providers.models.listings import Listed
from askd.providers.models.stock import MOST_PLACES, NOTHING, Stock, find_key, read_file, write_file

LIST_S = 10.0
"""For a provider to say which models it has."""

FIND_S = 5.0
"""The same when a prompt waits for it, to learn how large its model's window is."""

PROBE_S = 0.5
"""For a server on this machine to say that it is there, when nobody has named one."""

AGE_S = 3600.0
"""How long a listing is taken as it is. What it says of a model's window has no such age."""

LOCAL_AGE_S = 30.0
"""The same on this machine, where models come and go by the user's hand; and how long it is
remembered that a server is there, or is not, or did not answer."""

MOST_MODELS = 2_000
"""Of one provider; the largest listing known has some 500. More are not kept, and it is said."""

MOST_PAGES = 10
AT_ONCE = 8
"""Questions about single models that one server gets at a time."""

Ask = Callable[[Endpoint, Question], Awaitable[Any]]
Fetch = Callable[[], Awaitable[Endpoint]]


class Inventory:
    """What is known of everybody's models.

    Args:
        ask: sends a question to an endpoint; answers its JSON or raises `ProviderError`.
        cache: the file to remember in; None: memory alone.
        now: unix seconds.
    """

    def __init__(self, ask: Ask, *, cache: Path | None, now: Callable[[], float]) -> None:
        self._ask = ask
        self._cache = cache
        self._now = now
        self._stocks: dict[str, Stock] = {}
        self._locks: dict[str, trio.Lock] = {}
        self._opening = trio.Lock()
        self._unread = cache
        self._writing = trio.Lock()
        self._there: dict[str, tuple[float, bool]] = {}

    async def look_up(self, endpoint: Endpoint, theirs: str | None) -> Mapping[str, Listed]:
        """What is known of an endpoint's models; nobody is asked."""
        await self._open()
        return self._stocks.get(find_key(endpoint, theirs), NOTHING).models

    async def is_cut(self, endpoint: Endpoint, theirs: str | None) -> bool:
        """Whether it last listed more than is kept; nobody is asked."""
        await self._open()
        return self._stocks.get(find_key(endpoint, theirs), NOTHING).is_cut

    async def find(
        self, endpoint: Endpoint, theirs: str | None, name: str, *, fetch: Fetch
    ) -> Listed | None:
        """What the provider says of one model; it is asked if that is not known, and not often.

        None: it does not say, or does not answer.
        """
        key = find_key(endpoint, theirs)
        await self._open()
        async with self._locked(key):
            stock = self._stocks.get(key, NOTHING)
            if name in stock.models or self._now() - stock.tried_at < LOCAL_AGE_S:
                return stock.models.get(name)
            if endpoint.dialect != "ollama" and self._now() - stock.listed_at < _age_of(endpoint):
                return None
            try:
                with trio.move_on_after(FIND_S):
                    ready = await fetch()
                    if endpoint.dialect == "ollama":
                        await self._learn(key, ready, name)
                    else:
                        await self._list(key, ready)
                    return self._stocks.get(key, NOTHING).models.get(name)
            except ProviderError:
                pass  # the prompt itself will say it better
            await self._keep(key, replace(stock, tried_at=self._now()))
            return None

    async def list(
        self, endpoint: Endpoint, theirs: str | None, *, fetch: Fetch, refresh: bool = False
    ) -> tuple[list[Listed], ProviderError | None]:
        """An endpoint's models in its order, and why they may not be the ones of today.

        Never raises: a provider that fails has what it listed last, or nothing.
        """
        key = find_key(endpoint, theirs)
        await self._open()
        stock = self._stocks.get(key, NOTHING)
        listed_at = stock.listed_at
        if not refresh and self._now() - listed_at < _age_of(endpoint):
            return list(stock.models.values()), None  # as before nearly every prompt: no lock
        async with self._locked(key):
            stock = self._stocks.get(key, NOTHING)
            # Whoever waited while another asked the same has had the question answered.
            if stock.listed_at > listed_at:
                return list(stock.models.values()), None
            trouble: ProviderError = Unavailable(
                f"{endpoint.provider} did not list its models within {LIST_S:g} seconds"
            )
            try:
                with trio.move_on_after(LIST_S):
                    await self._list(key, await fetch())
                    return list(self._stocks[key].models.values()), None
            except ProviderError as error:
                trouble = error
            await self._keep(key, replace(stock, tried_at=self._now()))
            return list(stock.models.values()), trouble

    async def is_there(self, endpoint: Endpoint) -> bool:
        """Whether a server that needs no key answers; remembered for a while either way."""
        key = find_key(endpoint, None)
        known_at, answered = self._there.get(key, (0.0, False))
        if self._now() - known_at < LOCAL_AGE_S:
            return answered
        answered = False
        with trio.move_on_after(PROBE_S):
            try:
                page = read_page(endpoint, await self._ask(endpoint, ask_listing(endpoint)))
                answered = bool(page.models or page.names)
            except ProviderError:
                pass  # nobody there, or somebody else
        self._there = {key: (self._now(), answered)}
        return answered

    # ---- asking ------------------------------------------------------------------

    async def _list(self, key: str, endpoint: Endpoint) -> None:
        """Every model, with what is to be known of each."""
        found: dict[str, Listed] = {}
        question: Question | None = ask_listing(endpoint)
        is_cut = False
        for _ in range(MOST_PAGES):
            if question is None or len(found) >= MOST_MODELS:
                break
            page = read_page(endpoint, await self._ask(endpoint, question))
            found |= {each.name: each for each in page.models}
            found |= await self._describe(endpoint, page.names[:MOST_MODELS])
            is_cut = is_cut or len(page.names) > MOST_MODELS
            question = page.more
        is_cut = is_cut or len(found) > MOST_MODELS or question is not None
        kept = dict(islice(found.items(), MOST_MODELS))
        now = self._now()
        await self._keep(key, Stock(models=kept, listed_at=now, tried_at=now, is_cut=is_cut))

    async def _describe(self, endpoint: Endpoint, names: tuple[str, ...]) -> dict[str, Listed]:
        """Those of these models that chat, in this order."""
        found: dict[str, Listed] = {}
        limiter = trio.CapacityLimiter(AT_ONCE)

        async def ask(name: str) -> None:
            async with limiter:
                try:
                    listed = read_model(name, await self._ask(endpoint, ask_model(name)))
                except BadAnswer:
                    listed = Listed(name=name)
                except UnknownModel:
                    listed = None  # removed a moment ago
            if listed is not None:
                found[name] = listed

        try:
            # One task per name lives here; the time limit of the listing ends them.
            async with trio.open_nursery() as nursery:
                for name in names:
                    nursery.start_soon(ask, name)
        except ExceptionGroup as group:
            raise next(find_leaves(group)) from None  # several may have failed, of one cause
        return {name: found[name] for name in names if name in found}

    async def _learn(self, key: str, endpoint: Endpoint, name: str) -> None:
        """One model, where asking for all of them means asking for each."""
        listed = read_model(name, await self._ask(endpoint, ask_model(name)))
        if listed is not None:
            stock = self._stocks.get(key, NOTHING)
            # What was learnt last is not a failure that has to be waited for.
            await self._keep(key, replace(stock, models={**stock.models, name: listed}))

    # ---- remembering -------------------------------------------------------------

    def _locked(self, key: str) -> trio.Lock:
        if len(self._locks) > MOST_PLACES:
            self._locks = {each: lock for each, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(key, trio.Lock())

    async def _open(self) -> None:
        """Read what an earlier daemon has learnt, once."""
        if self._unread is None:
            return
        async with self._opening:
            if self._unread is not None:
                self._stocks = await trio.to_thread.run_sync(read_file, self._unread)
                self._unread = None

    async def _keep(self, key: str, stock: Stock) -> None:
        before = self._stocks.get(key, NOTHING)
        is_news = (stock.models, stock.is_cut) != (before.models, before.is_cut)
        self._stocks.pop(key, None)
        self._stocks[key] = stock
        while len(self._stocks) > MOST_PLACES:
            del self._stocks[next(iter(self._stocks))]
        if is_news and self._cache is not None:
            # Shielded: a caller who leaves takes nothing with him that was learnt.
            with trio.CancelScope(shield=True):
                async with self._writing:
                    await trio.to_thread.run_sync(write_file, self._cache, dict(self._stocks))


def _age_of(endpoint: Endpoint) -> float:
    host = read_host(endpoint.base_url)
    is_here = endpoint.unix_socket is not None or (host is not None and is_loopback(host))
    return LOCAL_AGE_S if is_here else AGE_S
