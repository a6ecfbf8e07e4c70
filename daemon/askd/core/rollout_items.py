"""Items of a conversation as the Responses API's items, which rollouts are made of, and back.

Reading is lenient: what is missing or of another type is taken as empty, for
these files come from many versions of many programs. It follows no order and
pairs nothing; that is the reader's.

The item types are those of `response_item` lines written by Codex 0.63 to 0.169.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from askd.core.context import render_parts
from askd.core.images import IMAGE_TYPES, find_image_type
from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Part,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.records import Json

SUMMARY_BEGINNING = "Another language model started to solve this problem and produced a summary"
"""How the message begins that stands for a compacted history; all versions write the same."""

FOREIGN_TYPE = "codex_item"
"""The type under which an item that is not ours to interpret is kept, whole, under `item`."""

_CONTEXT_BEGINNINGS = (
    "<environment_context>",
    "<user_instructions>",
    "<skills_instructions>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
)
"""How messages begin that a program put among the user's own, and puts there anew each time."""

Contents = Mapping[str, bytes]
"""The contents of blobs by their SHA-256 in hex."""


# ---- ours to theirs ---------------------------------------------------------------


def encode_item(item: Item, contents: Contents) -> list[dict[str, Json]]:
    """The response items that say the same; none for what only people see.

    A blob without its content is named in its place.
    """
    match item:
        case UserMessage(parts=parts):
            return [_message("user", _write_parts(parts, contents))]
        case Summary(text=text):
            return [_message("user", [{"type": "input_text", "text": text}])]
        case AssistantMessage():
            return _encode_answer(item, contents)
        case ToolOutput(call_id=call_id, parts=parts):
            said = _write_parts(parts, contents)
            plain = all(each["type"] == "input_text" for each in said)
            output = "".join(each["text"] for each in said) if plain else said
            return [{"type": "function_call_output", "call_id": call_id, "output": output}]
        case Snapshot(commit=""):
            return []  # copies have no form of theirs
        case Snapshot(commit=commit, base_head=parent, paths=paths):
            ghost = {
                "id": commit,
                "parent": parent,
                "preexisting_untracked_files": [each for each in paths if not each.endswith("/")],
                "preexisting_untracked_dirs": [
                    each.rstrip("/") for each in paths if each.endswith("/")
                ],
            }
            return [{"type": "ghost_snapshot", "ghost_commit": ghost}]
        case Unknown(raw={"type": str(kind), "item": dict(theirs)}) if kind == FOREIGN_TYPE:
            return [theirs]
        case Notice() | Unknown():
            return []


def _encode_answer(message: AssistantMessage, contents: Contents) -> list[dict[str, Json]]:
    # Thoughts that cannot go back to their server are told as `agent_reasoning` alone.
    raws = [each.raw for each in message.reasoning if each.raw is not None]
    items = [dict(raw) for raw in raws if raw.get("type") == "reasoning"]
    text = render_text(message.parts, contents)
    if text:
        items.append(_message("assistant", [{"type": "output_text", "text": text}]))
    items += [
        {
            "type": "function_call",
            "name": call.name,
            "arguments": call.arguments,
            "call_id": call.call_id,
        }
        for call in message.calls
    ]
    return items


def render_text(parts: tuple[Part, ...], contents: Contents) -> str:
    """The parts as one text, attachments in their frames, as a model reads it."""
    return render_parts(tuple(_resolve(part, contents) for part in parts))


def _resolve(part: Part, contents: Contents) -> Part:
    if isinstance(part, Blob) and part.media_type.startswith("text/") and part.sha256 in contents:
        return Text(contents[part.sha256].decode("utf-8", "replace"), part.name)
    return part


def _write_parts(parts: tuple[Part, ...], contents: Contents) -> list[dict[str, Any]]:
    images = [each for each in parts if _is_image(each, contents)]
    text = render_text(tuple(each for each in parts if each not in images), contents)
    written: list[dict[str, Any]] = [{"type": "input_text", "text": text}] if text else []
    for image in images:
        assert isinstance(image, Blob)
        data = base64.b64encode(contents[image.sha256]).decode()
        url = f"data:{image.media_type};base64,{data}"
        written.append({"type": "input_image", "image_url": url})
    return written


def _is_image(part: Part, contents: Contents) -> bool:
    return isinstance(part, Blob) and part.media_type in IMAGE_TYPES and part.sha256 in contents


def _message(role: str, content: list[dict[str, Any]]) -> dict[str, Json]:
    return {"type": "message", "role": role, "content": content}


# ---- theirs to ours ---------------------------------------------------------------


