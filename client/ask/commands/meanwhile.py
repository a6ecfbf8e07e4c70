"""What others said in a conversation while a chat waited for its person.

Events in, text out, in the look of `ask attach`. What the chat itself said and
did is left out: it has been shown. It asks nobody for events, and prints nothing.
"""

from ask.commands.calls import Map
from ask.feed import News
from ask.scene import NOTICE_MARK, Scene
from ask.terminal import ControlFilter


class Meanwhile:
    """What one chat has seen of its conversation.

    Attributes:
        seq: the last event that was taken; read on after it.
    """

    def __init__(self) -> None:
        self.seq = 0
        self._scene = Scene()
        self._filter = ControlFilter()
        self._keys: set[str] = set()
        self._turns: set[str] = set()
        self._notices: list[str] = []
        self._changes = 0

    def expect_prompt(self, key: str) -> None:
        """The prompt of this key is the chat's own, and the whole turn with it."""
        self._keys.add(key)

    def expect_notice(self, text: str) -> None:
        """The next notice of these words is the chat's own."""
        self._notices.append(text)

    def expect_change(self) -> None:
        """The next change of the view is the chat's own."""
        self._changes += 1

    def take(self, event: Map) -> str:
        """What a person should be shown of the next event; may be empty."""
        if event["seq"] <= self.seq:
            return ""
        self.seq = event["seq"]
        if self._is_own(event):
            return ""
        if event["type"] == "view_changed" and event.get("kind") == "compact":
            # Whoever is attached has heard of it by a notification of its own.
            before, after = event.get("tokens_before"), event.get("tokens_after")
            return (
                f"{self._scene.end_line()}{NOTICE_MARK}Compacted: {before} -> {after} tokens.\n\n"
            )
        return self._filter.feed(self._scene.show(News("event", event)))

    def _is_own(self, event: Map) -> bool:
        if event["type"] == "prompt_accepted" and event.get("key") in self._keys:
            self._turns.add(event["turn_id"])
        if event.get("turn_id") is not None:
            return event["turn_id"] in self._turns
        if event["type"] == "view_changed" and self._changes:
            self._changes -= 1
            return True
        text = event.get("item", {}).get("text")
        if text in self._notices:
            self._notices.remove(text)
            return True
        return False
