"""The hub: hands what happens in one conversation to everyone who watches it.

Each published value is encoded once, however many watch. Deltas that follow each
other at once are gathered, and offered as one, before anything else is. The hub
never waits: a subscriber takes a frame or copes with having no room for it; one
that raises is dropped and does not disturb the others.
"""

import itertools
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import trio

from askd.core.events import Event
from askd.core.outcome import Outcome

log = logging.getLogger(__name__)

QUIET_S = 0.002
"""After so long without an offer a delta is offered at once. One that comes sooner waits for those
that come with it, until the tasks that can run have run: in a burst each offer costs a write."""
GATHERED_LENGTH = 16 * 1024
"""Code points that are gathered at the most: of four bytes each, as much as an outbox writes at
once."""

TOGETHER_BYTES = 16 * 1024
"""Events that are offered as one at the least: a subscriber without room for all of them hears of
a gap, and of a long import it need not miss what there was room for."""

Later = Callable[[Callable[[], None]], object]
"""Has something called when the tasks that can run have run: a trio token's `run_sync_soon`."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Whoever follows a conversation over a connection.

    Attributes:
        program: what it calls itself.
        pid: of its process; None: not known.
        interactive: a person is there who could answer a question.
        hears: it wants to be told who else is there.
    """

    program: str
    pid: int | None = None
    interactive: bool = False
    hears: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """Who follows a conversation now, in the order in which they came."""

    conversation_id: str
    clients: tuple[Client, ...]


Published = Event | Delta | TurnUnsaved | Progress | CompactionNews | Attached


class Subscriber(Protocol):
    """Whoever watches a conversation."""

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        """Take an encoded value, or several in a row; what is droppable may be left out.

        Never waits.
        """
        ...

    def break_off(self) -> None:
        """Nothing more will come: whoever watches is to look again."""
        ...


class Hub:
    """The subscribers of one conversation. `later` None: nothing is gathered."""

    def __init__(self, encode: Callable[[Published], bytes], *, later: Later | None = None) -> None:
        self._encode = encode
        self._later = later
        self._gathered: list[Delta] = []
        self._gathered_length = 0
        self._spoke_at = -math.inf
        self._subscribers: dict[Subscriber, bool] = {}
        self._clients: dict[Subscriber, Client] = {}
        self._told: tuple[Client, ...] = ()

    def subscribe(
        self, subscriber: Subscriber, *, interactive: bool = False, client: Client | None = None
    ) -> None:
        """Offer everything from now on; again by the same subscriber changes nothing but the flag.

        Args:
            interactive: a person is there who could answer a question.
            client: who it is; None: a part of the daemon, which nobody calls attached.
        """
        self.flush()  # what was said before is not for whoever comes now
        self._subscribers[subscriber] = interactive
        if client is not None:
            self._clients[subscriber] = replace(client, interactive=interactive)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Offer nothing more; one that is not subscribed is no error."""
        self._subscribers.pop(subscriber, None)
        self._clients.pop(subscriber, None)

    @property
    def clients(self) -> tuple[Client, ...]:
        """Who follows the conversation from outside, in the order in which they came."""
        return tuple(self._clients.values())

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
        if isinstance(value, Delta) and self._gather(value):
            return
        self.flush()
        self._offer_all(self._encode(value), droppable=isinstance(value, Delta | Progress))

    def publish_all(self, events: Sequence[Event]) -> None:
        """The same for events that were committed together: as few offers as may be."""
        if not self._subscribers or not events:
            return
        self.flush()
        frames: list[bytes] = []
        size = 0
        for event in events:
            frames.append(self._encode(event))
            size += len(frames[-1])
            if size >= TOGETHER_BYTES:
                self._offer_all(b"".join(frames), droppable=False)
                frames, size = [], 0
        if frames:
            self._offer_all(b"".join(frames), droppable=False)

    def flush(self) -> None:
        """Offer what is gathered now. Raises nothing."""
        if not self._gathered:
            return
        gathered, self._gathered, self._gathered_length = self._gathered, [], 0
        frame = b"".join(map(self._encode, join_deltas(gathered)))
        self._offer_all(frame, droppable=True)

    def tell_attached(self, conversation_id: str) -> None:
        """Tell those who want to hear it who is there, if that is not what was told last."""
        clients = self.clients
        if clients == self._told:
            return
        self._told = clients
        self.flush()
        hearing = [each for each, client in self._clients.items() if client.hears]
        if not hearing:
            return
        frame = self._encode(Attached(conversation_id=conversation_id, clients=clients))
        for subscriber in hearing:
            if self._told is not clients:
                return  # one had no room and left: who is there since then has been told
            self._offer(subscriber, frame, droppable=True)

    def _gather(self, delta: Delta) -> bool:
        """Keep a delta for later; False: nothing came just before it, so that it may go now."""
        if self._later is None:
            return False
        if not self._gathered:
            if trio.current_time() - self._spoke_at >= QUIET_S:
                return False
            self._later(self.flush)
        self._gathered.append(delta)
        self._gathered_length += len(delta.text)
        if self._gathered_length >= GATHERED_LENGTH:
            self.flush()
        return True

    def _offer_all(self, frame: bytes, *, droppable: bool) -> None:
        for subscriber in list(self._subscribers):
            self._offer(subscriber, frame, droppable=droppable)
        if self._later is not None:
            self._spoke_at = trio.current_time()  # to a thousand it takes longer than `QUIET_S`

    def _offer(self, subscriber: Subscriber, frame: bytes, *, droppable: bool) -> None:
        try:
            subscriber.offer(frame, droppable=droppable)
        except Exception:
            log.exception("Subscriber failed and was dropped: %s", type(subscriber).__name__)
            self.unsubscribe(subscriber)


def join_deltas(deltas: Sequence[Delta]) -> list[Delta]:
    """The same text in as few deltas as can be: those of one item and kind in a row become one.

    Each delta is behind those of its item and kind that come before it, without a gap.
    """
    joined: list[Delta] = []
    for _, run in itertools.groupby(deltas, key=lambda each: (each.item_id, each.kind)):
        first, *rest = run
        text = "".join([first.text, *(each.text for each in rest)])
        joined.append(replace(first, text=text) if rest else first)
    return joined
