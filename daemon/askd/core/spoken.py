"""What was said in a conversation, as people read it: messages in the order of the turns.

For files that leave the house. A queued prompt stands behind what was running,
with its own answer after it; what was withdrawn, or replaced by a later attempt,
was never said. The client's own reading of events (`ask.transcript`) follows the
same rules.
"""

from dataclasses import dataclass
from typing import Literal

from askd.core.events import Event, ItemAdded, PromptAccepted, PromptWithdrawn, TurnStarted
from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Part,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.records import Json
from askd.core.rollout_items import Contents, render_text

Role = Literal["user", "assistant", "tool", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One message; `at` in unix seconds."""

    role: Role
    at: float
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    name: str | None = None


class Speech:
    """Takes events in order; `messages` is what they have said so far."""

    def __init__(self) -> None:
        self._turns: dict[str, list[Spoken]] = {}
        self._places: dict[str, int] = {}

    def feed(self, event: Event, contents: Contents) -> None:
        """The next event. `contents`: of the blobs that it names."""
        match event.body:
            case PromptAccepted(turn_id=turn_id, items=items):
                prompt = [read_item(item, event.at, contents) for item in items]
                self._turns[turn_id] = [message for message in prompt if message is not None]
                self._places[turn_id] = event.seq
            case PromptWithdrawn(turn_id=turn_id):
                self._turns.pop(turn_id, None)
            case TurnStarted(turn_id=turn_id, attempt=attempt) if attempt <= 1:
                self._places[turn_id] = event.seq
            case ItemAdded(turn_id=turn_id, item=item, status=status) if status != "superseded":
                message = read_item(item, event.at, contents)
                if message is not None:
                    place = turn_id if turn_id is not None else f"seq {event.seq}"
                    self._turns.setdefault(place, []).append(message)
                    self._places.setdefault(place, event.seq)
            case _:
                pass

    @property
    def messages(self) -> list[Spoken]:
        """All of them, in order."""
        places = sorted(self._turns, key=lambda each: self._places[each])
        return [message for each in places for message in self._turns[each]]


def read_item(item: Item, at: float, contents: Contents) -> Spoken | None:
    """An item as a message; None: it is nothing that was said."""

    def render(parts: tuple[Part, ...]) -> str:
        return render_text(parts, contents)

    match item:
        case UserMessage(parts=parts):
            return Spoken(role="user", at=at, text=render(parts))
        case AssistantMessage(parts=parts, calls=calls):
            return Spoken(role="assistant", at=at, text=render(parts), calls=calls)
        case ToolOutput(parts=parts, call_id=call_id, name=name):
            return Spoken(role="tool", at=at, text=render(parts), call_id=call_id, name=name)
        case Notice(text=text):
            return Spoken(role="system", at=at, text=text)
        case _:
            return None


def encode_spoken(message: Spoken) -> dict[str, Json]:
    """A message as scripts get it: `{role, content, tool_calls?, tool_call_id?, at}`."""
    record: dict[str, Json] = {"role": message.role, "content": message.text}
    if message.calls:
        record["tool_calls"] = [
            {"id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
    if message.call_id is not None:
        record["tool_call_id"] = message.call_id
    record["at"] = message.at
    return record