def read_parts(content: Json, blobs: dict[str, bytes]) -> tuple[Part, ...]:
    """Message content or a tool's output as parts; the contents of images are added to `blobs`."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts: list[Part] = []
    for each in content if isinstance(content, list) else []:
        if isinstance(each, str):
            parts.append(Text(each))
        elif isinstance(each, dict):
            part = _read_part(each, blobs)
            if part is not None:
                parts.append(part)
    return tuple(parts)


def _read_part(each: dict[str, Json], blobs: dict[str, bytes]) -> Part | None:
    text = each.get("text", each.get("refusal"))
    if isinstance(text, str):
        return Text(text) if text else None
    url = each.get("image_url")
    if isinstance(url, dict):
        url = url.get("url")  # as the Chat API has it
    if not isinstance(url, str):
        return None
    image = _read_data_url(url)
    if image is None:
        return Text(f"[image: {url[:200]}]")
    digest = hashlib.sha256(image).hexdigest()
    media_type = find_image_type(image)
    if media_type is None:
        return Text("[an image of a kind that is not known]")
    blobs[digest] = image
    return Blob(digest, len(image), media_type)


def _read_data_url(url: str) -> bytes | None:
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def is_context(item: dict[str, Json], parts: tuple[Part, ...]) -> bool:
    """Whether a message is none of the user's own words: the program's that wrote the file."""
    if item.get("role") != "user":
        return True
    passed = item.get("internal_chat_message_metadata_passthrough")
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    if isinstance(kinds, list) and kinds and all(isinstance(kind, str) for kind in kinds):
        return not any(kind.startswith("user.") for kind in kinds)
    first = next((part.text for part in parts if isinstance(part, Text)), "")
    return first.lstrip().startswith(_CONTEXT_BEGINNINGS)


def is_summary(parts: tuple[Part, ...]) -> bool:
    """Whether a message stands for a compacted history."""
    first = next((part.text for part in parts if isinstance(part, Text)), "")
    return " ".join(first[:200].split()).startswith(SUMMARY_BEGINNING)


def read_call(item: dict[str, Json]) -> ToolCall | None:
    """A call of any kind that is answered by an output; None: it is none."""
    call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
    match item.get("type"):
        case "function_call":
            return ToolCall(
                as_text(item.get("call_id")),
                as_text(item.get("name")),
                _as_arguments(item.get("arguments")),
            )
        case "custom_tool_call":
            arguments = json.dumps({"input": as_text(item.get("input"))})
            return ToolCall(call_id, as_text(item.get("name")), arguments)
        case "local_shell_call":
            return ToolCall(call_id, "local_shell", _as_arguments(item.get("action")))
        case _:
            return None


def _as_arguments(value: Json) -> str:
    """JSON as text, whichever way it came; older files and the Chat API's relatives have both."""
    return value if isinstance(value, str) else json.dumps(value if value is not None else {})


def read_reasoning(item: dict[str, Json]) -> Reasoning:
    """A thought: its summary or its text to be read, and the whole as it came."""
    texts = []
    for key in ("summary", "content"):
        pieces = item.get(key)
        for each in pieces if isinstance(pieces, list) else []:
            if isinstance(each, dict) and isinstance(each.get("text"), str):
                texts.append(each["text"])
        if texts:
            break
    return Reasoning("\n\n".join(texts), raw=item)


def read_snapshot(item: dict[str, Json], *, worktree: str, at: float) -> Snapshot | None:
    """A `ghost_snapshot`, without an id of ours; None: it names no commit."""
    ghost = item.get("ghost_commit")
    commit = as_text(ghost.get("id")) if isinstance(ghost, dict) else ""
    if not isinstance(ghost, dict) or not commit:
        return None
    files = _as_texts(ghost.get("preexisting_untracked_files"))
    folders = [
        f"{each.rstrip('/')}/" for each in _as_texts(ghost.get("preexisting_untracked_dirs"))
    ]
    return Snapshot(
        id="",
        worktree=worktree,
        commit=commit,
        base_head=as_text(ghost.get("parent")) or None,
        paths=(*files, *folders),
        at=at,
    )


def _as_texts(value: Json) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def keep_foreign(item: dict[str, Json]) -> Unknown:
    """An item that is not ours to interpret: kept whole, shown to nobody, sent to nobody."""
    return Unknown({"type": FOREIGN_TYPE, "id": "", "item": item})


def as_text(value: Json) -> str:
    """The text, or an empty one for what is none."""
    return value if isinstance(value, str) else ""


def read_chat_message(message: dict[str, Json]) -> list[dict[str, Json]]:
    """A message as the Chat API has it, as response items; one that says its `type` is one."""
    role, content = message.get("role"), message.get("content")
    if isinstance(message.get("type"), str):
        return [message]
    if role == "tool":
        call_id = message.get("tool_call_id")
        return [{"type": "function_call_output", "call_id": call_id, "output": content}]
    if role not in ("system", "developer", "user", "assistant"):
        return []
    items: list[dict[str, Json]] = []
    calls = message.get("tool_calls")
    if content or not calls:
        items.append({"type": "message", "role": role, "content": content})
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function", call) if isinstance(call, dict) else None
        if isinstance(function, dict):
            items.append(
                {
                    "type": "function_call",
                    "call_id": call.get("id", call.get("call_id")),
                    "name": function.get("name"),
                    "arguments": function.get("arguments"),
                }
            )
    return items
