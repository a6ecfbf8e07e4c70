"""Asks the daemon what nobody needs: what the status says, what Tab offers.

No daemon is started for it, and one that does not answer in time is not given up: only the
question is. Whoever asks here shows nothing in place of the answer.
"""

from typing import Any

from ask.chat.reader import Reader
from ask.connection import ANSWER_LIMIT_S


class Onlooker:
    """A reader, for those who only look: `ask.connection.Caller`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> dict[str, Any]:
        """As `Reader.call`; raises `Silent` when there was no answer in time."""
        return self._reader.call(method, params, limit_s=limit_s, starts=False)
