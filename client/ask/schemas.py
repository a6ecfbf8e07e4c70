"""`--schema`: a file, JSON, or a list of fields, as one JSON schema; and the answer to it.

The list is the short form of the `llm` command: `name, age int, bio: a sentence`,
separated by commas or by line ends. It validates nothing: whether a schema can be
used, and whether an answer fits it, is for the daemon to say.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from ask.exits import USAGE, Failed
from ask.inputs import show_path

Map = dict[str, Any]

FILE_LIMIT_BYTES = 1024 * 1024
"""The daemon takes less; a file may have blanks and comments on each field."""
DEPTH_LIMIT = 20
"""As the daemon has it: deeper ones are not for a message."""
NUMBER_LIMIT = 2**63
"""Whole numbers from here on are not for a message either."""
MEMBER_LIMIT = 1024
"""Of one list or map: neither are longer ones."""

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_NAME = re.compile(r"[^\W\d][\w-]*")
_FENCE = re.compile(r"(`{3,})[^\n`]*\n(.*?)\n?[ \t]*\1", re.DOTALL)
_FORMS = 'A schema is a file, JSON, or a list of fields: "name, age int, bio: a sentence"'


def read_schema(text: str) -> Map:
    """What `--schema` was given as a JSON schema.

    Raises:
        Failed: it is none of the three forms.
    """
    if text.lstrip().startswith(("{", "[")):
        return _read_json(text, "The schema")
    if _is_file(text):
        return _read_file(text)
    return read_fields(text)


def read_fields(text: str) -> Map:
    """The short form: every field is required, and there are no others."""
    pieces = text.split("\n" if "\n" in text else ",")
    properties: Map = {}
    for piece in filter(str.strip, pieces):
        name, field = _read_field(piece.strip())
        if name in properties:
            raise _refuse(f"The schema has two fields {name!r}.")
        properties[name] = field
    if not properties:
        raise _refuse("The schema is empty.")
    schema: Map = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    _check_size(schema, "The schema")
    return schema


def strip_fence(text: str) -> str:
    """An answer without the one code fence that may be around all of it, as the daemon reads it."""
    stripped = text.strip()
    fenced = _FENCE.fullmatch(stripped)
    return stripped if fenced is None else fenced[2]


def _read_field(piece: str) -> tuple[str, Map]:
    head, _, description = piece.partition(":")
    name, *kinds = head.split() or [""]
    if not _NAME.fullmatch(name):
        raise _refuse(f"{piece!r} is no field of a schema, and no file of that name is there.")
    if len(kinds) > 1 or not set(kinds) <= set(_TYPES):
        raise _refuse(
            f"{piece!r} is no field of a schema: its type is one of {', '.join(_TYPES)}.",
            hint="A description follows a colon; if one holds a comma, write each field on a line.",
        )
    field: Map = {"type": _TYPES[kinds[0] if kinds else "str"]}
    if description.strip():
        field["description"] = description.strip()
    return name, field


def _is_file(text: str) -> bool:
    try:
        path = Path(text)
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):  # too long, or with a null in it: no name of a file
        return False


def _read_file(path: str) -> Map:
    name = show_path(path)
    try:
        with open(path, "rb") as stream:
            content = stream.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise _refuse(f"{name} cannot be read: {error.strerror}.") from None
    if len(content) > FILE_LIMIT_BYTES:
        raise _refuse(f"{name} is too large for a schema.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refuse(f"{name} is not valid UTF-8 text.") from None
    return _read_json(text, name)


def _read_json(text: str, name: str) -> Map:
    try:
        schema = json.loads(
            text, parse_constant=_refuse_constant, parse_int=_read_int, parse_float=_read_float
        )
        text.encode()
    except (ValueError, RecursionError) as error:
        raise _refuse(f"{name} is not valid JSON: {error}.") from None
    if not isinstance(schema, dict):
        raise _refuse(f"{name} is not a JSON object, as a schema is.")
    _check_size(schema, name)
    return schema


def _read_int(text: str) -> int:
    number = int(text)
    if abs(number) >= NUMBER_LIMIT:
        raise ValueError(f"{text[:30]} is too large")
    return number


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:30]} is too large")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_size(schema: Map, name: str) -> None:
    level: list[Any] = [schema]
    depth = 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        if depth > DEPTH_LIMIT:
            raise _refuse(f"{name} is nested too deep.")
        if any(len(each) > MEMBER_LIMIT for each in level):
            raise _refuse(f"{name} has more than {MEMBER_LIMIT} fields or values in one place.")
        level = [
            each for many in level for each in (many.values() if isinstance(many, dict) else many)
        ]


def _refuse(message: str, *, hint: str | None = None) -> Failed:
    return Failed(USAGE, message, hint=hint or _FORMS, data={"reason": "bad_schema"})
