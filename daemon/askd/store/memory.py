"""The log in memory: the writer's promises without a disk, for ephemeral conversations.

Not a byte of it leaves the process, and it dies with the daemon. It keeps no
jobs and binds no terminals: both are for what outlives a daemon.
"""

import logging
from collections.abc import Callable, Sequence

import trio

from askd.core.blob_parts import find_blobs
from askd.core.events import Event, ItemAdded, PromptAccepted, TurnFinished
from askd.store import refusals
from askd.store.bodies import encode_text
from askd.store.log import Committed, KnownKey, Log, Partial, Write
from askd.store.projection import (
    ConversationRow,
    advance_row,
    check_write,
    find_key_seq,
    find_row_to_extend,
    number_events,
)

logger = logging.getLogger(__name__)


class MemoryLog(Log):
    """Conversations by id. `observe` hears of events before the caller hears of its write."""

    def __init__(
        self, *, observe: Callable[[Sequence[Event]], None], now: Callable[[], float]
    ) -> None:
        self._observe = observe
        self._now = now
        self._rows: dict[str, ConversationRow] = {}
        self._events: dict[str, list[Event]] = {}
        self._keys: dict[str, KnownKey] = {}
        self._blobs: dict[str, bytes] = {}
        self._uses: dict[str, set[str]] = {}
        self._open_turns: dict[str, set[str]] = {}
        self._partials: dict[str, dict[tuple[str, str], Partial]] = {}

    async def append(self, write: Write) -> Committed:
        """Commit; raises `NotFound`, `RequestError`."""
        committed = self._apply(write)
        if committed.events:
            try:
                self._observe(committed.events)
            except Exception:
                # The events are in the log: that is what the caller asked for.
                logger.exception("The observer of committed events failed")
        # As with the disk: a caller that is cancelled here has written all the same.
        await trio.lowlevel.checkpoint()
        return committed

    def save_partial(self, partial: Partial) -> None:
        """Keep a running item's text; of a turn that is over, nothing."""
        if partial.turn_id in self._open_turns.get(partial.conversation_id, ()):
            kept = self._partials.setdefault(partial.conversation_id, {})
            kept[partial.item_id, partial.kind] = partial

    async def delete(self, conversation_id: str) -> None:
        """Remove a conversation; its keys stay. Raises `NotFound`."""
        if self._rows.pop(conversation_id, None) is None:
            raise refusals.conversation_not_found(conversation_id)
        del self._events[conversation_id]
        self._open_turns.pop(conversation_id, None)
        self._partials.pop(conversation_id, None)
        for sha256 in self._uses.pop(conversation_id, set()):
            if not any(sha256 in used for used in self._uses.values()):
                del self._blobs[sha256]
        for key, known in self._keys.items():
            if known.conversation_id == conversation_id:
                self._keys[key] = KnownKey(
                    key, known.digest, known.conversation_id, known.turn_id, seq=0
                )
        await trio.lowlevel.checkpoint()

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        """Nothing: what is in memory only lives as long as the daemon."""
        await trio.lowlevel.checkpoint()
        return False

    async def mend_search(self) -> None:
        """Nothing: what is in memory only is not searched."""
        await trio.lowlevel.checkpoint()

    async def get(self, conversation_id: str) -> ConversationRow | None:
        """The row of a conversation, if it is there."""
        await trio.lowlevel.checkpoint()
        return self._rows.get(conversation_id)

    async def find_key(self, key: str) -> KnownKey | None:
        """The turn that a key stands for."""
        await trio.lowlevel.checkpoint()
        return self._keys.get(key)

    async def load(self, conversation_id: str) -> list[Event]:
        """Every event, in order; none: there is no such conversation."""
        await trio.lowlevel.checkpoint()
        return list(self._events.get(conversation_id, ()))

    async def partials(self, conversation_id: str) -> list[Partial]:
        """The text so far of running items."""
        await trio.lowlevel.checkpoint()
        return list(self._partials.get(conversation_id, {}).values())

    async def read_blob(self, sha256: str) -> bytes:
        """A blob's content; raises `NotFound`."""
        await trio.lowlevel.checkpoint()
        try:
            return self._blobs[sha256]
        except KeyError:
            raise refusals.blob_not_found(sha256) from None

    def _apply(self, write: Write) -> Committed:
        """Check everything, then change everything; nothing is awaited between."""
        check_write(write)
        for body in write.bodies:
            encode_text(body)  # what the disk would refuse is refused here too
        if write.key is not None:
            known = self._keys.get(write.key.key)
            if known is not None:
                if known.digest != write.key.digest:
                    raise refusals.key_reused(write.key)
                return Committed(events=(), repeated=known)
        at = self._now()
        row = find_row_to_extend(write, self._rows.get(write.conversation_id), at=at)
        events = tuple(number_events(row, write.bodies, at=at, times=write.times))
        new = advance_row(row, events)
        if new.name is not None and new.name != row.name:
            for other in self._rows.values():
                if other.name == new.name and other.id != new.id:
                    raise refusals.name_taken(new.name, other.id)
        named = find_blobs(write.bodies)
        contents = dict(write.blobs)
        for sha256 in named:
            if sha256 not in contents and sha256 not in self._blobs:
                raise refusals.blob_not_found(sha256)
        for sha256 in named:
            self._blobs.setdefault(sha256, contents.get(sha256, b""))
        self._uses.setdefault(row.id, set()).update(named)
        if events:
            self._rows[row.id] = new
            self._events.setdefault(row.id, []).extend(events)
        self._follow_turns(row.id, events)
        if write.key is not None:
            key, turn_id = write.key, write.key.turn_id
            self._keys[key.key] = KnownKey(
                key.key, key.digest, row.id, turn_id, find_key_seq(events, turn_id)
            )
        return Committed(events=events)

    def _follow_turns(self, conversation_id: str, events: Sequence[Event]) -> None:
        open_turns = self._open_turns.setdefault(conversation_id, set())
        partials = self._partials.setdefault(conversation_id, {})
        for event in events:
            match event.body:
                case PromptAccepted(turn_id=turn_id):
                    open_turns.add(turn_id)
                case ItemAdded(item=item):
                    for slot in [slot for slot in partials if slot[0] == item.id]:
                        del partials[slot]
                case TurnFinished(turn_id=turn_id):
                    open_turns.discard(turn_id)
                    for slot in [s for s, each in partials.items() if each.turn_id == turn_id]:
                        del partials[slot]
                case _:
                    pass
