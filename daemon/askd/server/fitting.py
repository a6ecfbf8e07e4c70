"""What fits a message: events, items and pages of them, cut or left out until they do.

Whatever a provider or a server put into an event, any client can read what leaves here: an
event that does not fit leaves as its envelope and a sentence. Nothing here raises for that.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import msgpack

from ask.protocol.messages import CONTAINER_LIMIT, MESSAGE_LIMIT_BYTES, NESTING_LIMIT, Map
from askd.core.events import Event, encode_body
from askd.core.items import Item
from askd.core.records import encode

EVENT_LIMIT_BYTES = MESSAGE_LIMIT_BYTES - 16 * 1024
"""One event, so that a page or a notification around it still fits."""
EVENT_NESTING_LIMIT = NESTING_LIMIT - 5
"""A page puts message, result, list and event around a body's first value."""
EVENT_CONTAINER_LIMIT = CONTAINER_LIMIT // 2
PAGE_LIMIT_BYTES = 256 * 1024
"""A page waits until its reader takes it: a hundred that come back at once, each with a page of
a whole message, took 200 MiB, measured. A single event may still fill a message."""
PAGE_CONTAINER_LIMIT = CONTAINER_LIMIT - 1000
_SMOOTH = frozenset({str, int, bool, bytes})
"""What is in no way wrong by itself."""
KEPT_FIELD_LENGTH = 1024
"""A text field up to this stays in an event that is too large as a whole."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fitted:
    """A value that fits, with what it takes of a message."""

    value: Map
    size: int
    containers: int


def fit_event(event: Event) -> Fitted:
    """An event as one flat map: its envelope and, beside it, the fields of its type."""
    envelope: Map = {
        "conversation_id": event.conversation_id,
        "seq": event.seq,
        "at": event.at,
        "type": event.type,
        "version": event.version,
    }
    try:
        return _fit({**envelope, **encode_body(event.body), **envelope})
    except ValueError as error:
        # Whatever a provider sent is in there. The turn must be seen to go on all the same.
        return _leave_out(encode_body(event.body), envelope, error)


def fit_item(item: Item, tokens: int) -> Fitted:
    """An item as events hold it, with about how many tokens it counts for."""
    return fit_record(encode(item), tokens)


def fit_record(record: Map, tokens: int) -> Fitted:
    """The same for what is no item."""
    try:
        return _fit({**record, "tokens": tokens})
    except ValueError as error:
        return _leave_out(record, {"tokens": tokens}, error)


def _leave_out(record: Map, envelope: Map, error: ValueError) -> Fitted:
    """What of a record is small, and a sentence in place of the rest."""
    kept = {k: v for k, v in record.items() if _is_small(k) and _is_small(v)}
    return _fit({**kept, **envelope, "left_out": f"The content is not shown: {error}."})


def _is_small(value: Any) -> bool:
    match value:
        case None | bool():
            return True
        case int():
            return abs(value) < 2**63
        case str():
            return len(value) <= KEPT_FIELD_LENGTH
        case _:
            return False


def _fit(value: Map) -> Fitted:
    containers = _check_content(value)
    try:
        size = len(msgpack.packb(value, unicode_errors="replace"))
    except (OverflowError, TypeError) as error:
        raise ValueError(f"it holds what no message can: {error}") from None
    if size > EVENT_LIMIT_BYTES:
        raise ValueError(f"it takes {size} bytes")
    return Fitted(value, size, containers)


def _check_content(value: Map) -> int:
    """Check what a reader of the protocol checks; answer how many lists and maps there are."""
    level: list[Any] = [value]
    containers = depth = 0
    while level:
        depth += 1
        containers += len(level)
        if depth > EVENT_NESTING_LIMIT or containers > EVENT_CONTAINER_LIMIT:
            raise ValueError("it is nested too deep, or holds too many lists and maps")
        below: list[Any] = []
        for container in level:
            if isinstance(container, dict):
                if not all(isinstance(key, str) for key in container):
                    raise ValueError("a key is not a string")
                container = list(container.values())
            for each in container:
                if each is None or each.__class__ in _SMOOTH:  # nearly all of them
                    continue
                if isinstance(each, dict | list | tuple):
                    below.append(each)
                elif isinstance(each, float) and not math.isfinite(each):
                    raise ValueError("a number is not finite")
        level = below
    return containers


def cut_page(events: Iterable[Event]) -> list[Fitted]:
    """As many events from the first on as fit one answer, but one at least if there is one."""
    return cut_fitted(map(fit_event, events))


def cut_fitted(values: Iterable[Fitted]) -> list[Fitted]:
    """The same for other values."""
    page: list[Fitted] = []
    size = containers = 0
    for fitted in values:
        size += fitted.size
        containers += fitted.containers
        if page and (size > PAGE_LIMIT_BYTES or containers > PAGE_CONTAINER_LIMIT):
            break
        page.append(fitted)
    return page
