"""What the messages of one turn have said: the text that is its answer, and how much was thought.

An answer that is begun again, after a crash or because somebody steered, is another one. It
shows nothing, and knows no connection.
"""

from collections.abc import Mapping
from typing import Any


class Said:
    """The account of one turn, by the ids of its items."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._thought: dict[str, int] = {}  # code points of reasoning that are known

    @property
    def answer(self) -> str:
        """The last message that has a text."""
        return next((each for each in reversed(self._texts.values()) if each), "")

    def take_event(self, event: Mapping[str, Any]) -> None:
        """Take what an event of the turn says, its parts as text."""
        item = event.get("item") or {}
        if item.get("type") == "assistant_message" and event.get("status") != "superseded":
            self.take_message(item)
        elif event["type"] == "turn_started":
            self.begin_again()
        elif item.get("type") == "user_message":
            self.hear()

    def take_piece(self, item_id: str, text: str) -> None:
        """A message goes on; what it is in the end says `take_message`."""
        self._texts[item_id] = self._texts.get(item_id, "") + text

    def take_message(self, item: Mapping[str, Any]) -> None:
        """A message is whole."""
        self._texts[str(item["id"])] = "".join(
            each.get("text", "") for each in item.get("parts", ())
        )

    def take_thought(self, item_id: str, offset: int, text: str) -> str:
        """What is new of an item's reasoning, of which this much stands from `offset` on."""
        known = self._thought.get(item_id, 0)
        if not offset <= known < offset + len(text):
            return ""
        self._thought[item_id] = offset + len(text)
        return text[known - offset :]

    def begin_again(self) -> None:
        """The turn is tried once more, from its beginning."""
        self._texts.clear()
        self._thought.clear()

    def hear(self) -> None:
        """A person has said something: what is said to this is the answer."""
        self._texts.clear()
