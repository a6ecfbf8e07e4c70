"""The text so far of the items that are still being written.

It lives from an item's first fragment until its event is committed, in memory
only; what of it should be kept on disk is handed out by `take_unsaved`. It
decides nothing about when.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio

from askd.core.events import Event
from askd.sessions.hub import TextKind

SAVE_BYTES = 4096
"""Unsaved text of this size is saved at once: what a crash may lose of an answer."""
SAVE_INTERVAL_S = 0.25
"""Less than this is saved after this long."""


@dataclass(frozen=True, slots=True)
class LiveText:
    """All that an item has said so far, of one kind."""

    turn_id: str
    item_id: str
    kind: TextKind
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that happened after a `seq`, and the text so far of what is being written."""

    events: Sequence[Event]
    live: Sequence[LiveText]


class _Stream:
    """One item's text of one kind, kept as pieces: joining at every fragment would be quadratic."""

    __slots__ = ("length", "pieces", "turn_id", "unsaved_bytes")

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.pieces: list[str] = []
        self.length = 0
        self.unsaved_bytes = 0

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class RunningTexts:
    """Every text of a session that is still growing."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, TextKind], _Stream] = {}
        self._growth = trio.Event()

    def add(self, turn_id: str, item_id: str, *, kind: TextKind, text: str) -> int:
        """Append a fragment; answer its offset in code points."""
        stream = self._streams.setdefault((item_id, kind), _Stream(turn_id))
        offset = stream.length
        stream.pieces.append(text)
        stream.length += len(text)
        stream.unsaved_bytes += len(text.encode("utf-8", "replace"))
        self._growth.set()
        return offset

    def snapshot(self) -> list[LiveText]:
        """What there is, in the order in which the items began."""
        return [
            LiveText(stream.turn_id, item_id, kind, stream.text)
            for (item_id, kind), stream in self._streams.items()
        ]

    async def wait_unsaved(self) -> None:
        """Wait until a text grows, or return at once if one has since all were taken last."""
        await self._growth.wait()

    def take_unsaved(self, at_least: int = 1) -> list[LiveText]:
        """The texts that grew by that many bytes since they were taken last."""
        if at_least <= 1 and self._growth.is_set():  # else somebody waits for this very event
            self._growth = trio.Event()
        taken = []
        for (item_id, kind), stream in self._streams.items():
            if stream.unsaved_bytes >= at_least:
                stream.unsaved_bytes = 0
                taken.append(LiveText(stream.turn_id, item_id, kind, stream.text))
        return taken

    def drop_item(self, item_id: str) -> None:
        """The item's event is there: it says all of this."""
        self._drop(lambda key, _: key[0] == item_id)

    def drop_turn(self, turn_id: str) -> None:
        """The turn is over, or begins anew."""
        self._drop(lambda _, stream: stream.turn_id == turn_id)

    def _drop(self, is_gone: Callable[[tuple[str, TextKind], _Stream], bool]) -> None:
        for key in [key for key, stream in self._streams.items() if is_gone(key, stream)]:
            del self._streams[key]
