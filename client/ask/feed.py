"""A subscription made whole: every event once and in order, every character once.

Pure: what the daemon sent goes in, what is new comes out. Pages, notifications,
a second subscription after a gap or a lost connection may overlap; `Feed` knows
what it has passed on already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ask.exits import Failed

Map = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class News:
    """One thing that is new: `method` as on the wire (`event`, `delta`, ...), its fields."""

    method: str
    fields: Map


@dataclass(frozen=True, slots=True)
class Heard:
    """What is new in the conversation, in its order."""

    news: list[News]


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is gone, and looked for again."""


@dataclass(frozen=True, slots=True)
class Found:
    """There is a connection again, and nothing was missed."""


@dataclass(frozen=True, slots=True)
class Gone:
    """There will be none any more, or nothing to follow."""

    error: Failed


Report = Heard | Lost | Found | Gone


class Missed(Exception):
    """Something was left out by the daemon: subscribe again after `Feed.seq`."""


class Feed:
    """What one subscriber has seen of one conversation.

    Attributes:
        seq: the last event that was passed on; subscribe again after it.
    """

    def __init__(self, *, seq: int = 0) -> None:
        self.seq = seq
        # How much of each running item's text was passed on, in code points.
        self._known: dict[tuple[str, str, str], int] = {}
        # Turns and items of which no more is to come. A delta that was sent before a second
        # subscription may be read after it, when the page has shown the whole already.
        self._over: set[str] = set()

    def take_page(self, events: Iterable[Map], live: Iterable[Map] = ()) -> list[News]:
        """A page of events, and the text so far of running items that came with it."""
        found = [news for event in events for news in self._take_event(event)]
        for item in live:
            found += self._take_delta({**item, "offset": 0})
        return found

    def take(self, method: str, fields: Map) -> list[News]:
        """A notification. Raises `Missed` when the daemon skipped something."""
        match method:
            case "event":
                if fields["seq"] > self.seq + 1:
                    raise Missed
                return self._take_event(fields)
            case "delta":
                return self._take_delta(fields)
            case "gap":
                raise Missed
            case _:
                return [News(method, fields)]

    def _take_event(self, event: Map) -> list[News]:
        if event["seq"] <= self.seq:
            return []
        self.seq = event["seq"]
        turn_id = event.get("turn_id")
        match event["type"]:
            case "turn_started":  # another attempt says it anew
                self._forget(turn_id)
            case "turn_finished":
                self._forget(turn_id)
                self._over.add(str(turn_id))
            case "item_added" if event.get("status") != "superseded":
                self._over.add(str(event.get("item", {}).get("id")))
            case _:
                pass
        return [News("event", event)]

    def _forget(self, turn_id: object) -> None:
        self._known = {key: n for key, n in self._known.items() if key[0] != turn_id}

    def _take_delta(self, delta: Map) -> list[News]:
        if delta["turn_id"] in self._over or delta["item_id"] in self._over:
            return []
        key = (delta["turn_id"], delta["item_id"], delta["kind"])
        known = self._known.get(key, 0)
        offset, text = delta["offset"], delta["text"]
        # Beyond what is known: the daemon left some out and will say so; not shown with a hole.
        if offset > known or offset + len(text) <= known:
            return []
        self._known[key] = offset + len(text)
        return [News("delta", {**delta, "offset": known, "text": text[known - offset :]})]
