"""Rewriting what events say, and nothing else of them: ids, types and statuses stay.

Pure. It goes by the annotations of the bodies, over their records as they are
stored: what this version does not know is rewritten too, and kept. Arguments of
calls that were JSON are JSON afterwards. What a text becomes is the caller's.
"""

import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from askd.core.events import (
    Body,
    ConversationCreated,
    Renamed,
    Titled,
    decode_body,
    encode_body,
)
from askd.core.items import Blob, Copy, Snapshot, ToolCall, ToolOutput
from askd.core.records import Json, type_hints

Change = Callable[[str], str]

KEPT = frozenset(
    {
        "type", "id", "turn_id", "item_id", "question_id", "conversation_id", "sha256", "digest",
        "through_turn", "dropped_items", "stubbed_items", "restored", "forked_from", "commit",
        "base_head", "media_type", "reason", "decision", "effort",
    }
)  # fmt: skip
"""Fields that hold ids, digests and words for programs, whatever they look like."""
LOST_ARGUMENTS = '{"[scrubbed]":"[scrubbed]"}'
"""Arguments in which a text crosses the bounds of a value, so that it cannot be taken out."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
"""The strings and numbers of a text that is JSON."""
_FIELD = re.compile("[a-z][a-z0-9_]*")


def _same(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """How to rewrite.

    Attributes:
        text: any text.
        token: the name of a tool, the id of a call.
        name: a conversation's name, which has rules of its own.
        title: its title, which may have been cut in the middle of a word; None: like any text.
        blobs: by digest, the digest and size of what takes its place.
    """

    text: Change
    token: Change
    name: Change = _same
    title: Change | None = None
    blobs: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def rewrite_body(body: Body, rewrite: Rewrite) -> Body:
    """The body with its texts rewritten; itself if none is another."""
    record = encode_body(body)
    changed = rewrite_record(record, rewrite)
    return body if changed == record else decode_body(changed)


def rewrite_record(record: Json, rewrite: Rewrite) -> Json:
    """A body's record as it is stored; any other JSON is all text, its keys too."""
    return _by_shape(Body, record, rewrite)


def rewrite_free(data: Json, rewrite: Rewrite) -> Json:
    """JSON of any shape: every string, the keys of maps, numbers whose digits are meant."""
    match data:
        case str():
            return rewrite_json(data, rewrite) if data[:1] in ("{", "[") else rewrite.text(data)
        case list() | tuple():
            return [rewrite_free(each, rewrite) for each in data]
        case dict():
            return _rewrite_map(data, rewrite)
        case bool() | None:
            return data
        case _:
            digits = json.dumps(data)
            changed = rewrite.text(digits)
            return data if changed == digits else changed


def rewrite_json(text: str, rewrite: Rewrite) -> str:
    """A text that is JSON, still JSON, with nothing else moved; any other as a text."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return rewrite.text(text)
    changed = _TOKEN.sub(lambda found: _rewrite_token(found[0], rewrite), text)
    return LOST_ARGUMENTS if rewrite.text(changed) != changed else changed


def rewrite_fields(record: Mapping[str, Json], rewrite: Rewrite) -> dict[str, Json]:
    """A record of somebody's with field names of its own: these, ids and types stay."""
    changed: dict[str, Json] = {}
    for key, value in record.items():
        name = key if _FIELD.fullmatch(key) else rewrite.text(key)
        if key == "sha256" and isinstance(value, str):
            changed[name] = rewrite.blobs.get(value, (value, 0))[0]
        elif key == "bytes" and record.get("sha256") in rewrite.blobs:
            changed[name] = rewrite.blobs[record["sha256"]][1]
        elif key in KEPT and isinstance(value, str):
            changed[name] = value
        elif key == "call_id" and isinstance(value, str):
            changed[name] = rewrite.token(value)
        else:
            changed[name] = _rewrite_nested(value, rewrite)
    return changed


