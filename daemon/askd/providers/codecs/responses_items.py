"""The `input` of "openai-responses": what a model sees, in the items of the dialect.

Pure. Everything is sent with every request and nothing is referred to by an id
that the server would have to remember: it is told to store nothing. Reasoning
goes back before the text and the calls that it led to, which OpenAI demands,
and only to the provider and the model that thought it.
"""

from typing import assert_never

from askd.core.context import render_parts
from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Part,
    Reasoning,
    Snapshot,
    Summary,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.pairs import fit_name
from askd.providers.base import ModelRequest
from askd.providers.codecs.chat_messages import BEGINNING
from askd.providers.codecs.images import Image, split_images
from askd.providers.codecs.keepsakes import is_from
from askd.providers.codecs.lenient import Json, read_object, read_objects, read_text
from askd.providers.codecs.sent_calls import SentIds, fit_arguments, fit_call_id

RAW_TYPE = "reasoning"
"""The `type` of this dialect's raw reasoning: the server's own item, as it came."""

ID_LIMIT = 64
"""Characters. OpenAI refuses a longer id; some who pass its answers on make longer ones."""


def encode_input(request: ModelRequest, *, provider: str, opening: str | None = None) -> list[Json]:
    """The array. `opening`: words that go ahead of the user's first ones."""
    encoded: list[Json] = []
    ids = SentIds()
    for item in request.items:
        for each in _encode_item(item, request, provider, ids):
            _add(encoded, each)
    first = encoded[0] if encoded else None
    if opening or (first is not None and first.get("role") != "user"):
        message = _write_message("user", [_write_text(opening or BEGINNING)])
        if first is not None and first.get("role") == "user":
            message["content"] += encoded.pop(0)["content"]
        encoded.insert(0, message)
    return encoded


def _add(encoded: list[Json], item: Json) -> None:
    """Add an item; a message joins one of the same role before it, for templates' sake."""
    last = encoded[-1] if encoded else {}
    if item["type"] == "message" and last.get("role") == item["role"]:
        last["content"] += item["content"]
    else:
        encoded.append(item)


def _encode_item(item: Item, request: ModelRequest, provider: str, ids: SentIds) -> list[Json]:
    match item:
        case UserMessage(parts=parts):
            return [_write_message("user", _encode_parts(parts, request))]
        case Summary(text=text):
            return [_write_message("user", [_write_text(text)])]
        case AssistantMessage():
            return _encode_assistant(item, request, provider, ids)
        case ToolOutput():
            return [_encode_output(item, request, ids)]
        case Snapshot() | Notice() | Unknown():
            return []  # never for a model
    assert_never(item)


def _encode_assistant(
    message: AssistantMessage, request: ModelRequest, provider: str, ids: SentIds
) -> list[Json]:
    text = render_parts(message.parts)
    if not text and not message.calls:
        return []  # reasoning alone is refused: what it led to must follow it
    items: list[Json] = []
    if is_from(message, provider=provider, model=request.model):
        items += filter(None, map(encode_reasoning, message.reasoning))
    if text:
        items.append(_write_message("assistant", [{"type": "output_text", "text": text}]))
    for call_id, call in zip(ids.begin(message.calls), message.calls, strict=True):
        items.append(
            {
                "type": "function_call",
                "call_id": call_id,
                "name": fit_name(call.name),
                "arguments": fit_arguments(call.arguments),
            }
        )
    return items


def encode_reasoning(thought: Reasoning) -> Json | None:
    """The item that goes back, or None if this is none, or none that can be understood again.

    Without `encrypted_content` the server knows nothing of it (we let it store
    nothing) and refuses the id; a server of open models has the text itself in
    `content`.
    """
    raw = read_object(thought.raw)
    if raw.get("type") != RAW_TYPE:
        return None
    item: Json = {"type": RAW_TYPE}
    item_id, sealed = read_text(raw.get("id")), read_text(raw.get("encrypted_content"))
    content = read_objects(raw.get("content"))
    if item_id and len(item_id) <= ID_LIMIT:
        item["id"] = item_id
    item["summary"] = read_objects(raw.get("summary"))
    if sealed:
        return {**item, "encrypted_content": sealed}
    return {**item, "content": content} if content else None


def _encode_parts(parts: tuple[Part, ...], request: ModelRequest) -> list[Json]:
    images, others = split_images(parts, request.images)
    text = render_parts(others)
    pictures = [_write_image(each) for each in images]
    return [*pictures, _write_text(text)] if text or not pictures else pictures


def _encode_output(output: ToolOutput, request: ModelRequest, ids: SentIds) -> Json:
    content = _encode_parts(output.parts, request)
    match content:
        case [{"type": "input_text", "text": text}]:
            said = text  # a plain string: not every server knows the list
        case _:
            said = content
    return {
        "type": "function_call_output",
        "call_id": ids.answer(output.call_id) or fit_call_id(output.call_id),
        "output": said,
    }


def _write_message(role: str, content: list[Json]) -> Json:
    return {"type": "message", "role": role, "content": content}


def _write_text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def _write_image(image: Image) -> Json:
    return {"type": "input_image", "image_url": image.url, "detail": "auto"}
