"""Schemas of other people's tools, made such that no provider refuses a request for one of them.

Pure. One tool whose schema a provider does not take costs the whole request, and so every
turn; what cannot be used is left out, and a sentence for the model says so. It checks no
arguments: their server does.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA_BYTES = 16 * 1024
"""As JSON: about 4,000 tokens of every request. The longest of the usual servers' have half."""
SCHEMA_DEPTH = 24
"""Lists and maps within each other."""
MORE_CHARACTERS = 1000
"""Of what a schema says beside its properties, where it moves to the description."""
ANNOTATIONS = frozenset({"$schema", "$id", "$comment"})
"""They say nothing to a model, and some providers refuse what they do not know."""
COMBINATIONS = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const")
"""OpenAI and Anthropic refuse most of them in the outermost schema."""
OPEN: Mapping[str, Any] = {"type": "object", "properties": {}}

UNUSABLE = "(The schema of its arguments {why}: they are one JSON object of any kind.)"
COMBINED = "(Of its arguments also holds: {rest})"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A schema of type `object`, and what has to be said beside it; empty: nothing."""

    schema: Mapping[str, Any]
    remark: str = ""


def fit_schema(schema: object) -> Fitted:
    """The schema as it can be sent; an open object where that one cannot."""
    why = _object_to(schema)
    if why is not None or not isinstance(schema, Mapping):
        return Fitted(OPEN, UNUSABLE.format(why=why))
    kept = {
        key: value
        for key, value in schema.items()
        if key not in ANNOTATIONS and key not in COMBINATIONS
    }
    kept["type"] = "object"
    kept.setdefault("properties", {})
    rest = {key: schema[key] for key in COMBINATIONS if key in schema}
    if not rest:
        return Fitted(kept)
    said = json.dumps(rest, ensure_ascii=False)
    if len(said) > MORE_CHARACTERS:
        said = f"{said[:MORE_CHARACTERS]} ..."
    return Fitted(kept, COMBINED.format(rest=said))


def _object_to(schema: object) -> str | None:
    """Why a schema cannot be sent, as the end of a sentence; None: it can."""
    if not isinstance(schema, Mapping):
        return "is missing"
    if _is_deeper(schema, SCHEMA_DEPTH):
        return "is nested too deep"
    try:
        size = len(json.dumps(schema, allow_nan=False).encode())
    except (ValueError, TypeError):
        return "is no JSON"
    if size > SCHEMA_BYTES:
        return f"takes {size:,} bytes, which is too much"
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type", "object") != "object" or "$ref" in schema:
        return "is not one of an object"
    if not isinstance(properties, Mapping) or not all(
        isinstance(each, Mapping | bool) for each in properties.values()
    ):
        return "names no properties"
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        return "has a wrong list of what is required"
    return None


def _is_deeper(value: object, depth: int) -> bool:
    match value:
        case Mapping():
            inner = list(value.values())
        case list() | tuple():
            inner = list(value)
        case _:
            return False
    return depth == 0 or any(_is_deeper(each, depth - 1) for each in inner)
