"""Origins: which account at which address a sealed thought came from.

What a provider wants back (encrypted reasoning, signatures, ids) belongs to the account
that it was made for: another key cannot open it, another vendor refuses it, and nobody
else has a right to it. A provider's name does not tell: its address, its dialect and
its key can change in the settings, and each caller may bring a key of their own. So a
thought is marked when it comes and sent only to where the mark fits. One without a mark
(imported from elsewhere) belongs to nobody here. The words of a thought are kept in any
case; no key can be found out from a mark.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from askd.core.items import AssistantMessage, Item, Reasoning
from askd.providers.base import Endpoint, ModelRequest, ReasoningSealed, StreamEvent

MARK = "origin"
"""The key of the mark in a thought's `raw`; no dialect sends it."""

MARK_CHARACTERS = 16
"""Of a digest: enough to tell accounts apart, and a key that is random cannot be found."""


def find_origin(endpoint: Endpoint) -> str:
    """The mark of what comes from here; the same for as long as the same account asks."""
    # A sign-in's tokens change every hour, and its account does not.
    who = endpoint.account
    keys = None if who else [endpoint.api_key, sorted(endpoint.headers.items())]
    said = json.dumps([endpoint.dialect, endpoint.base_url, endpoint.unix_socket, who, keys])
    return hashlib.sha256(said.encode()).hexdigest()[:MARK_CHARACTERS]


def mark_thought(event: StreamEvent, origin: str) -> StreamEvent:
    """The event, with the mark if it seals a thought that goes back."""
    if isinstance(event, ReasoningSealed) and event.raw is not None:
        return ReasoningSealed({**event.raw, MARK: origin})
    return event


def keep_own_thoughts(request: ModelRequest, origin: str) -> ModelRequest:
    """The request in which the others' thoughts are words alone."""
    items = [_strip(item, origin) for item in request.items]
    return request if _are_same(items, request.items) else replace(request, items=items)


def _strip(item: Item, origin: str) -> Item:
    if not isinstance(item, AssistantMessage) or not item.reasoning:
        return item
    kept = tuple(
        thought
        if thought.raw is None or thought.raw.get(MARK) == origin
        else Reasoning(thought.text)
        for thought in item.reasoning
    )
    return item if kept == item.reasoning else replace(item, reasoning=kept)


def _are_same(items: Sequence[Item], others: Sequence[Item]) -> bool:
    return all(one is other for one, other in zip(items, others, strict=True))
