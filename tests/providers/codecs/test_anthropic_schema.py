"""A schema as Anthropic takes it: known keywords stay, the others become words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.codecs.anthropic_schema import fit_schema
from tests.core.values import JSON

KNOWN = {"type", "title", "description", "enum", "const", "$ref", "$defs", "definitions", "anyOf",
         "allOf", "properties", "required", "additionalProperties", "items", "minItems",
         "format"}  # fmt: skip
SCHEMAS = st.dictionaries(
    st.sampled_from([*sorted(KNOWN), "oneOf", "minimum", "pattern", "$schema", "default"]), JSON
)


def test_plain_schema_only_gets_closed() -> None:
    schema = {
        "type": "object",
        "title": "Person",
        "properties": {
            "name": {"type": "string", "description": "In full."},
            "born": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "kind": {"enum": ["a", "b"]},
            "boss": {"$ref": "#/$defs/Person"},
        },
        "required": ["name"],
        "$defs": {"Person": {"type": "object", "properties": {}}},
    }
    expected: Any = json.loads(json.dumps(schema))
    expected["additionalProperties"] = False
    expected["$defs"]["Person"]["additionalProperties"] = False
    assert fit_schema(schema) == expected
    assert "additionalProperties" not in schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "integer", "minimum": 1, "description": "An age."},
            {"type": "integer", "description": 'An age.\n\n{"minimum": 1}'},
        ),
        (
            {"type": "string", "format": "color"},
            {"type": "string", "description": '{"format": "color"}'},
        ),
        (
            {"type": "array", "items": {"type": "null"}, "minItems": 3},
            {"type": "array", "items": {"type": "null"}, "description": '{"minItems": 3}'},
        ),
        (
            {"oneOf": [{"type": "string", "pattern": "a"}, {"type": "null"}]},
            {
                "anyOf": [
                    {"type": "string", "description": '{"pattern": "a"}'},
                    {"type": "null"},
                ]
            },
        ),
        (
            {"type": ["string", "null"], "minLength": 2, "description": "A name."},
            {
                "description": "A name.",
                "anyOf": [
                    {"type": "string", "description": '{"minLength": 2}'},
                    {"type": "null"},
                ],
            },
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {
                "type": "object",
                "properties": {},
                "additionalProperties": False,
                "description": '{"additionalProperties": {"type": "string"}}',
            },
        ),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, {}),
        ({}, {}),
    ],
)
def test_what_is_no_keyword_is_said(schema: Any, expected: Any) -> None:
    assert fit_schema(schema) == expected


@given(SCHEMAS)
def test_no_schema_raises_and_none_keeps_a_foreign_keyword(schema: dict[str, Any]) -> None:
    assert set(fit_schema(schema)) <= KNOWN
