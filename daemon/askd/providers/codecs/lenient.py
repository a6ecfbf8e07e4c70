"""Reading what servers send without trusting its shape.

Each function takes any JSON value and gives one of the type that is wanted, empty
where there is none. It raises nothing and it knows no dialect.
"""

import json
import math
import re
from typing import Any

Json = dict[str, Any]

_SURROGATES = re.compile("[\ud800-\udfff]")
"""Half characters: JSON can escape them, UTF-8 and so the store cannot hold them."""

COUNT_LIMIT = 1 << 53
"""No count of tokens is larger; a larger number is nonsense, and might not fit a column."""

UNREADABLE = "_raw"
"""The key that stands for arguments which are no JSON object."""

_read_json = json.JSONDecoder().decode
"""`json.loads` for text, without its look at what it was given: once for each token."""

_ROOM = 64
"""Levels that a request has around a call's arguments, and to spare."""


def parse_object(text: str) -> Json | None:
    """The JSON object that this text is, or None if it is none."""
    try:
        parsed = _read_json(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def parse_arguments(text: str) -> Json:
    """The arguments of a call as an object that can be sent again; none at all are `{}`.

    A model may have written what is no JSON object, or one that no JSON text can say
    (a number beyond all bounds), or that nests too deep to stand inside a request.
    Then the object is `{"_raw": text}`, so that the model sees what it wrote.
    """
    arguments = parse_object(text) if text.strip() else {}
    nested: Any = arguments
    for _ in range(_ROOM):
        nested = [nested]
    try:
        json.dumps(nested, allow_nan=False)
    except (ValueError, RecursionError):
        arguments = None
    return {UNREADABLE: text} if arguments is None else arguments


def read_text(value: Any) -> str:
    """The string; half characters become U+FFFD."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else _SURROGATES.sub("\ufffd", value)


def read_object(value: Any) -> Json:
    """The object."""
    return value if isinstance(value, dict) else {}


def read_objects(value: Any) -> list[Json]:
    """The objects of a list; what else is in it is passed over."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_index(value: Any) -> int | None:
    """A place in a list, 0, 1, ..."""
    return value if type(value) is int and value >= 0 else None


def read_count(table: Any, name: str) -> int | None:
    """A number of tokens under this name; None: the server did not say, or said nonsense."""
    value = table.get(name) if isinstance(table, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= COUNT_LIMIT else None


def write_json(value: Any) -> str:
    """The value as compact JSON text without half characters."""
    try:
        return read_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError):
        return "{}"
