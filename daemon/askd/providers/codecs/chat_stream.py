"""The stream of "openai-chat": bytes of one answer to events.

Read leniently: unknown fields pass over, several habits of OpenAI's imitators
are understood (whole messages and whole calls in one chunk, calls without an
index or an id, text as a list of parts, an answer spread over several choices).
Only `[DONE]` ends an answer.
"""

from collections.abc import Mapping
from typing import Any

from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, ProviderError
from askd.providers.base import (
    CallDelta,
    Ended,
    Failed,
    ReasoningDelta,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.codecs.chat_calls import CallPlaces
from askd.providers.codecs.chat_thoughts import ThoughtReader
from askd.providers.codecs.json_events import JsonEvents
from askd.providers.codecs.lenient import (
    Json,
    read_count,
    read_index,
    read_object,
    read_objects,
    read_text,
    write_json,
)
from askd.providers.refusals import classify, read_error_object

_STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "filtered",
    # Beyond OpenAI's own: TGI, Together, Mistral, and servers that pass another vendor's word on.
    "eos": "end",
    "eos_token": "end",
    "stop_sequence": "end",
    "end_turn": "end",
    "max_tokens": "length",
    "model_length": "length",
    "tool_use": "calls",
    "safety": "filtered",
    "refusal": "refusal",
}

COST_LIMIT = 1e6
"""Dollars; no answer costs more, and an endless number is no cost."""

_BREAKDOWNS = {"error", "insufficient_system_resource"}
"""Finish reasons (OpenRouter's, DeepSeek's) that are an error of the server and no end."""


class ChatDecoder:
    """The bytes of one streamed answer to events; after `Ended` it passes over the rest.

    `reads_cost`: this server's usage says what the answer cost, in US dollars.
    """

    def __init__(self, provider: str, *, reads_cost: bool = False) -> None:
        self._provider = provider
        self._reads_cost = reads_cost
        self._events = JsonEvents(provider)
        self._thoughts = ThoughtReader()
        self._ended = False
        self._refused = False
        self._calls = CallPlaces()

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Every event that is whole after these bytes; raise `BadAnswer` over a cap."""
        events: list[StreamEvent] = []
        for each in self._events.feed(data):
            if self._ended:
                break
            if isinstance(each, BadAnswer):
                events += self._fail(each)
            elif each.body is None:
                self._ended = True
                events += [*self._thoughts.seal(), Ended()]
            else:
                events += self._read_chunk(each.body)
        return events

    def _read_chunk(self, chunk: Json) -> list[StreamEvent]:
        if chunk.get("error"):
            return self._fail(self._read_error(chunk))
        events: list[StreamEvent] = []
        for choice in read_objects(chunk.get("choices")):
            events += self._read_choice(choice)
            if self._ended:
                return events
        usage = chunk.get("usage") or read_object(chunk.get("x_groq")).get("usage")
        if isinstance(usage, dict) and usage:
            events.append(UsageReported(read_usage(usage, reads_cost=self._reads_cost)))
        return events

    def _read_choice(self, choice: Json) -> list[StreamEvent]:
        if choice.get("error"):
            return self._fail(self._read_error(choice))
        # A server that does not stream a given answer sends `message` in place of `delta`.
        delta = choice.get("delta") or choice.get("message")
        number = read_index(choice.get("index")) or 0
        events = self._read_delta(delta, number) if isinstance(delta, dict) else []
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            events += self._read_finish(finish)
        return events

    def _read_delta(self, delta: Json, choice: int) -> list[StreamEvent]:
        aloud, text = _read_content(delta.get("content"))
        thought = self._thoughts.read(delta) or aloud
        refusal = read_text(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        events: list[StreamEvent] = [ReasoningDelta(thought)] if thought else []
        events += [TextDelta(each) for each in (text, refusal) if each]
        calls = read_objects(delta.get("tool_calls"))
        if isinstance(delta.get("function_call"), dict):  # as it was before calls were parallel
            calls.append({"function": delta["function_call"]})
        events += [self._read_call(call, choice) for call in calls]
        return events

    def _read_finish(self, finish: str) -> list[StreamEvent]:
        word = finish.lower()
        if word in _BREAKDOWNS:
            words = f"finish_reason {read_text(word)}"
            problem = classify(self._provider, status=200, words=words, kind="server_error")
            return self._fail(problem)
        stop = _STOPS.get(word, "unknown")
        if self._refused and stop == "end":
            stop = "refusal"
        return [*self._thoughts.seal(), Stopped(stop)]

    def _read_call(self, call: Json, choice: int) -> CallDelta:
        function = read_object(call.get("function"))
        call_id = read_text(call.get("id")) or None
        name = read_text(function.get("name")) or None
        given = function.get("arguments")
        arguments = write_json(given) if isinstance(given, dict | list) else read_text(given)
        index = read_index(call.get("index"))
        place = self._calls.place(
            None if index is None else (choice, index),
            call_id=call_id,
            name=name,
            arguments=arguments,
        )
        self._thoughts.read_call(place, call)
        return CallDelta(place, call_id, name, arguments)

    def _read_error(self, holder: Json) -> ProviderError:
        words, code, kind = read_error_object(holder)
        return classify(self._provider, status=200, words=words, code=code, kind=kind)

    def _fail(self, problem: ProviderError) -> list[StreamEvent]:
        self._ended = True
        return [Failed(problem.failure)]


def _read_content(value: Any) -> tuple[str, str]:
    """Thought and text: a string, or a list of parts, of which Mistral's `thinking` is thought."""
    if isinstance(value, str):
        return "", read_text(value)
    thoughts: list[str] = []
    texts: list[str] = []
    for part in read_objects(value):
        inside = part.get("thinking")
        thoughts.append(read_text(inside))
        thoughts += [read_text(each.get("text")) for each in read_objects(inside)]
        texts.append(read_text(part.get("text")))
    return "".join(thoughts), "".join(texts)


def read_usage(usage: Json, *, reads_cost: bool = False) -> Usage:
    """The counts of a `usage` object.

    Some servers leave the thinking out of `completion_tokens` and have it in the
    total alone (xAI, Gemini); it is part of the output here, as with OpenAI.
    """
    given = read_count(usage, "prompt_tokens") or 0
    said = read_count(usage, "completion_tokens") or 0
    total = read_count(usage, "total_tokens") or 0
    made = max(said, total - given) if said else said
    cached = read_count(usage.get("prompt_tokens_details"), "cached_tokens") or 0
    thought = read_count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0
    cost = _read_cost(usage.get("cost")) if reads_cost else None
    return Usage(given, made, min(cached, given), min(thought, made), cost)


def _read_cost(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < COST_LIMIT else None
