"""Items to the `messages` array of Ollama's /api/chat.

Pure. Ollama renders the messages with the model's own template and checks no pairing;
templates differ in what they bear. So neighbours of one role are merged, the array
begins with the user (behind the system prompt), and a result carries its call's name,
which is all that most templates show of it. Items must have been healed.

What the model thought goes back while it is at work on calls and their results, which
is when templates show it, and only to the provider that it came from.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

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
from askd.providers.base import OPENING
from askd.providers.codecs.images import split_images
from askd.providers.codecs.lenient import Json, parse_arguments
from askd.providers.codecs.sent_calls import SentIds, fit_call_id


def encode_messages(
    items: Iterable[Item],
    *,
    provider: str,
    images: Mapping[str, bytes],
    system: str | None,
    system_as_user: bool,
) -> list[Json]:
    """The `messages` array."""
    messages: list[Json] = []
    ids = SentIds()
    for item in items:
        message = _encode_item(item, provider, images, ids)
        if message is None:
            continue
        if messages and _can_merge(messages[-1], message):
            _merge(messages[-1], message)
        else:
            messages.append(message)
    if not messages or messages[0]["role"] != "user":
        # Some templates fail without a user's message; the server then answers HTTP 500.
        messages.insert(0, {"role": "user", "content": OPENING})
    _drop_old_thinking(messages)
    if not system:
        return messages
    if system_as_user:
        messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        return messages
    return [{"role": "system", "content": system}, *messages]


def _encode_item(
    item: Item, provider: str, images: Mapping[str, bytes], ids: SentIds
) -> Json | None:
    match item:
        case UserMessage():
            return {"role": "user", **_encode_parts(item.parts, images)}
        case Summary():
            return {"role": "user", "content": item.text}
        case AssistantMessage():
            return _encode_assistant(item, provider, ids)
        case ToolOutput():
            return {
                "role": "tool",
                **_encode_parts(item.parts, images),
                "tool_name": fit_name(item.name),
                "tool_call_id": ids.answer(item.call_id) or fit_call_id(item.call_id),
            }
        case Snapshot() | Notice() | Unknown():
            return None  # never for a model
        case _:
            assert_never(item)


def _encode_parts(parts: Iterable[Part], images: Mapping[str, bytes]) -> Json:
    sent, others = split_images(parts, images)
    encoded: Json = {"content": render_parts(others)}
    if sent:
        encoded["images"] = [image.base64 for image in sent]
    return encoded


def _encode_assistant(item: AssistantMessage, provider: str, ids: SentIds) -> Json | None:
    text = render_parts(item.parts)
    if not text and not item.calls:
        return None
    message: Json = {"role": "assistant", "content": text}
    thought = "".join(each.text for each in item.reasoning)
    if thought and item.provider == provider:
        message["thinking"] = thought
    if item.calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "function": {
                    "name": fit_name(call.name),
                    "arguments": parse_arguments(call.arguments),
                },
            }
            for call_id, call in zip(ids.begin(item.calls), item.calls, strict=True)
        ]
    return message


def _can_merge(last: Json, message: Json) -> bool:
    if last["role"] != message["role"] or message["role"] == "tool":
        return False
    return "tool_calls" not in last


def _merge(last: Json, message: Json) -> None:
    last["content"] = "\n\n".join(filter(None, (last["content"], message["content"])))
    for key in ("images", "tool_calls"):
        if key in message:
            last[key] = [*last.get(key, ()), *message[key]]
    if "thinking" in message:
        last["thinking"] = last.get("thinking", "") + message["thinking"]


def _drop_old_thinking(messages: Sequence[Json]) -> None:
    """Thinking stays from the end back to the user's last words."""
    is_old = False
    for message in reversed(messages):
        is_old = is_old or message["role"] == "user"
        if is_old:
            message.pop("thinking", None)
