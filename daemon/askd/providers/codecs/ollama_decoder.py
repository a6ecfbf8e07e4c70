"""The stream of Ollama's /api/chat to events.

Pure: one JSON object a line, each with a piece of the message; only one with
`"done": true` ends an answer. Calls come whole, their arguments an object, mostly
without an id: the assembler then makes one that is the same every time.

An answer to a conversation that the server cut is worse than none, for nobody would
notice. The rule: the server counted a prompt that fills the window that it was told,
but for a margin. A prompt that is cut counts the window exactly on servers before 0.12.10.
The margin is a 64th of the window, for whole messages may have been dropped instead,
and an honest prompt never comes that near, since a request's budget leaves room for an
answer. A larger count shows a server that does not heed the window (a hosted model).
"""

from typing import Any

from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, Overflowed, ProviderError, Unavailable
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
from askd.providers.codecs.lenient import (
    Json,
    parse_object,
    read_count,
    read_object,
    read_objects,
    read_text,
    write_json,
)
from askd.providers.codecs.ndjson import RecordSplitter
from askd.providers.refusals import classify, read_error_object

MARGIN_DIVISOR = 64
"""The window divided by this is the margin."""

_STOPS: dict[str, Stop] = {"stop": "end", "length": "length"}
_NO_ANSWER = ("load", "unload")
"""Reasons of an end before anything was said: the model was only put into memory, or out."""


def is_truncated(prompt_tokens: int, context_window: int) -> bool:
    """Whether a prompt of this count, by the server's own word, was cut to fit the window."""
    return context_window - context_window // MARGIN_DIVISOR <= prompt_tokens <= context_window


class OllamaDecoder:
    """The bytes of one streamed answer to events; after its end it passes over the rest.

    `context_window`: tokens, as the request told the server.
    """

    def __init__(self, provider: str, *, context_window: int) -> None:
        self._provider = provider
        self._window = context_window
        self._splitter = RecordSplitter(provider)
        self._ended = False
        self._spoke = False
        self._calls = 0

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Every event that is whole after these bytes; raise `BadAnswer` over a cap."""
        events: list[StreamEvent] = []
        for record in self._splitter.feed(data):
            if self._ended:
                break
            events += self._read(record)
        return events

    def _read(self, record: str) -> list[StreamEvent]:
        chunk = parse_object(record)
        if chunk is None:
            problem = BadAnswer(f"{self._provider} sent a line that is not a JSON object.")
            return self._fail(problem)
        if chunk.get("error"):
            words, code, kind = read_error_object(chunk)
            return self._fail(
                classify(self._provider, status=200, words=words, code=code, kind=kind)
            )
        events = self._read_message(read_object(chunk.get("message")))
        self._spoke = self._spoke or bool(events)
        return [*events, *self._end(chunk)] if chunk.get("done") is True else events

    def _read_message(self, message: Json) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        thought, text = read_text(message.get("thinking")), read_text(message.get("content"))
        if thought:
            events.append(ReasoningDelta(thought))
        if text:
            events.append(TextDelta(text))
        for call in read_objects(message.get("tool_calls")):
            events.append(self._read_call(call))
        return events

    def _read_call(self, call: Json) -> CallDelta:
        function = read_object(call.get("function"))
        given: Any = function.get("arguments")
        arguments = read_text(given) if isinstance(given, str) else write_json(given or {})
        index, self._calls = self._calls, self._calls + 1
        call_id, name = read_text(call.get("id")), read_text(function.get("name"))
        return CallDelta(index, call_id or None, name or None, arguments)

    def _end(self, chunk: Json) -> list[StreamEvent]:
        prompt, answer = read_count(chunk, "prompt_eval_count"), read_count(chunk, "eval_count")
        events: list[StreamEvent] = []
        if prompt is not None or answer is not None:
            events.append(UsageReported(Usage(input_tokens=prompt or 0, output_tokens=answer or 0)))
        reason = read_text(chunk.get("done_reason"))
        if prompt is not None and is_truncated(prompt, self._window):
            sentence = (
                f"{self._provider}: the conversation fills the model's window of {self._window} "
                f"tokens ({prompt} were read), so the server may have cut it."
            )
            return [*events, *self._fail(Overflowed(sentence))]
        if reason in _NO_ANSWER and not self._spoke:
            sentence = f"{self._provider} answered with nothing: the model was only {reason}ed."
            return [*events, *self._fail(Unavailable(sentence))]
        self._ended = True
        return [*events, Stopped(_STOPS.get(reason, "unknown")), Ended()]

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        self._ended = True
        return [Failed(error.failure)]
