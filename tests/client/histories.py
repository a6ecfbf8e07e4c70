"""Logs as a daemon writes them, with everything that puts their order and a history's apart.

`histories` draws them: prompts wait while others are answered, are taken back, are
tried again; notices come in between. Each is whole, and every beginning of it is one too.
"""

from typing import Any

from hypothesis import strategies as st

Map = dict[str, Any]


class Log:
    """A conversation at work: what happens to it, event by event."""

    def __init__(self) -> None:
        self.events: list[Map] = []
        self.queue: list[str] = []
        self.running: str | None = None
        self.attempt = self.turns = self.items = 0
        self.append("conversation_created")

    def append(self, type: str, **fields: Any) -> None:
        """One more event."""
        seq = len(self.events) + 1
        self.events.append({"seq": seq, "at": 100.0 + seq, "version": 1, "type": type, **fields})

    def do(self, step: str) -> None:
        """One thing that happens, if it can."""
        match step:
            case "accept":
                self.turns += 1
                turn_id = f"t{self.turns}"
                self.queue.append(turn_id)
                item = self.make_item("user_message", f"asked {turn_id}")
                self.append("prompt_accepted", turn_id=turn_id, key=turn_id, items=[item])
            case "withdraw" if self.queue:
                turn_id = self.queue.pop()
                self.append("prompt_withdrawn", turn_id=turn_id)
                self.append("turn_finished", turn_id=turn_id, outcome="withdrawn", code=1)
            case "start" if self.queue and self.running is None:
                self.running, self.attempt = self.queue.pop(0), 1
                self.append("turn_started", turn_id=self.running, attempt=1)
            case "again" if self.running is not None:
                item = self.make_item("assistant_message", "half an")
                self.append("item_added", turn_id=self.running, item=item, status="superseded")
                self.attempt += 1
                self.append("turn_started", turn_id=self.running, attempt=self.attempt)
            case "say" if self.running is not None:
                item = self.make_item("assistant_message", f"answer {len(self.events)}")
                self.append("item_added", turn_id=self.running, item=item, status="complete")
            case "end" if self.running is not None:
                self.append("turn_finished", turn_id=self.running, outcome="completed", code=0)
                self.running = None
            case "note":
                item = {"type": "notice", "id": f"n{len(self.events)}", "text": "/help"}
                self.append("item_added", turn_id=None, item=item, status="complete")
            case "pin" if self.items:
                self.append("item_pinned", item_id=f"i{self.items}")
            case _:
                pass

    def make_item(self, type: str, text: str) -> Map:
        """A message."""
        self.items += 1
        return {"type": type, "id": f"i{self.items}", "parts": [{"type": "text", "text": text}]}

    def summary(self) -> Map:
        """What the daemon says of it now, as far as an end of it needs that."""
        state = "idle" if self.running is None and not self.queue else "working"
        return {"state": state, "queued": len(self.queue), "last_seq": len(self.events)}


STEPS = (
    "accept",
    "accept",
    "withdraw",
    "start",
    "start",
    "again",
    "say",
    "say",
    "end",
    "note",
    "pin",
)

histories = st.lists(st.sampled_from(STEPS), min_size=1, max_size=60)
"""What happens, one after the other; what cannot happen is passed over."""


def play(steps: list[str]) -> Log:
    """The log of all this."""
    log = Log()
    for step in steps:
        log.do(step)
    return log
