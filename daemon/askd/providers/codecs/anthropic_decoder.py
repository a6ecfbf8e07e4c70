"""The stream of Anthropic's Messages API to events.

Pure, and lenient with those that imitate it: events go by the `type` in their JSON, an
unknown one is passed over, deltas of blocks that never began are understood, blocks may
overlap. Only `message_stop` ends an answer.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, Overflowed, ProviderError
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
from askd.providers.codecs.lenient import (
    Json,
    parse_object,
    read_count,
    read_index,
    read_object,
    read_text,
    write_json,
)
from askd.providers.codecs.sse import EventSplitter
from askd.providers.refusals import classify, read_error_object

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "tool_use": "calls",
    "pause_turn": "pause",
    "refusal": "refusal",
}
_WINDOW_EXCEEDED = "model_context_window_exceeded"


@dataclass(slots=True)
class _Block:
    """A block of the answer that has begun and not stopped.

    Attributes:
        call: the place of a call among the calls.
        input: a call's arguments as they stood at its beginning, for want of deltas.
        place: for thinking: how many characters of text and how many calls came before.
    """

    kind: Literal["text", "thinking", "redacted_thinking", "tool_use", "other"]
    call: int = 0
    has_arguments: bool = False
    input: Json = field(default_factory=dict)
    thought: list[str] = field(default_factory=list)
    signature: str = ""
    data: str = ""
    place: tuple[int, int] = (0, 0)


class MessagesDecoder:
    """The bytes of one streamed answer to events; after its end it passes over the rest."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._splitter = EventSplitter(provider)
        self._ended = False
        self._blocks: dict[int, _Block] = {}
        self._characters = 0
        self._calls = 0
        self._counts: dict[str, int] = {}

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Every event that is whole after these bytes; raise `BadAnswer` over a cap."""
        events: list[StreamEvent] = []
        for split in self._splitter.feed(data):
            if self._ended:
                break
            events += self._read(split.data)
        return events

    def _read(self, data: str) -> list[StreamEvent]:
        event = parse_object(data)
        if event is None:
            problem = BadAnswer(f"{self._provider} sent an event that is not a JSON object.")
            return self._fail(problem)
        match event.get("type"):
            case "message_start":
                return self._count(read_object(event.get("message")).get("usage"))
            case "content_block_start":
                return self._start(self._place_of(event), read_object(event.get("content_block")))
            case "content_block_delta":
                return self._extend(self._place_of(event), read_object(event.get("delta")))
            case "content_block_stop":
                return self._stop(self._place_of(event))
            case "message_delta":
                return self._finish(event)
            case "message_stop":
                self._ended = True
                return [*self._stop_all(), Ended()]
            case kind if kind == "error" or event.get("error"):
                words, code, group = read_error_object(event)
                said = classify(self._provider, status=200, words=words, code=code, kind=group)
                return self._fail(said)
            case _:
                return []  # `ping`, and what is not known yet

    def _place_of(self, event: Json) -> int:
        """The block that an event belongs to; without an index: the last one."""
        place = read_index(event.get("index"))
        return max(self._blocks, default=0) if place is None else place

    def _start(self, place: int, content: Json) -> list[StreamEvent]:
        events = self._stop(place)
        match content.get("type"):
            case "text":
                self._blocks[place] = _Block("text")
                return [*events, *self._say(read_text(content.get("text")))]
            case "thinking":
                self._blocks[place] = block = self._think()
                block.signature = read_text(content.get("signature"))
                return [*events, *_extend_thought(block, read_text(content.get("thinking")))]
            case "redacted_thinking":
                self._blocks[place] = block = self._think()
                block.kind, block.data = "redacted_thinking", read_text(content.get("data"))
            case "tool_use":
                events += self._call(place, content)
            case _:
                self._blocks[place] = _Block("other")  # a tool that the server runs itself
        return events

    def _extend(self, place: int, delta: Json) -> list[StreamEvent]:
        block = self._blocks.get(place)
        match delta.get("type"):
            case "text_delta":
                return self._say(read_text(delta.get("text")))
            case "thinking_delta" | "signature_delta":
                if block is None or block.kind != "thinking":
                    block = self._blocks[place] = self._think()
                block.signature += read_text(delta.get("signature"))
                return _extend_thought(block, read_text(delta.get("thinking")))
            case "input_json_delta":
                events = self._call(place, {}) if block is None else []
                return [*events, *self._extend_call(place, read_text(delta.get("partial_json")))]
            case _:
                return []  # citations, and what is not known yet

    def _say(self, text: str) -> list[StreamEvent]:
        self._characters += len(text)
        return [TextDelta(text)] if text else []

    def _think(self) -> _Block:
        return _Block("thinking", place=(self._characters, self._calls))

    def _call(self, place: int, content: Json) -> list[StreamEvent]:
        block = _Block("tool_use", call=self._calls, input=read_object(content.get("input")))
        self._blocks[place] = block
        self._calls += 1
        call_id, name = read_text(content.get("id")), read_text(content.get("name"))
        return [CallDelta(block.call, call_id or None, name or None)]

    def _extend_call(self, place: int, arguments: str) -> list[StreamEvent]:
        block = self._blocks[place]
        if block.kind != "tool_use" or not arguments:
            return []
        block.has_arguments = True
        return [CallDelta(block.call, arguments=arguments)]

    def _stop(self, place: int) -> list[StreamEvent]:
        block = self._blocks.pop(place, None)
        if block is None:
            return []
        if block.kind in ("thinking", "redacted_thinking"):
            return [ReasoningSealed(_write_raw(block))]
        if block.kind == "tool_use" and not block.has_arguments:
            # No arguments were streamed: they stood at the beginning, or there are none.
            return [CallDelta(block.call, arguments=write_json(block.input))]
        return []

    def _stop_all(self) -> list[StreamEvent]:
        return [event for place in sorted(self._blocks) for event in self._stop(place)]

    def _finish(self, event: Json) -> list[StreamEvent]:
        events = self._count(event.get("usage"))
        reason = read_text(read_object(event.get("delta")).get("stop_reason"))
        if not reason:
            return events
        events += self._stop_all()
        if reason == _WINDOW_EXCEEDED:
            sentence = f"{self._provider}: the answer reached the end of the model's window."
            return [*events, *self._fail(Overflowed(sentence))]
        return [*events, Stopped(_STOPS.get(reason, "unknown"))]

    def _count(self, usage: Any) -> list[StreamEvent]:
        """The counts are cumulative, and what is not said again stays as it was."""
        details = read_object(usage).get("output_tokens_details")
        said = {name: read_count(usage, name) for name in (*_INPUTS, "output_tokens")}
        said["thinking_tokens"] = read_count(details, "thinking_tokens")
        news = {name: count for name, count in said.items() if count is not None}
        if not news:
            return []
        self._counts |= news
        counts = self._counts
        usage_so_far = Usage(
            input_tokens=sum(counts.get(name, 0) for name in _INPUTS),
            output_tokens=counts.get("output_tokens", 0),
            cached_tokens=counts.get("cache_read_input_tokens", 0),
            reasoning_tokens=counts.get("thinking_tokens", 0),
        )
        return [UsageReported(usage_so_far)]

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        self._ended = True
        return [Failed(error.failure)]


_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Anthropic counts each token of the input in one of these."""


def _extend_thought(block: _Block, text: str) -> list[StreamEvent]:
    block.thought.append(text)
    return [ReasoningDelta(text)] if text else []


def _write_raw(block: _Block) -> Json | None:
    """What the provider wants back, unchanged, and where it stood if not ahead of all.

    Thinking without a signature (of an imitator) is not wanted back.
    """
    raw: Json
    if block.kind == "redacted_thinking":
        raw = {"type": "redacted_thinking", "data": block.data}
    elif block.signature:
        raw = {"type": "thinking", "thinking": "".join(block.thought), "signature": block.signature}
    else:
        return None
    return raw if block.place == (0, 0) else {**raw, "place": list(block.place)}
