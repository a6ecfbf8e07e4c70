"""The types of the contract as JSON Schema (2020-12, which OpenAPI 3.1 uses).

It reads annotations and nothing else, so that a schema cannot say what the
contract does not.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

from ask.protocol import messages

Schema = dict[str, Any]
SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def is_shape(hint: Any) -> bool:
    """Whether it is one of the contract's dataclasses."""
    return (
        isinstance(hint, type)
        and dataclasses.is_dataclass(hint)
        and hint.__module__ == messages.__name__
    )


def describe_type(hint: Any) -> Schema:
    """The schema of a type; dataclasses are referred to by their names."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        inner = describe_type(arguments[0])
        text = next((each for each in arguments[1:] if isinstance(each, str)), None)
        return inner if text is None else {**inner, "description": text}
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    if hint is bytes:
        return {"type": "string", "contentEncoding": "base64"}
    if hint in (None, type(None)):
        return {"type": "null"}
    if hint is Any:
        return {}
    if is_shape(hint):
        return {"$ref": f"#/components/schemas/{hint.__name__}"}
    if origin is typing.Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return _describe_union([describe_type(each) for each in arguments])
    if origin in (list, tuple):
        return {"type": "array", "items": describe_type(arguments[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": describe_type(arguments[1])}
    raise TypeError(f"no schema for {hint!r}")


def _describe_union(members: list[Schema]) -> Schema:
    plain = [each for each in members if set(each) == {"type"}]
    if len(plain) == len(members):
        return {"type": [each["type"] for each in members]}
    return {"anyOf": members}


def describe_fields(shape: Any) -> dict[str, tuple[Schema, bool]]:
    """The schema of each field, with its default, and whether it is needed."""
    hints = typing.get_type_hints(shape, include_extras=True)
    described = {}
    for field in dataclasses.fields(shape):
        schema = describe_type(hints[field.name])
        is_needed = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if isinstance(field.default, str | int | float | bool):
            schema = {**schema, "default": field.default}
        described[field.name] = (schema, is_needed)
    return described


def describe_shape(
    shape: Any, *, closed: bool = False, without: frozenset[str] = frozenset()
) -> Schema:
    """A dataclass as an object; `closed`: what is not known is refused."""
    fields = {n: each for n, each in describe_fields(shape).items() if n not in without}
    schema: Schema = {"type": "object"}
    text = inspect.getdoc(shape) or ""
    if text and not text.startswith(f"{shape.__name__}("):
        schema["description"] = " ".join(text.split())
    schema["properties"] = {name: each for name, (each, _) in fields.items()}
    needed = [name for name, (_, is_needed) in fields.items() if is_needed]
    if needed:
        schema["required"] = needed
    if closed:
        schema["additionalProperties"] = False
    return schema


def find_shapes(hints: typing.Iterable[Any]) -> list[type]:
    """The dataclasses within these types, and within their fields, sorted by name."""
    found: dict[type, None] = {}

    def collect(hint: Any) -> None:
        if is_shape(hint) and hint not in found:
            found[hint] = None
            for each in typing.get_type_hints(hint).values():
                collect(each)
        for each in typing.get_args(hint):
            collect(each)

    for hint in hints:
        collect(hint)
    return sorted(found, key=lambda shape: shape.__name__)
