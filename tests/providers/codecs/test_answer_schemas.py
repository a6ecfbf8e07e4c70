"""Which schemas OpenAI's strict mode takes, and how the others are asked for."""

from typing import Any

import pytest
from hypothesis import given

from askd.providers.codecs.answer_schemas import instruct, is_native, is_strict
from tests.fakes.codec_streams import any_json


def closed(**properties: Any) -> dict[str, Any]:
    """An object with these properties, all required, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


STRING = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        closed(
            name=STRING, age={"type": ["integer", "null"], "minimum": 0, "description": "Years."}
        ),
        closed(people={"type": "array", "items": closed(name=STRING)}),
        closed(kind={"enum": ["a", "b"]}, value={"anyOf": [STRING, {"type": "null"}]}),
        closed(when={"type": "string", "format": "date-time"}),
        {**closed(next={"$ref": "#/$defs/node"}), "$defs": {"node": closed(name=STRING)}},
        closed(),
    ],
)
def test_strict(schema: dict[str, Any]) -> None:
    assert is_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
        {**closed(a=STRING), "additionalProperties": True},
        {**closed(a=STRING, b=STRING), "required": ["a"]},
        {**closed(a=STRING), "required": None},
        {"type": "object", "additionalProperties": False},
        closed(inner={"type": "object"}),
        closed(inner={"type": ["object", "null"]}),
        closed(items={"type": "array"}),
        closed(a={"type": "string", "minLength": 1}),
        closed(a={"type": "string", "default": ""}),
        closed(a={"type": "string", "format": "uri"}),
        closed(a={"allOf": [STRING]}),
        closed(a={}),
        closed(a=True),
        {**closed(a={"$ref": "#/$defs/b"}), "$defs": {"b": {"type": "object"}}},
        {**closed(a=STRING), "$defs": []},
        closed(a={"anyOf": STRING}),
    ],
)
def test_not_strict(schema: dict[str, Any]) -> None:
    assert not is_strict(schema)


def test_depth_beyond_openais_is_not_strict() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(9):
        schema = closed(a=schema)
    assert is_strict(schema)
    assert not is_strict(closed(a=schema))


KEYS = [
    "type",
    "properties",
    "items",
    "anyOf",
    "$defs",
    "required",
    "additionalProperties",
    "format",
]


@given(any_json(KEYS, ["object", "array", "string"]))
def test_any_json_is_judged_without_an_accident(schema: Any) -> None:
    assert is_strict(schema) in (True, False)


def test_only_an_object_is_native() -> None:
    assert is_native({"type": "object"})
    assert not is_native({"type": "array", "items": STRING})
    assert not is_native({"type": "object", "anyOf": [closed(a=STRING)]})
    assert not is_native({})


def test_instruction_follows_the_system_prompt() -> None:
    assert instruct(None, STRING).endswith('JSON schema:\n{"type": "string"}')
    assert instruct("Be brief.", STRING) == "Be brief.\n\n" + instruct(None, STRING)