def _rewrite_nested(value: Json, rewrite: Rewrite) -> Json:
    match value:
        case dict():
            return rewrite_fields(value, rewrite)
        case list():
            return [_rewrite_nested(each, rewrite) for each in value]
        case int() | float():
            return value
        case _:
            return rewrite_free(value, rewrite)


def _rewrite_map(data: Mapping[str, Json], rewrite: Rewrite) -> dict[str, Json]:
    changed: dict[str, Json] = {}
    for key, value in data.items():
        name = free = rewrite.text(key)
        number = 1
        while name in changed or (name != key and name in data):
            number += 1
            name = f"{free} {number}"  # two keys have become one: both values stay
        changed[name] = rewrite_free(value, rewrite)
    return changed


def _rewrite_token(token: str, rewrite: Rewrite) -> str:
    if not token.startswith('"'):
        changed = rewrite.text(token)
        return token if changed == token else json.dumps(changed)
    text = json.loads(token)
    changed = rewrite_free(text, rewrite)
    return token if changed == text else json.dumps(changed, ensure_ascii=token.isascii())


# ---- by the annotations ------------------------------------------------------


def _by_shape(shape: Any, data: Json, rewrite: Rewrite) -> Json:
    origin, arguments = typing.get_origin(shape), typing.get_args(shape)
    if data is None or origin is typing.Literal:
        return data
    if origin in (types.UnionType, typing.Union):
        return _by_union(arguments, data, rewrite)
    if dataclasses.is_dataclass(shape) and isinstance(data, dict):
        return _by_dataclass(typing.cast("type", shape), data, rewrite)
    if origin is tuple and isinstance(data, list):
        return [_by_shape(arguments[0], each, rewrite) for each in data]
    if shape in (bool, int, float) and isinstance(data, bool | int | float):
        return data
    if shape is str and isinstance(data, str):
        return rewrite.text(data)
    return rewrite_free(data, rewrite)


def _by_union(members: tuple[Any, ...], data: Json, rewrite: Rewrite) -> Json:
    tagged = {m.TYPE: m for m in members if getattr(m, "TYPE", None) is not None}
    if tagged and isinstance(data, dict):
        known = tagged.get(data.get("type"))
        if known is None or known.TYPE == "unknown":
            return rewrite_fields(data, rewrite)
        return _by_dataclass(known, data, rewrite)
    plain = [m for m in members if m is not type(None)]
    return _by_shape(plain[0], data, rewrite) if len(plain) == 1 else rewrite_free(data, rewrite)


def _by_dataclass(shape: type, data: dict[str, Json], rewrite: Rewrite) -> dict[str, Json]:
    hints = type_hints(shape)
    known = {each.name for each in dataclasses.fields(shape)}
    changed: dict[str, Json] = {}
    for key, value in data.items():
        change = _find_change(shape, key, rewrite)
        if change is not None and isinstance(value, str):
            changed[key] = change(value)
        elif key in KEPT:
            changed[key] = value
        elif key in known:
            changed[key] = _by_shape(hints[key], value, rewrite)
        else:
            changed[key] = rewrite_free(value, rewrite)
    if shape is Blob and data.get("sha256") in rewrite.blobs:
        changed["sha256"], changed["bytes"] = rewrite.blobs[data["sha256"]]
    if shape in (Copy, Snapshot) and _is_altered(data, changed):
        changed["altered"] = True  # it may not be put back: it was something else
    return changed


def _is_altered(data: Mapping[str, Json], changed: Mapping[str, Json]) -> bool:
    """Whether more has changed than what the copies say of themselves."""
    return any(data[key] != changed[key] for key in data if key != "copies")


def _find_change(shape: type, key: str, rewrite: Rewrite) -> Change | None:
    """How a field is rewritten that is no text like others."""
    match key:
        case "call_id":
            return rewrite.token
        case "name" if shape in (ToolCall, ToolOutput):
            return rewrite.token
        case "name" if shape in (ConversationCreated, Renamed):
            return rewrite.name
        case "title" if shape is Titled:
            return rewrite.title or rewrite.text
        case "arguments" if shape is ToolCall:
            return lambda text: rewrite_json(text, rewrite)
        case _:
            return None
