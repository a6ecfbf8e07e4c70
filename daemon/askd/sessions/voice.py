"""What a turn says beside its answer to whoever watches: that a model loads, or is asked again.

Nothing is said before the turn has started for everybody: what comes sooner is held until then.
"""

import trio

from askd.sessions.hub import Progress
from askd.sessions.live import LiveSession


class Voice:
    """One turn's."""

    def __init__(self, session: LiveSession, turn_id: str) -> None:
        self._session = session
        self._turn_id = turn_id
        self._may_speak = trio.Event()
        self._held: list[tuple[str, str]] = []

    def hush(self) -> trio.Event:
        """Hold what is told from now on; answers with the event that `speak` sets."""
        self._may_speak = trio.Event()
        return self._may_speak

    def speak(self) -> None:
        """Say what was held, and from now on what is told, at once."""
        self._may_speak.set()
        held, self._held = self._held, []
        for kind, text in held:
            self.tell(kind, text)

    def tell(self, kind: str, text: str) -> None:
        """Say a sentence for people, when it may be said."""
        if not self._may_speak.is_set():
            self._held.append((kind, text))
            return
        self._session.hub.publish(
            Progress(conversation_id=self._session.id, turn_id=self._turn_id, kind=kind, text=text)
        )
