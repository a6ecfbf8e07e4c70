"""The `messages` of "openai-chat": what a model sees, in the words of the dialect.

Pure. It refuses nothing and repairs what servers refuse: neighbours of one role
are merged and the first message is a user's, for some models' templates insist;
ids, names and arguments of calls are made fit; images of a tool's output, which
a `tool` message cannot carry, follow it as a user's message.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from askd.core.context import render_parts
from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Part,
    Snapshot,
    Summary,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.pairs import fit_name
from askd.providers.base import ModelRequest
from askd.providers.codecs.chat_thoughts import encode_call_extras, encode_thoughts
from askd.providers.codecs.images import split_images
from askd.providers.codecs.keepsakes import is_from
from askd.providers.codecs.lenient import Json
from askd.providers.codecs.sent_calls import USUAL_IDS, SentIds, fit_arguments, fit_call_id

BEGINNING = "[The beginning of the conversation is not shown.]"
"""A user's first words where there are none: their message was pruned."""

IMAGES_OF_TOOLS = "[The images of the tool outputs above.]"


def encode_messages(
    request: ModelRequest,
    *,
    provider: str,
    system: str | None,
    call_ids: re.Pattern[str] = USUAL_IDS,
) -> list[Json]:
    """The array. `system` stands in for the request's own system prompt."""
    return _Writer(request, provider, call_ids).write(system)


def find_prompt(items: Sequence[Item]) -> int:
    """The place of the last message of a person, or -1: what follows answers it."""
    places = [place for place, item in enumerate(items) if isinstance(item, UserMessage)]
    return places[-1] if places else -1


class _Writer:
    def __init__(self, request: ModelRequest, provider: str, call_ids: re.Pattern[str]) -> None:
        self._request = request
        self._provider = provider
        self._call_ids = call_ids
        self._ids = SentIds(call_ids)
        self._messages: list[Json] = []
        self._pictures: list[Json] = []  # of the tool outputs that are being written

    def write(self, system: str | None) -> list[Json]:
        prompt = find_prompt(self._request.items)
        for place, item in enumerate(self._request.items):
            self._write_item(item, is_current=place > prompt)
        self._show_pictures()
        self._begin(system)
        return self._messages

    def _write_item(self, item: Item, *, is_current: bool) -> None:
        match item:
            case UserMessage():
                self._add({"role": "user", "content": self._encode_parts(item.parts)})
            case Summary():
                self._add({"role": "user", "content": item.text})
            case AssistantMessage():
                message = self._encode_assistant(item, is_current=is_current)
                if message is not None:
                    self._add(message)
            case ToolOutput():
                self._write_output(item)
            case Snapshot() | Notice() | Unknown():
                pass  # never for a model
            case _:
                assert_never(item)

    def _encode_parts(self, parts: tuple[Part, ...]) -> str | list[Json]:
        images, others = split_images(parts, self._request.images)
        text = render_parts(others)
        if not images:
            return text
        pictures = [_encode_image(each.url) for each in images]
        return [*pictures, _encode_text(text)] if text else pictures

    def _write_output(self, output: ToolOutput) -> None:
        images, others = split_images(output.parts, self._request.images)
        self._pictures += [_encode_image(each.url) for each in images]
        # One that nobody asked for stays one that nobody asked for: it is not repaired here.
        call_id = self._ids.answer(output.call_id) or fit_call_id(output.call_id, self._call_ids)
        content = render_parts(others)
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def _encode_assistant(self, message: AssistantMessage, *, is_current: bool) -> Json | None:
        text = render_parts(message.parts)
        if not text and not message.calls:
            return None
        encoded: Json = {"role": "assistant", "content": text or None}
        extras: Mapping[int, Json] = {}
        if is_from(message, provider=self._provider, model=self._request.model):
            encoded |= encode_thoughts(message, is_current=is_current)
            extras = encode_call_extras(message)
        if message.calls:
            ids = self._ids.begin(message.calls)
            encoded["tool_calls"] = [
                {
                    "id": ids[place],
                    "type": "function",
                    "function": {
                        "name": fit_name(call.name),
                        "arguments": fit_arguments(call.arguments),
                    },
                    **extras.get(place, {}),
                }
                for place, call in enumerate(message.calls)
            ]
        return encoded

    def _add(self, message: Json) -> None:
        self._show_pictures()
        last = self._messages[-1] if self._messages else None
        if last is None or last["role"] != message["role"] or "tool_calls" in last:
            self._messages.append(message)
            return
        # Some models' templates insist on alternating roles; none minds merged ones. Reasoning
        # belongs to the one message that it led to: the later one's stays.
        content = _join(last["content"], message["content"])
        self._messages[-1] = {**message, "content": content}

    def _show_pictures(self) -> None:
        pictures, self._pictures = self._pictures, []
        if pictures:
            content = [_encode_text(IMAGES_OF_TOOLS), *pictures]
            self._messages.append({"role": "user", "content": content})

    def _begin(self, system: str | None) -> None:
        first = self._messages[0] if self._messages else None
        opening = system if self._request.system_as_user else None
        if first is not None and first["role"] != "user":
            self._messages.insert(0, {"role": "user", "content": opening or BEGINNING})
        elif opening and first is not None:
            first["content"] = _join(opening, first["content"])
        elif opening:
            self._messages.append({"role": "user", "content": opening})
        if system and not self._request.system_as_user:
            self._messages.insert(0, {"role": "system", "content": system})


def _join(one: Any, other: Any) -> Any:
    """Two contents as one: texts with an empty line between, lists of parts one after the other."""
    if isinstance(one, list) or isinstance(other, list):
        return [*_list_parts(one), *_list_parts(other)]
    return "\n\n".join(filter(None, (one, other))) or one


def _list_parts(content: Any) -> list[Json]:
    if isinstance(content, list):
        return content
    return [_encode_text(content)] if content else []


def _encode_text(text: str) -> Json:
    return {"type": "text", "text": text}


def _encode_image(url: str) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}
