"""Stream events of any dialect to one assistant message, and to the pieces to show.

Pure. It makes the only assistant message there is, so text and calls cannot part.
A call counts only when the provider said that it had stopped: half a call is
not a call, and an interrupted message keeps its text alone. Arguments that no event
could hold are left out whole, with a sentence in their place.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

from askd.core.arguments import (
    ANSWER_LIMIT_BYTES,
    ARGUMENTS_LIMIT_BYTES,
    leave_out_arguments,
    measure_arguments,
)
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

NAME_LENGTH = 1024
"""Of a call's name and of its id, in characters: no tool and no provider has longer ones."""


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
    size: int = 0

    def take(self, arguments: str, *, is_whole: bool) -> bool:
        """Keep a piece, or the whole; False: there is more than can be kept."""
        if is_whole:
            self.arguments, self.size = [], 0
        self.size += measure_arguments(arguments)
        if self.size > ARGUMENTS_LIMIT_BYTES:
            self.arguments.clear()
            return False
        self.arguments.append(arguments)
        return True


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
                call.call_id = call.call_id or _fit_id(event.call_id)
                call.name = call.name or (event.name and event.name[:NAME_LENGTH])
                is_kept = call.take(event.arguments, is_whole=event.is_whole)
                if event.is_whole or not is_kept:
                    return []  # what was shown stays; the message is what counts
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

    def left_out(self) -> list[tuple[str, int]]:
        """The calls whose arguments are not kept: the name of each, and their bytes."""
        if self._stop is None and not self.ended:
            return []
        return [
            (call.name or "", call.size) for call, is_kept in self._judge_calls() if not is_kept
        ]

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
        for place, (call, is_kept) in enumerate(self._judge_calls(), start=1):
            call_id = call.call_id or self._make_id(place)
            used[call_id] = used.get(call_id, 0) + 1
            if used[call_id] > 1:
                call_id = f"{call_id}#{used[call_id]}"
            # A call without a name is kept: it is answered as a call of an unknown tool.
            text = "".join(call.arguments) if is_kept else leave_out_arguments(call.size)
            calls.append(ToolCall(call_id, call.name or "", text))
        return tuple(calls)

    def _judge_calls(self) -> Iterator[tuple[_Call, bool]]:
        """Every call in its order, and whether its arguments can be kept beside the others'."""
        total = 0
        for _, call in sorted(self._calls.items()):
            room = min(ARGUMENTS_LIMIT_BYTES, ANSWER_LIMIT_BYTES - total)
            is_kept = call.size <= room
            total += call.size if is_kept else 0
            yield call, is_kept

    def _make_id(self, place: int) -> str:
        """The same id every time, and at most 40 characters, which OpenAI insists on."""
        digest = hashlib.sha256(f"{self._item_id}.{place}".encode()).hexdigest()
        return f"call_{digest[:24]}"


def _fit_id(call_id: str | None) -> str | None:
    """The provider's id; one that is no id by its length is none, and another is made."""
    return call_id if call_id is None or len(call_id) <= NAME_LENGTH else None
