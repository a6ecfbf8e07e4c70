"""Servers that list models, without a server: for whoever asks an inventory's questions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio
import trio.testing

from askd.errors import ProviderError, UnknownModel
from askd.providers.base import Dialect, Endpoint
from askd.providers.models.dialects import Question
from askd.providers.models.inventory import Inventory

Json = dict[str, Any]


class Shelves:
    """Servers as they would answer, and a clock that is moved by hand.

    Attributes:
        windows: what the listing says of each model, for every provider that `of` does not name.
        of: the same for single providers.
        facts: more that Ollama shows of a model.
        embeds: the models of Ollama that do not chat.
        asked: every question, in order.
        fails: raised in place of an answer.
        failing: the providers that fail; empty: all, if `fails` is set.
        silent: nobody answers.
        busiest: how many questions were asked at once.
        fetched: how often a credential was fetched.
    """

    def __init__(self, **windows: int) -> None:
        self.windows = windows
        self.of: dict[str, dict[str, int]] = {}
        self.facts: dict[str, Json] = {}
        self.embeds: set[str] = set()
        self.asked: list[str] = []
        self.fails: ProviderError | None = None
        self.failing: set[str] = set()
        self.silent = False
        self.now = 1_000_000.0
        self.busiest = 0
        self.fetched = 0
        self._at_once = 0

    async def ask(self, endpoint: Endpoint, question: Question) -> Any:
        """One answer."""
        name = json.loads(question.body)["model"] if question.body else ""
        self.asked.append(f"{question.path} {name}".strip())
        self._at_once += 1
        self.busiest = max(self.busiest, self._at_once)
        try:
            await trio.testing.wait_all_tasks_blocked()
            if self.silent:
                await trio.sleep_forever()
            if self.fails is not None and (endpoint.provider in self.failing or not self.failing):
                raise self.fails
            windows = self.of.get(endpoint.provider, self.windows)
            return self._answer(windows, endpoint.dialect, question.path, name)
        finally:
            self._at_once -= 1

    def _answer(self, windows: dict[str, int], dialect: Dialect, path: str, name: str) -> Json:
        if path == "/api/tags":
            return {"models": [{"model": each} for each in windows]}
        if path == "/api/show":
            if name not in windows:
                raise UnknownModel(f"no {name}")
            can = ["embedding"] if name in self.embeds else ["completion"]
            shown = {"capabilities": can, "model_info": {"x.context_length": windows[name]}}
            return {**shown, **self.facts.get(name, {})}
        if dialect == "anthropic":
            names = [*windows]
            first = names.index(path.partition("after_id=")[2]) + 1 if "after_id" in path else 0
            rows = [{"id": each, "max_input_tokens": windows[each]} for each in names[first:]]
            return {"data": rows[:1], "has_more": len(rows) > 1, "last_id": rows[0]["id"]}
        rows = [{"id": each, "context_length": size} for each, size in windows.items()]
        return {"data": rows}

    def keep(self, cache: Path | None = None) -> Inventory:
        """An inventory of these."""
        return Inventory(self.ask, cache=cache, now=lambda: self.now)

    async def fetch(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with its credential."""
        self.fetched += 1
        await trio.lowlevel.checkpoint()
        return replace(endpoint, api_key="sk-fetched")
