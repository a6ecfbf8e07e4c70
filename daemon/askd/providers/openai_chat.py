"""The dialect "openai-chat": OpenAI's Chat Completions and all that imitate it.

A pure codec: requests to bytes, bytes to stream events. It opens nothing and
tries nothing again. What servers send is read leniently: unknown fields are
passed over, several habits of the imitators are understood (whole calls in one
chunk, calls without an index, `reasoning`, content as a list of parts).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from askd.core.context import render_parts
from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Snapshot,
    Summary,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.outcome import Stop, Usage
from askd.errors import BadAnswer, ProviderError
from askd.providers.addresses import is_openai
from askd.providers.base import (
    CallDelta,
    Ended,
    Endpoint,
    Failed,
    HttpCall,
    ModelRequest,
    ReasoningDelta,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.refusals import classify, read_error_object, read_refusal
from askd.providers.sse import EventSplitter

Json = dict[str, Any]

_STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "filtered",
}

_SURROGATES = re.compile("[\ud800-\udfff]")
"""Half characters: JSON can escape them, UTF-8 and so the store cannot hold them."""


class OpenAIChat:
    """The codec for one provider. `provider` stands in its errors' sentences.

    `limit_field` names the field that caps the output: OpenAI's own newer models
    take only `max_completion_tokens`, most other servers know only `max_tokens`.
    """

    dialect = "openai-chat"

    def __init__(self, provider: str, *, limit_field: str = "max_tokens") -> None:
        self._provider = provider
        self._limit_field = limit_field

    def encode(self, request: ModelRequest) -> HttpCall:
        """The streaming call that asks for this completion."""
        body: Json = {
            "model": request.model,
            "messages": encode_messages(request.items, system=request.system),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(t)} for t in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            body[self._limit_field] = request.max_output_tokens
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return HttpCall(
            method="POST",
            path="/chat/completions",
            body=text.encode("utf-8", "replace"),
            headers={"content-type": "application/json", "accept": "text/event-stream"},
        )

    def decoder(self, request: ModelRequest) -> "ChatDecoder":
        """A fresh decoder for one answer."""
        return ChatDecoder(self._provider)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that an answer with an error status means."""
        return read_refusal(self._provider, status, headers, body)


def codec_for(endpoint: Endpoint) -> OpenAIChat:
    """The codec as this endpoint understands it."""
    field = "max_completion_tokens" if is_openai(endpoint) else "max_tokens"
    return OpenAIChat(endpoint.provider, limit_field=field)


def encode_messages(items: Iterable[Item], *, system: str | None) -> list[Json]:
    """The `messages` array: what a model sees, neighbours of one role merged."""
    messages: list[Json] = []
    if system:
        messages.append({"role": "system", "content": system})
    for item in items:
        message = _encode_item(item)
        if message is None:
            continue
        last = messages[-1] if messages else None
        if last is not None and _can_merge(last, message):
            # Some models' templates insist on alternating roles; none minds merged ones.
            last["content"] = "\n\n".join(filter(None, (last["content"], message["content"])))
            if "tool_calls" in message:
                last["tool_calls"] = message["tool_calls"]
        else:
            messages.append(message)
    return messages


def _encode_item(item: Item) -> Json | None:
    match item:
        case UserMessage():
            return {"role": "user", "content": render_parts(item.parts)}
        case Summary():
            return {"role": "user", "content": item.text}
        case AssistantMessage():
            return _encode_assistant(item)
        case ToolOutput():
            content = render_parts(item.parts)
            return {"role": "tool", "tool_call_id": item.call_id, "content": content}
        case Snapshot() | Notice() | Unknown():
            return None  # never for a model
        case _:
            assert_never(item)


def _encode_assistant(message: AssistantMessage) -> Json | None:
    text = render_parts(message.parts)
    if not message.calls:
        return {"role": "assistant", "content": text} if text else None
    calls = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments or "{}"},
        }
        for call in message.calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _can_merge(last: Json, message: Json) -> bool:
    if last["role"] != message["role"] or message["role"] not in ("user", "assistant"):
        return False
    return "tool_calls" not in last


