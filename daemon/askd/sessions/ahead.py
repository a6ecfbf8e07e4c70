"""What a turn will want is found before it begins, while its prompt is being stored.

Only for a prompt that nothing is before. What was found long ago is found again: it is to be
what holds when the turn begins.
"""

from dataclasses import dataclass

import trio

from askd.core.conversation import Conversation
from askd.core.events import PromptAccepted
from askd.providers.base import Model
from askd.sessions.instructions import Read, read_instructions
from askd.sessions.needs import Means

FRESH_S = 1.0
"""How old it may be: a commit takes milliseconds, and a person that changes a setting, longer."""


@dataclass(slots=True)
class Finding:
    """What is known for the turn of a prompt, since a time in trio's seconds.

    `read` None: its project was not looked at yet.
    """

    prompt: PromptAccepted
    model: Model
    at: float
    read: Read | None = None


class Ahead:
    """One session's."""

    def __init__(self) -> None:
        self._finding: Finding | None = None
        self._is_new = False

    def announce(self, prompt: PromptAccepted, model: Model) -> None:
        """A prompt is about to be stored; if it is refused in the end, nothing comes of it."""
        self._finding = Finding(prompt, model, trio.current_time())
        self._is_new = True

    def is_wanted(self) -> bool:
        """Whether there is something to look at."""
        return self._is_new

    async def look(self, conversation: Conversation, means: Means) -> None:
        """Read what is announced to be wanted."""
        self._is_new = False
        if (finding := self._finding) is not None:
            finding.read = await read_instructions(conversation, finding.prompt, means)

    def take(self, turn_id: str) -> Finding | None:
        """What is known for this turn, if it is and is not old; it is given once."""
        finding, self._finding, self._is_new = self._finding, None, False
        if finding is None or finding.prompt.turn_id != turn_id:
            return None
        return finding if trio.current_time() - finding.at <= FRESH_S else None
