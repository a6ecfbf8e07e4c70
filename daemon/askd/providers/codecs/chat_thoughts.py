"""Reasoning in "openai-chat": the names it comes under, and how it goes back.

OpenAI's Chat Completions have no reasoning, so each server made its own field:
`reasoning_content` (DeepSeek, llama.cpp, Moonshot), `reasoning` (vLLM, Groq),
`reasoning_text` with `reasoning_opaque` (Copilot), `reasoning_details`
(OpenRouter), `extra_content` of a call (Gemini's signatures). Each is kept by
its name and sent back by it, to the provider and the model it came from alone.

Plain text goes back only while the same prompt is being answered: between a
call and its output servers demand it, later they ignore it or refuse it. What
is signed or sealed goes back always: it is the server's own to leave out.
"""

from dataclasses import dataclass, field
from typing import Any

from askd.core.items import AssistantMessage
from askd.providers.base import ReasoningSealed
from askd.providers.codecs.keepsakes import copy_json, keep
from askd.providers.codecs.lenient import Json, read_index, read_object, read_objects, read_text

RAW_TYPE = "chat_reasoning"
"""The `type` of this dialect's raw reasoning: `{type, field?, details?, opaque?, calls?}`."""

_TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_DETAILS = "reasoning_details"
_OPAQUE = "reasoning_opaque"
_FIELDS = frozenset({*_TEXT_FIELDS, _DETAILS, _OPAQUE})
_EXTRA = "extra_content"

_PIECEWISE = ("text", "summary")
"""The fields of a detail that come in pieces; every other is said once, at any time."""


@dataclass(slots=True)
class ThoughtReader:
    """Collects one answer's reasoning from its deltas, until it is sealed."""

    text_field: str | None = None
    details: list[Json] = field(default_factory=list)
    opaque: str = ""
    calls: dict[int, Any] = field(default_factory=dict)

    def read(self, delta: Json) -> str:
        """The text that this delta adds; what is not text is kept for the seal."""
        if _FIELDS.isdisjoint(delta):  # nearly every delta
            return ""
        details = read_objects(delta.get(_DETAILS))
        for each in details:
            self._add_detail(each)
        self.opaque = read_text(delta.get(_OPAQUE)) or self.opaque
        for name in _TEXT_FIELDS:
            text = read_text(delta.get(name))
            if text:
                self.text_field = self.text_field or name
                return text
        # OpenRouter says the same in `reasoning`; not everyone who copied its details does.
        return "".join(read_text(each.get(name)) for each in details for name in _PIECEWISE)

    def read_call(self, place: int, call: Json) -> None:
        """What comes with a call and must go back with it."""
        extra = call.get(_EXTRA)
        if isinstance(extra, dict) and extra:
            self.calls[place] = copy_json(extra)

    def seal(self) -> list[ReasoningSealed]:
        """The seal over what has come since the last one, or none."""
        raw: Json = {"type": RAW_TYPE}
        if self.text_field:
            raw["field"] = self.text_field
        if self.details:
            raw["details"] = self.details
        if self.opaque:
            raw["opaque"] = self.opaque
        if self.calls:
            raw["calls"] = [[place, extra] for place, extra in sorted(self.calls.items())]
        self.text_field, self.details, self.opaque, self.calls = None, [], "", {}
        return [ReasoningSealed(keep(raw))] if len(raw) > 1 else []

    def _add_detail(self, piece: Json) -> None:
        """Add a detail, or the next piece of the last one: its text goes on, it gets signed."""
        new: Json = copy_json(piece)
        last = self.details[-1] if self.details else None
        if last is None or "data" in new or not _is_continued(last, new):
            self.details.append(new)
            return
        for name, value in new.items():
            if name in _PIECEWISE and isinstance(value, str):
                last[name] = read_text(last.get(name)) + value
            elif value is not None:
                last[name] = value


def _is_continued(last: Json, new: Json) -> bool:
    return all(last.get(name) == new.get(name) for name in ("type", "index"))


def encode_thoughts(message: AssistantMessage, *, is_current: bool) -> Json:
    """The fields of an assistant message that its reasoning goes back in.

    `is_current`: it belongs to the answer that the model is still giving. Whether
    the message may go to this provider at all is for the caller to say.
    """
    fields: Json = {}
    for thought in message.reasoning:
        raw = read_object(thought.raw)
        if raw.get("type") != RAW_TYPE:
            continue
        details, opaque, name = raw.get("details"), raw.get("opaque"), raw.get("field")
        if isinstance(details, list) and details:
            fields[_DETAILS] = [*fields.get(_DETAILS, []), *details]
        elif is_current and name in _TEXT_FIELDS and thought.text:
            fields[name] = fields.get(name, "") + thought.text
        if isinstance(opaque, str):
            fields[_OPAQUE] = opaque
    return fields


def encode_call_extras(message: AssistantMessage) -> dict[int, Json]:
    """What goes back with each call, by the call's place in the message."""
    extras: dict[int, Json] = {}
    for thought in message.reasoning:
        raw = read_object(thought.raw)
        calls = raw.get("calls") if raw.get("type") == RAW_TYPE else None
        for pair in calls if isinstance(calls, list) else []:
            match pair:
                case [place, dict(extra)] if (index := read_index(place)) is not None:
                    extras[index] = {_EXTRA: extra}
    return extras
