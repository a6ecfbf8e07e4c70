"""Schemas for answers, as OpenAI's dialects take them: native, strict, or in words.

OpenAI's strict mode holds a model to a schema token by token, but refuses a
schema with anything that it cannot hold to. What is said here of it is from
OpenAI's guide to structured outputs. It validates nothing.
"""

import json
from collections.abc import Mapping
from typing import Any

SCHEMA_NAME = "answer"
"""The dialects demand a name; it has no meaning."""

_STRICT_KEYWORDS = {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "definitions",
    "description", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems",
    "maximum", "minItems", "minimum", "multipleOf", "pattern", "properties", "required", "title",
    "type",
}  # fmt: skip
_STRICT_FORMATS = {
    "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid",
}  # fmt: skip
_DEPTH = 10
"""OpenAI's limit for nested objects; a deeper schema is sent without strictness."""


def place_schema(
    schema: Mapping[str, Any] | None, system: str | None
) -> tuple[dict[str, Any] | None, str | None]:
    """How a schema travels: `{name, schema, strict}` where it can be sent, and the system prompt.

    One that cannot be sent is asked for in the system prompt.
    """
    if schema is None:
        return None, system
    if is_native(schema):
        return {"name": SCHEMA_NAME, "schema": dict(schema), "strict": is_strict(schema)}, system
    return None, instruct(system, schema)


def is_native(schema: Mapping[str, Any]) -> bool:
    """Whether the schema can be sent as one: OpenAI takes only objects at the root."""
    return schema.get("type") == "object" and "anyOf" not in schema


def is_strict(schema: Any, *, depth: int = _DEPTH) -> bool:
    """Whether strict mode takes it: every object closed, every property required, all known."""
    if not isinstance(schema, Mapping) or depth == 0 or not schema.keys() <= _STRICT_KEYWORDS:
        return False
    if not schema.keys() & {"type", "anyOf", "$ref", "enum", "const"}:
        return False
    if str(schema.get("format", "date")) not in _STRICT_FORMATS:
        return False
    kinds = _list_kinds(schema)
    if ("object" in kinds and not _is_closed(schema)) or (
        "array" in kinds and "items" not in schema
    ):
        return False
    return all(is_strict(each, depth=depth - 1) for each in _children(schema))


def _list_kinds(schema: Mapping[str, Any]) -> list[Any]:
    kinds = schema.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def _is_closed(schema: Mapping[str, Any]) -> bool:
    properties, required = schema.get("properties"), schema.get("required")
    if schema.get("additionalProperties") is not False or not isinstance(properties, Mapping):
        return False
    return isinstance(required, list) and {str(each) for each in required} == set(properties)


def _children(schema: Mapping[str, Any]) -> list[Any]:
    """Every schema inside; what is not where a schema should be is there too, to be refused."""
    found: list[Any] = [schema["items"]] if "items" in schema else []
    for name in ("properties", "$defs", "definitions"):
        table = schema.get(name, {})
        found += table.values() if isinstance(table, Mapping) else [None]
    choices = schema.get("anyOf", [])
    return found + (choices if isinstance(choices, list) else [None])


def instruct(system: str | None, schema: Mapping[str, Any]) -> str:
    """The system prompt that asks in words for an answer of this schema."""
    text = json.dumps(schema, ensure_ascii=False)
    words = (
        "Answer with JSON alone, without a code block or any other words. "
        f"It must fit this JSON schema:\n{text}"
    )
    return f"{system}\n\n{words}" if system else words
