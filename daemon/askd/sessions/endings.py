"""How turns end apart from their own running: those who wait for it, and ends made by hand.

It appends nothing: whoever ends a turn commits what `end_turn` says.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from askd.core.conversation import TurnRecord
from askd.core.events import Body, TurnFinished
from askd.core.outcome import STORAGE, Usage
from askd.core.turn import Append, Interrupted, Turn
from askd.errors import StorageFailed

UNSAVED = "Failed to save turn: "
"""How the stored message of a turn begins that could not be stored when it ended."""


def end_turn(record: TurnRecord, end: Interrupted) -> list[Body]:
    """What ends a turn of which nothing runs: an output for each open call, then its end."""
    commands = Turn.rebuild(record).feed(end)
    return [command.body for command in commands if isinstance(command, Append)]


def end_turn_as(record: TurnRecord, end: TurnFinished) -> list[Body]:
    """The same, with an end that is known already."""
    bodies = end_turn(record, Interrupted(end.code, end.reason or "", end.message or ""))
    return [*(body for body in bodies if not isinstance(body, TurnFinished)), end]


def end_unsaved(turn_id: str, usage: Usage | None, error: StorageFailed) -> TurnFinished:
    """The end of a turn whose events storage did not take."""
    return TurnFinished(
        turn_id,
        "interrupted",
        STORAGE,
        usage=usage,
        reason="storage_failed",
        message=f"{UNSAVED}{error.message}",
    )


class Waiting:
    """Those who wait for the ends of turns."""

    def __init__(self) -> None:
        self._events: dict[str, list[trio.Event]] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    @contextmanager
    def place(self, turn_id: str) -> Iterator[trio.Event]:
        """An event that is set when the turn may be over; it is forgotten afterwards."""
        over = trio.Event()
        self._events.setdefault(turn_id, []).append(over)
        try:
            yield over
        finally:
            self._events[turn_id].remove(over)
            if not self._events[turn_id]:
                del self._events[turn_id]

    def release(self, turn_id: str) -> None:
        """The turn is over: who waits for it looks again."""
        for over in self._events.get(turn_id, ()):
            over.set()

    def release_all(self) -> None:
        """Nothing will ever be over here: everyone looks again."""
        for turn_id in list(self._events):
            self.release(turn_id)
