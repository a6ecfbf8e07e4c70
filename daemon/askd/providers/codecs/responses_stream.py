"""The stream of "openai-responses": bytes of one answer to events.

An answer is a list of items, several of them growing at once. Deltas are shown
as they come; an item that is done says itself whole, and that counts: what its
deltas did not bring is added then. Items are known by their place or, with
servers that send none, by their id; a call's `call_id` is neither.

Only `response.completed` and `response.incomplete` end an answer. Unknown
events and items pass over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, ProviderError
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
from askd.providers.codecs.json_events import JsonEvents
from askd.providers.codecs.keepsakes import keep
from askd.providers.codecs.lenient import (
    Json,
    read_count,
    read_index,
    read_object,
    read_objects,
    read_text,
)
from askd.providers.refusals import classify, read_error_object

_INCOMPLETE: Mapping[str, Stop] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}
_PARAGRAPH = "\n\n"
"""Between two parts of a summary and between two messages of one answer."""

Kind = Literal["message", "reasoning", "function_call"]


@dataclass(slots=True)
class _Item:
    """One item as far as it has come.

    Attributes:
        place: of a call, among the calls.
        text: what was shown of it: its text, its reasoning or its arguments.
        part: which part of a summary or a text came last, and under which name.
    """

    kind: Kind
    place: int = 0
    text: str = ""
    part: tuple[str, int] | None = None
    is_done: bool = False


class ResponsesDecoder:
    """The bytes of one streamed answer to events; after `Ended` it passes over the rest.

    `output_limit`: tokens. Some servers (llama.cpp) call an answer completed that
    their limit cut; when all of them were used, it was.
    """

    def __init__(self, provider: str, *, output_limit: int | None = None) -> None:
        self._provider = provider
        self._output_limit = output_limit
        self._events = JsonEvents(provider)
        self._items: dict[int | str, _Item] = {}
        self._calls = 0
        self._has_text = False
        self._has_thought = False
        self._refused = False
        self._ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Every event that is whole after these bytes; raise `BadAnswer` over a cap."""
        events: list[StreamEvent] = []
        for each in self._events.feed(data):
            if self._ended:
                break
            if isinstance(each, BadAnswer):
                events += self._fail(each)
            elif each.body is not None:
                events += self._read_event(each.name, each.body)
        return events

    def _read_event(self, name: str, event: Json) -> list[StreamEvent]:
        kind = "error" if name == "error" else event.get("type") or name
        match kind:
            case "response.output_item.added":
                return self._begin(event, read_object(event.get("item")))
            case "response.output_text.delta":
                return self._grow("message", event, event.get("delta"))
            case "response.refusal.delta":
                self._refused = True
                return self._grow("message", event, event.get("delta"))
            case "response.reasoning_summary_text.delta":
                return self._grow("reasoning", event, event.get("delta"), part="summary")
            case "response.reasoning_text.delta":
                return self._grow("reasoning", event, event.get("delta"), part="content")
            case "response.function_call_arguments.delta":
                return self._grow("function_call", event, event.get("delta"))
            case "response.output_item.done":
                return self._finish(event, read_object(event.get("item")))
            case "response.completed" | "response.incomplete":
                return self._end(read_object(event.get("response")))
            case "response.failed" | "response.cancelled":
                response = read_object(event.get("response"))
                return [*_report_usage(response), *self._fail(self._read_error(response))]
            case "error":
                return self._fail(self._read_error(event))
            case "message" if event.get("error"):  # without a name or a type
                return self._fail(self._read_error(event))
        return []

    # ---- items ----------------------------------------------------------------------

    def _find(self, kind: Kind, event: Json, item: Json, *, is_new: bool = False) -> _Item:
        """The item that an event is about, known by its place, else by its id."""
        place = read_index(event.get("output_index"))
        name = read_text(item.get("id")) or read_text(event.get("item_id"))
        key = name if place is None else place
        found = self._items.get(key)
        if found is None or found.kind != kind or (is_new and (found.is_done or not name)):
            found = self._items[key] = _Item(kind, place=self._calls)
            self._calls += kind == "function_call"
        return found

    def _begin(self, event: Json, item: Json) -> list[StreamEvent]:
        kind = item.get("type")
        if kind == "function_call":
            call = self._find(kind, event, item, is_new=True)
            arguments = read_text(item.get("arguments"))
            call.text += arguments
            return [self._name_call(call, item, arguments)]
        if kind == "reasoning" or kind == "message":
            self._find(kind, event, item, is_new=True)
        return []

    def _name_call(self, call: _Item, item: Json, arguments: str) -> CallDelta:
        call_id = read_text(item.get("call_id")) or None
        return CallDelta(call.place, call_id, read_text(item.get("name")) or None, arguments)

    def _grow(
        self, kind: Kind, event: Json, delta: object, *, part: str = "content"
    ) -> list[StreamEvent]:
        text = read_text(delta)
        item = self._find(kind, event, {})
        if not text or item.is_done:
            return []
        if kind == "function_call":
            item.text += text
            return [CallDelta(item.place, arguments=text)]
        if kind == "message":
            return self._say(item, text)
        if item.part is not None and item.part[0] != part:
            return []  # the same thought, once more in other words
        number = read_index(event.get(f"{part}_index")) or 0
        begins = item.part is not None and item.part[1] != number
        item.part = (part, number)
        return self._think(item, (_PARAGRAPH if begins else "") + text)

    def _say(self, item: _Item, text: str) -> list[StreamEvent]:
        lead = _PARAGRAPH if self._has_text and not item.text else ""
        self._has_text = True
        item.text += text
        return [TextDelta(lead + text)]

    def _think(self, item: _Item, text: str) -> list[StreamEvent]:
        lead = _PARAGRAPH if self._has_thought and not item.text else ""
        self._has_thought = True
        item.text += text
        return [ReasoningDelta(lead + text)]

    def _finish(self, event: Json, done: Json) -> list[StreamEvent]:
        """An item said whole: add what its deltas did not bring."""
        match done.get("type"):
            case "function_call":
                return self._finish_call(self._find("function_call", event, done), done)
            case "message":
                return self._finish_message(self._find("message", event, done), done)
            case "reasoning":
                return self._finish_thought(self._find("reasoning", event, done), done)
            case _:
                return []

    def _finish_call(self, item: _Item, done: Json) -> list[StreamEvent]:
        whole = read_text(done.get("arguments"))
        if item.is_done or done.get("status") == "incomplete":
            return []
        item.is_done = True
        if whole.startswith(item.text):
            return [self._name_call(item, done, whole[len(item.text) :])]
        if not whole:
            return [self._name_call(item, done, "")]
        call = self._name_call(item, done, whole)
        return [CallDelta(call.index, call.call_id, call.name, whole, is_whole=True)]

    def _finish_message(self, item: _Item, done: Json) -> list[StreamEvent]:
        parts = read_objects(done.get("content"))
        texts = [read_text(p.get("text")) or read_text(p.get("refusal")) for p in parts]
        self._refused = self._refused or any(p.get("type") == "refusal" for p in parts)
        rest = "" if item.is_done else _find_rest("".join(texts), item.text)
        item.is_done = True
        return self._say(item, rest) if rest else []

    def _finish_thought(self, item: _Item, done: Json) -> list[StreamEvent]:
        if item.is_done:
            return []
        item.is_done = True
        texts = {
            name: _PARAGRAPH.join(
                read_text(part.get("text")) for part in read_objects(done.get(name))
            )
            for name in ("summary", "content")
        }
        shown = item.part[0] if item.part else "summary" if texts["summary"] else "content"
        rest = _find_rest(texts[shown], item.text)
        sealed = ReasoningSealed(keep(done))
        return [*(self._think(item, rest) if rest else []), sealed]

    # ---- the end --------------------------------------------------------------------

    def _end(self, response: Json) -> list[StreamEvent]:
        if response.get("error"):
            return [*_report_usage(response), *self._fail(self._read_error(response))]
        events = self._add_unseen(response)
        usage = _report_usage(response)
        reason = read_text(read_object(response.get("incomplete_details")).get("reason"))
        self._ended = True
        stop = self._find_stop(response, reason, usage)
        return [*events, *usage, Stopped(stop), Ended()]

    def _find_stop(self, response: Json, reason: str, usage: list[StreamEvent]) -> Stop:
        if reason or response.get("status") == "incomplete":
            return _INCOMPLETE.get(reason, "unknown")
        match usage:
            case [UsageReported(Usage(output_tokens=used))] if self._output_limit:
                if used >= self._output_limit:
                    return "length"
        if self._refused:
            return "refusal"
        return "calls" if self._calls else "end"

    def _add_unseen(self, response: Json) -> list[StreamEvent]:
        """What the end says and nothing did before: a server need not stream every item."""
        seen = {item.kind for item in self._items.values()}
        events: list[StreamEvent] = []
        for place, item in enumerate(read_objects(response.get("output"))):
            if item.get("type") not in seen:
                events += self._finish({"item_id": str(place)}, item)
        return events

    def _read_error(self, holder: Json) -> ProviderError:
        """The error in `error`, or an event that is one itself."""
        error = holder.get("error")
        if not isinstance(error, dict | str) or not error:
            error = {name: holder[name] for name in ("message", "code") if holder.get(name)}
        if not error:
            error = {"message": "it failed and did not say why", "type": "server_error"}
        words, code, kind = read_error_object({"error": error})
        return classify(self._provider, status=200, words=words, code=code, kind=kind)

    def _fail(self, problem: ProviderError) -> list[StreamEvent]:
        self._ended = True
        return [Failed(problem.failure)]


def _find_rest(whole: str, shown: str) -> str:
    """What is still to be shown; nothing, if what was shown is another text: it cannot go."""
    return whole[len(shown) :] if whole.startswith(shown) else ""


def _report_usage(response: Json) -> list[StreamEvent]:
    usage = response.get("usage")
    if not isinstance(usage, dict) or not usage:
        return []
    given = read_count(usage, "input_tokens") or 0
    made = read_count(usage, "output_tokens") or 0
    cached = read_count(usage.get("input_tokens_details"), "cached_tokens") or 0
    thought = read_count(usage.get("output_tokens_details"), "reasoning_tokens") or 0
    return [UsageReported(Usage(given, made, min(cached, given), min(thought, made)))]
