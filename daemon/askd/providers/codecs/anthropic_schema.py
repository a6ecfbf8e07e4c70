"""A JSON schema as Anthropic's structured output takes it.

Pure. Its grammar knows a part of JSON Schema: every object is closed, and a keyword that
it does not know is refused. Those are said in the description instead, where the model
reads them. Whoever asked checks the answer against the schema as it was.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from askd.providers.codecs.lenient import Json, read_object, read_objects

_ALWAYS = ("title", "enum", "const", "$ref")
_BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
    "string": ("format", "pattern", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
)
_SILENT = frozenset(("$schema", "$id", "description", "type"))
"""Keywords that say nothing about an answer, or that are handled on their own."""


def fit_schema(schema: Mapping[str, Any]) -> Json:
    """The schema with what Anthropic takes as keywords and the rest as words."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return _fit_kinds(schema, kind)
    fitted: Json = {} if kind is None else {"type": kind}
    rest = {key: value for key, value in schema.items() if key not in _SILENT}
    for key in _ALWAYS:
        if key in rest:
            fitted[key] = rest.pop(key)
    for key in ("$defs", "definitions"):
        if key in rest:
            named = read_object(rest.pop(key))
            fitted[key] = {name: fit_schema(read_object(each)) for name, each in named.items()}
    for key, said in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
        if key in rest:
            fitted[said] = [fit_schema(each) for each in read_objects(rest.pop(key))]
    fitted.update(_take_by_type(kind, rest))
    words = [str(schema["description"])] if schema.get("description") else []
    if rest:
        words.append(json.dumps(rest, ensure_ascii=False))
    return {**fitted, "description": "\n\n".join(words)} if words else fitted


def _fit_kinds(schema: Mapping[str, Any], kinds: list[Any]) -> Json:
    """Several types, each a schema of its own with the keywords that concern it."""
    foreign = {key for keys in _BY_TYPE.values() for key in keys}
    common = {key: value for key, value in schema.items() if key not in foreign}
    fitted = fit_schema({key: value for key, value in common.items() if key != "type"})
    fitted["anyOf"] = [
        fit_schema({"type": kind, **{k: schema[k] for k in _BY_TYPE.get(kind, ()) if k in schema}})
        for kind in kinds
        if isinstance(kind, str)
    ]
    return fitted


def _take_by_type(kind: Any, rest: Json) -> Iterator[tuple[str, Any]]:
    """What this type takes; what it leaves stays in `rest`."""
    if kind == "object":
        named = read_object(rest.pop("properties", None))
        yield "properties", {name: fit_schema(read_object(each)) for name, each in named.items()}
        if "required" in rest:
            yield "required", rest.pop("required")
        if rest.get("additionalProperties") in (True, False):
            del rest["additionalProperties"]
        yield "additionalProperties", False
    elif kind == "array":
        if "items" in rest:
            yield "items", fit_schema(read_object(rest.pop("items")))
        if rest.get("minItems") in (0, 1):
            yield "minItems", rest.pop("minItems")
    elif kind == "string" and rest.get("format") in _FORMATS:
        yield "format", rest.pop("format")
