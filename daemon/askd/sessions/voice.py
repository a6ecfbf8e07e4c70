"""What a turn says to whoever watches: its answer as it comes, and sentences beside it.

Nothing is said before the turn has started for everybody: what comes sooner is held until then.
"""

from collections.abc import Callable
from functools import partial

import trio

from askd.sessions.hub import Progress, TextKind
from askd.sessions.live import LiveSession


class Voice:
    """One turn's."""

    def __init__(self, session: LiveSession, turn_id: str) -> None:
        self._session = session
        self._turn_id = turn_id
        self._may_speak = trio.Event()
        self._held: list[Callable[[], None]] = []

    def hush(self) -> trio.Event:
        """Hold what comes from now on; answers with the event that `speak` sets."""
        self._may_speak = trio.Event()
        return self._may_speak

    def speak(self) -> None:
        """Say what was held, and from now on what comes, at once."""
        self._may_speak.set()
        held, self._held = self._held, []
        for say in held:
            say()

    def tell(self, kind: str, text: str) -> None:
        """Say a sentence for people, when it may be said."""
        if not self._may_speak.is_set():
            self._held.append(partial(self.tell, kind, text))
            return
        self._session.hub.publish(
            Progress(conversation_id=self._session.id, turn_id=self._turn_id, kind=kind, text=text)
        )

    def say(self, item_id: str, kind: TextKind, text: str) -> None:
        """Say a fragment of an item that is being written, when it may be said."""
        if not self._may_speak.is_set():
            self._held.append(partial(self.say, item_id, kind, text))
            return
        self._session.say(self._turn_id, item_id, kind=kind, text=text)