class ChatDecoder:
    """The bytes of one streamed answer to events; after `Ended` it passes over the rest."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._splitter = EventSplitter()
        self._ended = False
        self._refused = False
        self._call_ids: list[str | None] = []
        self._by_index: dict[int, int] = {}

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Every event that is whole after these bytes; raise `BadAnswer` over a cap."""
        try:
            splits = self._splitter.feed(data)
        except BadAnswer as error:
            raise BadAnswer(f"{self._provider}: {error.message}") from None
        events: list[StreamEvent] = []
        for split in splits:
            if self._ended:
                break
            events += self._read_data(split.data.strip())
        return events

    def _read_data(self, data: str) -> list[StreamEvent]:
        if data == "[DONE]":
            self._ended = True
            return [Ended()]
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            chunk = None
        if not isinstance(chunk, dict):
            self._ended = True
            problem = BadAnswer(f"{self._provider} sent an event that is not a JSON object.")
            return [Failed(problem.failure)]
        if chunk.get("error"):
            self._ended = True
            words, code, kind = read_error_object(chunk)
            problem_said = classify(self._provider, status=200, words=words, code=code, kind=kind)
            return [Failed(problem_said.failure)]
        events: list[StreamEvent] = []
        for choice in _dicts(chunk.get("choices")):
            events += self._read_choice(choice)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            events.append(UsageReported(_read_usage(usage)))
        return events

    def _read_choice(self, choice: Json) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        # A server that does not stream a given answer sends `message` in place of `delta`.
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            thought = _read_text(delta.get("reasoning_content") or delta.get("reasoning"))
            if thought:
                events.append(ReasoningDelta(thought))
            text = _read_text(delta.get("content"))
            if text:
                events.append(TextDelta(text))
            refusal = _read_text(delta.get("refusal"))
            if refusal:
                self._refused = True
                events.append(TextDelta(refusal))
            events += [self._read_call(call) for call in _dicts(delta.get("tool_calls"))]
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            stop = _STOPS.get(finish, "unknown")
            events.append(Stopped("refusal" if self._refused and stop == "end" else stop))
        return events

    def _read_call(self, call: Json) -> CallDelta:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        call_id = _read_text(call.get("id")) or None
        name = _read_text(function.get("name")) or None
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments)
        index = self._place_call(call.get("index"), call_id=call_id, name=name)
        return CallDelta(index, call_id, name, _read_text(arguments))

    def _place_call(self, given: Any, *, call_id: str | None, name: str | None) -> int:
        """Which call a piece belongs to: 0, 1, ... in order of arrival."""
        known = self._by_index.get(given) if isinstance(given, int) else None
        if known is not None:
            # Some servers number every call 0; a new id is a new call all the same.
            if call_id is None or self._call_ids[known] in (None, call_id):
                self._call_ids[known] = self._call_ids[known] or call_id
                return known
        elif not isinstance(given, int):
            if call_id is not None and call_id in self._call_ids:
                return self._call_ids.index(call_id)
            if call_id is None and name is None and self._call_ids:
                return len(self._call_ids) - 1
        self._call_ids.append(call_id)
        place = len(self._call_ids) - 1
        if isinstance(given, int):
            self._by_index[given] = place
        return place


def _read_text(value: Any) -> str:
    """A string, or the text of a list of parts; half characters become U+FFFD."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    return "".join(_read_text(part.get("text")) for part in _dicts(value))


def _dicts(value: Any) -> Sequence[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else ()


def _read_usage(usage: Json) -> Usage:
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    return Usage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_count(prompt, "cached_tokens"),
        reasoning_tokens=_count(completion, "reasoning_tokens"),
    )


def _count(table: Any, name: str) -> int:
    value = table.get(name) if isinstance(table, dict) else None
    return int(value) if isinstance(value, int | float) and value > 0 else 0
