"""Stream events of any dialect to one assistant message, and to the pieces to show.

Pure. It makes the only assistant message there is, so text and calls cannot part.
A call counts only when the provider said that it had stopped: half a call is
not a call, and an interrupted message keeps its text alone.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall
from askd.core.outcome import Failure, Stop, Usage
from askd.providers.base import (
    CallDelta,
    Ended,
    Failed,
    ReasoningDelta,
    ReasoningSealed,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)

Kind = Literal["text", "reasoning", "arguments"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A fragment to publish. `offset`: code points of this kind that came before it."""

    kind: Kind
    offset: int
    text: str


@dataclass(slots=True)
class _Call:
    call_id: str | None = None
    name: str | None = None
    arguments: list[str] = field(default_factory=list)


class Assembler:
    """Collects one completion's answer.

    Attributes:
        usage: the provider's last count, or None.
        failure: an error that came inside the stream, or None.
        ended: the dialect's own end has come.
    """

    def __init__(self, item_id: str, provider: str | None = None, model: str | None = None) -> None:
        self._item_id = item_id
        self._provider = provider
        self._model = model
        self._texts: dict[Kind, list[str]] = {"text": [], "reasoning": [], "arguments": []}
        self._lengths: dict[Kind, int] = {"text": 0, "reasoning": 0, "arguments": 0}
        self._sealed: list[Reasoning] = []
        self._unsealed = 0  # the first piece of reasoning that is in no sealed one
        self._calls: dict[int, _Call] = {}
        self._stop: Stop | None = None
        self.usage: Usage | None = None
        self.failure: Failure | None = None
        self.ended = False

    def feed(self, event: StreamEvent) -> list[Piece]:
        """Take one event; answer what there is to show now."""
        match event:
            case TextDelta(text):
                return self._add("text", text)
            case ReasoningDelta(text):
                return self._add("reasoning", text)
            case ReasoningSealed(raw):
                self._seal(raw)
            case CallDelta():
                call = self._calls.setdefault(event.index, _Call())
                call.call_id = call.call_id or event.call_id
                call.name = call.name or event.name
                if event.is_whole:
                    call.arguments = [event.arguments]
                    return []  # what was shown stays; the message is what counts
                call.arguments.append(event.arguments)
                return self._add("arguments", event.arguments)
            case UsageReported(usage):
                self.usage = usage
            case Stopped(stop):
                self._stop = stop
            case Failed(failure):
                self.failure = failure
            case Ended():
                self.ended = True
            case _:
                assert_never(event)
        return []

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(self._texts["text"])

    @property
    def stop(self) -> Stop:
        """Why it stopped; `calls` whenever there are calls, which some servers forget to say."""
        if self._stop in (None, "end", "unknown") and self._whole_calls():
            return "calls"
        return self._stop or "unknown"

    def message(self) -> AssistantMessage:
        """The message as it stands; after an interruption, what had come."""
        return AssistantMessage(
            id=self._item_id,
            parts=(Text(self.text),) if self._lengths["text"] else (),
            reasoning=self._thoughts(),
            calls=self._whole_calls(),
            provider=self._provider,
            model=self._model,
        )

    def _add(self, kind: Kind, text: str) -> list[Piece]:
        if not text:
            return []
        offset = self._lengths[kind]
        self._texts[kind].append(text)
        self._lengths[kind] += len(text)
        return [Piece(kind, offset, text)]

    def _seal(self, raw: Mapping[str, Any] | None) -> None:
        pieces = self._texts["reasoning"]
        text = "".join(pieces[self._unsealed :])
        self._unsealed = len(pieces)
        if text or raw is not None:
            self._sealed.append(Reasoning(text, raw))

    def _thoughts(self) -> tuple[Reasoning, ...]:
        """Every sealed piece, and what has come since."""
        open_text = "".join(self._texts["reasoning"][self._unsealed :])
        return (*self._sealed, *([Reasoning(open_text)] if open_text else []))

    def _whole_calls(self) -> tuple[ToolCall, ...]:
        """Every call, each with an id of its own: missing ones made, doubles renamed."""
        if self._stop is None and not self.ended:
            return ()
        calls: list[ToolCall] = []
        used: dict[str, int] = {}
        for place, (_, call) in enumerate(sorted(self._calls.items()), start=1):
            call_id = call.call_id or self._make_id(place)
            used[call_id] = used.get(call_id, 0) + 1
            if used[call_id] > 1:
                call_id = f"{call_id}#{used[call_id]}"
            # A call without a name is kept: it is answered as a call of an unknown tool.
            calls.append(ToolCall(call_id, call.name or "", "".join(call.arguments)))
        return tuple(calls)

    def _make_id(self, place: int) -> str:
        """The same id every time, and at most 40 characters, which OpenAI insists on."""
        digest = hashlib.sha256(f"{self._item_id}.{place}".encode()).hexdigest()
        return f"call_{digest[:24]}"
