"""The hub: hands what happens in one conversation to everyone who watches it.

Each published value is encoded once, however many watch. The hub never waits:
a subscriber takes a frame or copes with having no room for it; one that raises
is dropped and does not disturb the others.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from askd.core.events import Event
from askd.core.outcome import Outcome

log = logging.getLogger(__name__)

TextKind = Literal["text", "reasoning", "arguments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A streamed fragment; `offset` counts the code points of this item and kind before it."""

    conversation_id: str
    turn_id: str
    item_id: str
    kind: TextKind
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUnsaved:
    """A turn is over and could not be stored: this is said in place of its `turn_finished`."""

    conversation_id: str
    turn_id: str
    outcome: Outcome
    code: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Something takes its time, or was decided for the caller; a sentence for people."""

    conversation_id: str
    turn_id: str
    kind: str
    text: str


NewsState = Literal["started", "finished", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionNews:
    """A compaction has begun or ended; a sentence for people. Tokens are of the next request."""

    conversation_id: str
    state: NewsState
    text: str
    tokens_before: int | None = None
    tokens_after: int | None = None


Published = Event | Delta | TurnUnsaved | Progress | CompactionNews


class Subscriber(Protocol):
    """Whoever watches a conversation."""

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        """Take an encoded value; one that is droppable may be left out. Never waits."""
        ...

    def break_off(self) -> None:
        """Nothing more will come: whoever watches is to look again."""
        ...


class Hub:
    """The subscribers of one conversation."""

    def __init__(self, encode: Callable[[Published], bytes]) -> None:
        self._encode = encode
        self._subscribers: dict[Subscriber, bool] = {}

    def subscribe(self, subscriber: Subscriber, *, interactive: bool = False) -> None:
        """Offer everything from now on; again by the same subscriber changes nothing but the flag.

        Args:
            interactive: a person is there who could answer a question.
        """
        self._subscribers[subscriber] = interactive

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Offer nothing more; one that is not subscribed is no error."""
        self._subscribers.pop(subscriber, None)

    @property
    def watched(self) -> bool:
        """Whether anyone is subscribed."""
        return bool(self._subscribers)

    @property
    def attended(self) -> bool:
        """Whether a person is there who could answer a question."""
        return any(self._subscribers.values())

    def break_off(self) -> None:
        """The conversation is gone, or its log was rewritten: all who watch are to look again."""
        for subscriber in list(self._subscribers):
            self.unsubscribe(subscriber)
            subscriber.break_off()

    def publish(self, value: Published) -> None:
        """Encode once and offer to everyone. Only deltas and progress may be dropped."""
        if not self._subscribers:
            return
        frame = self._encode(value)
        droppable = isinstance(value, Delta | Progress)
        for subscriber in list(self._subscribers):
            try:
                subscriber.offer(frame, droppable=droppable)
            except Exception:
                log.exception("Subscriber failed and was dropped: %s", type(subscriber).__name__)
                self.unsubscribe(subscriber)
