"""From what a subscription brings to the events of the library.

Pure but for what it remembers: which text of which item was passed on already, so
that the pieces of an item always add up to its message, however it was heard of.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ask.exits import STORAGE
from ask.feed import News
from ask.library.events import (
    Accepted,
    Answered,
    ArgumentsDelta,
    Event,
    Finished,
    Message,
    Other,
    Progress,
    ReasoningDelta,
    Started,
    TextDelta,
    ToolCall,
    ToolOutput,
    locate,
    read_question,
    read_usage,
)

Map = Mapping[str, Any]


class Reader:
    """Reads one conversation.

    Args:
        pieces: whether a message that was heard of whole comes in a piece, too.
    """

    def __init__(self, *, pieces: bool = True) -> None:
        self._pieces = pieces
        # What was passed on, by turn, item and kind.
        self._said: dict[tuple[str, str, str], str] = {}

    def read(self, news: News) -> list[Event]:
        """What one thing that is new comes to, in order."""
        fields = news.fields
        match news.method:
            case "event":
                return self.read_event(fields)
            case "delta":
                return self._read_delta(fields)
            case "progress":
                return [Progress(str(fields["kind"]), str(fields["text"]), **locate(fields))]
            case "compaction":
                return [Progress("compaction", str(fields["text"]), **locate(fields))]
            case "turn_unsaved":
                self._forget(fields["turn_id"])
                return [
                    Finished(
                        fields["outcome"],
                        STORAGE,
                        reason="storage_failed",
                        message=f"The turn could not be stored: {fields['reason']}",
                        **locate(fields),
                    )
                ]
            case other if "conversation_id" in fields:
                return [Other(other, **locate(fields))]
            case _:
                return []

    def read_event(self, event: Map) -> list[Event]:
        """What a stored record comes to."""
        match event["type"]:
            case "prompt_accepted":
                text = "".join(_join(item.get("parts", ())) for item in event.get("items", ()))
                return [Accepted(text, **locate(event))]
            case "turn_started":
                self._forget(event["turn_id"])  # another attempt says it anew
                return [Started(int(event["attempt"]), event.get("model"), **locate(event))]
            case "item_added":
                return self._read_item(event, event["item"])
            case "question_asked":
                return [read_question(event)]
            case "question_answered":
                answered = Answered(
                    str(event["decision"]),
                    question_id=str(event["question_id"]),
                    by=str(event["by"]),
                    reason=event.get("reason"),
                    **locate(event),
                )
                return [answered]
            case "turn_finished":
                self._forget(event["turn_id"])
                return [
                    Finished(
                        event["outcome"],
                        int(event["code"]),
                        reason=event.get("reason"),
                        message=event.get("message"),
                        usage=read_usage(event.get("usage")),
                        **locate(event),
                    )
                ]
            case other:
                return [Other(str(other), **locate(event))]

    def _read_delta(self, delta: Map) -> list[Event]:
        item_id, kind = str(delta["item_id"]), str(delta["kind"])
        key = (str(delta["turn_id"]), item_id, kind)
        said = self._said.get(key, "")
        text = str(delta["text"])[max(len(said) - int(delta["offset"]), 0) :]
        if not text:
            return []
        self._said[key] = said + text
        where = {**locate(delta), "item_id": item_id, "offset": len(said)}
        match kind:
            case "text":
                return [TextDelta(text, **where)]
            case "reasoning":
                return [ReasoningDelta(text, **where)]
            case "arguments":
                return [ArgumentsDelta(text, **where)]
            case _:
                return []

    def _read_item(self, event: Map, item: Map) -> list[Event]:
        where = locate(event)
        match item.get("type"):
            case "assistant_message":
                return self._read_message(event, item, where)
            case "tool_output":
                return [
                    ToolOutput(
                        str(item["name"]),
                        _join(item.get("parts", ())),
                        call_id=str(item["call_id"]),
                        is_error=bool(item.get("is_error")),
                        synthetic=item.get("synthetic"),
                        **where,
                    )
                ]
            case other:
                return [Other(str(other), **where)]

    def _read_message(self, event: Map, item: Map, where: dict[str, Any]) -> list[Event]:
        item_id, status = str(item["id"]), event.get("status", "complete")
        text = _join(item.get("parts", ()))
        reasoning = _join(item.get("reasoning", ()))
        found: list[Event] = []
        if status != "superseded":
            turn_id = str(event.get("turn_id"))
            for kind, whole, make in (
                ("reasoning", reasoning, ReasoningDelta),
                ("text", text, TextDelta),
            ):
                said = self._said.pop((turn_id, item_id, kind), "")
                rest = whole[len(said) :]
                if rest and whole.startswith(said) and self._pieces:
                    outside = {**where, "seq": None, "at": None}
                    found.append(make(rest, item_id=item_id, offset=len(said), **outside))
        found.append(
            Message(
                text,
                item_id=item_id,
                status=status,
                reasoning=reasoning,
                model=item.get("model"),
                **where,
            )
        )
        if status == "complete":
            found += [
                ToolCall(
                    str(call["name"]), str(call["arguments"]), call_id=str(call["call_id"]), **where
                )
                for call in item.get("calls", ())
            ]
        return found

    def _forget(self, turn_id: object) -> None:
        self._said = {key: each for key, each in self._said.items() if key[0] != turn_id}


def _join(parts: Iterable[Map]) -> str:
    return "".join(str(part.get("text", "")) for part in parts)
