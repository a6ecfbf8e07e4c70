"""Schemas say what the types say: what the daemon takes and answers fits them, and no more."""

import dataclasses
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator

from ask.protocol.messages import METHODS, Target, TurnStart
from tests.house.json_shapes import describe_shape, describe_type, find_shapes


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (str | None, {"type": ["string", "null"]}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (Any, {}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (
            list[str] | None,
            {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Target, {"$ref": "#/components/schemas/Target"}),
    ],
)
def test_a_type_has_its_schema(hint: Any, schema: Any) -> None:
    assert describe_type(hint) == schema


def test_a_type_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(TypeError):
        describe_type(complex)


def test_every_shape_is_a_valid_schema() -> None:
    shapes = find_shapes(each for m in METHODS.values() for each in (m.params, m.result))
    assert {m.params for m in METHODS.values()} <= set(shapes)
    for shape in shapes:
        Draft202012Validator.check_schema(describe_shape(shape, closed=True))


def make_validator(shape: type) -> Draft202012Validator:
    shapes = {each.__name__: describe_shape(each) for each in find_shapes([shape])}
    closed = describe_shape(shape, closed=True)
    return Draft202012Validator({**closed, "components": {"schemas": shapes}})


PROMPT = {
    "target": {"kind": "session", "value": "work", "create": True},
    "key": "k",
    "parts": [{"type": "text", "text": "hi"}],
}


def test_a_prompt_fits_and_what_is_no_prompt_does_not() -> None:
    validator = make_validator(TurnStart)
    validator.validate(PROMPT)
    validator.validate({**PROMPT, "options": {"model": None, "timeout_s": 5, "tools": ["read"]}})
    wrong: list[dict[str, Any]] = [
        {},
        {**PROMPT, "key": 1},
        {**PROMPT, "busy": "never"},
        {**PROMPT, "of_the_future": 1},
        {**PROMPT, "target": {"kind": "odd"}},
        {**PROMPT, "options": {"tools": "read"}},
    ]
    assert [each for each in wrong if validator.is_valid(each)] == []


def test_a_field_left_out_is_not_there() -> None:
    schema = describe_shape(TurnStart, without=frozenset({"key"}))
    assert "key" not in schema["properties"]
    assert schema["required"] == ["target", "parts"]
    fields = [field.name for field in dataclasses.fields(TurnStart) if field.name != "key"]
    assert list(schema["properties"]) == fields
