"""The dialects: which codec speaks each, where its models are listed, how that is read.

Pure, and a codec is imported when it is first needed: a daemon that talks to one
provider has no use for the others' translators. It opens no connection.
"""

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from askd.providers.addresses import is_openai
from askd.providers.base import Codec, Dialect, Endpoint
from askd.providers.models.listings import (
    Listed,
    read_anthropic,
    read_copilot,
    read_listing,
    read_next_page,
    read_ollama_model,
    read_ollama_names,
)

ANTHROPIC_VERSION = "2023-06-01"
"""Anthropic answers nobody who does not say this; it is the only version that there is."""

PAGE_MODELS = 1_000
"""The most that Anthropic gives at once."""

_MODULES: Mapping[Dialect, str] = {
    "openai-responses": "openai_responses",
    "openai-chat": "openai_chat",
    "anthropic": "anthropic",
    "ollama": "ollama",
    "copilot": "copilot",
    "local": "openai_chat",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something to ask about models: a GET, or a POST of a JSON body."""

    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a listing said: models that are described, names to ask about, another page."""

    models: tuple[Listed, ...] = ()
    names: tuple[str, ...] = ()
    more: Question | None = None


def codec_for(endpoint: Endpoint) -> Codec:
    """The translator for what this endpoint speaks."""
    module: Any = importlib.import_module(f"askd.providers.codecs.{_MODULES[endpoint.dialect]}")
    codec: Codec = module.codec_for(endpoint)
    return codec


def prepare_endpoint(endpoint: Endpoint) -> Endpoint:
    """The endpoint with the headers that a question about models needs."""
    if endpoint.dialect != "anthropic":
        return endpoint
    headers = {"anthropic-version": ANTHROPIC_VERSION, **endpoint.headers}
    return replace(endpoint, headers=headers)


def ask_listing(endpoint: Endpoint) -> Question:
    """The first question: which models are there?"""
    match endpoint.dialect:
        case "ollama":
            return Question(path="/api/tags")
        case "anthropic":
            return Question(path=f"/models?limit={PAGE_MODELS}")
        case _:
            return Question(path="/models")


def ask_model(name: str) -> Question:
    """The question about one of the names that a page left open; only Ollama leaves any."""
    return Question(path="/api/show", body=json.dumps({"model": name}).encode())


def read_page(endpoint: Endpoint, answer: Any) -> Page:
    """The answer to a question of `ask_listing`, or to a page's `more`."""
    match endpoint.dialect:
        case "ollama":
            return Page(names=tuple(read_ollama_names(answer)))
        case "anthropic":
            cursor = read_next_page(answer)
            path = f"/models?limit={PAGE_MODELS}&after_id={quote(cursor or '', safe='')}"
            more = Question(path=path) if cursor else None
            return Page(models=tuple(read_anthropic(answer)), more=more)
        case "copilot":
            return Page(models=tuple(read_copilot(answer)))
        case _:
            return Page(models=tuple(read_listing(answer, is_openai=is_openai(endpoint))))


def read_model(name: str, answer: Any) -> Listed | None:
    """The answer to `ask_model`; None: this one does not chat."""
    return read_ollama_model(name, answer)
