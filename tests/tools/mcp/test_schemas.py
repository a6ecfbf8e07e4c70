"""Schemas of other people's tools: whatever they are, a request can hold what is made of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.mcp.schemas import COMBINATIONS, OPEN, SCHEMA_BYTES, fit_schema

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
KEYS = ("type", "properties", "required", "$ref", "$schema", "oneOf", "not", "$defs")
SCHEMAS = st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(["object", [], {}]))
GOOD = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@given(SCHEMAS | JSON)
def test_what_comes_out_is_a_schema_of_an_object_that_can_be_sent(schema: Any) -> None:
    fitted = fit_schema(schema)
    text = json.dumps(fitted.schema, allow_nan=False)
    assert len(text) <= SCHEMA_BYTES + 100
    assert fitted.schema["type"] == "object"
    assert isinstance(fitted.schema["properties"], dict)
    assert all(isinstance(each, str) for each in fitted.schema.get("required", []))
    assert not {"$schema", "$id", "$ref", *COMBINATIONS} & set(fitted.schema)
    again = fit_schema(fitted.schema)
    assert (again.schema, again.remark) == (fitted.schema, "")


def test_a_good_one_stays_as_it_is() -> None:
    assert fit_schema(GOOD).schema == GOOD
    assert fit_schema(GOOD).remark == ""
    assert fit_schema({"$schema": "http://json-schema.org/draft-07/schema#"} | GOOD).schema == GOOD
    assert fit_schema({}).schema == OPEN


def test_what_providers_refuse_outside_goes_to_the_description() -> None:
    fitted = fit_schema(GOOD | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert fitted.schema == GOOD
    assert '{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}' in fitted.remark
    long = fit_schema(GOOD | {"enum": ["x" * 5000]})
    assert len(long.remark) < 1100


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (None, "is missing"),
        ([], "is missing"),
        ({"type": "array"}, "is not one of an object"),
        ({"$ref": "#/$defs/a"}, "is not one of an object"),
        ({"properties": ["a"]}, "names no properties"),
        ({"properties": {"a": "string"}}, "names no properties"),
        (GOOD | {"required": "a"}, "has a wrong list"),
        (GOOD | {"title": "x" * SCHEMA_BYTES}, "which is too much"),
        (deep(30), "is nested too deep"),
        (deep(100_000), "is nested too deep"),
        (GOOD | {"default": float("nan")}, "is no JSON"),
        (GOOD | {"default": {1, 2}}, "is no JSON"),
    ],
)
def test_one_that_cannot_be_used_is_open_and_that_is_said(schema: Any, why: str) -> None:
    fitted = fit_schema(schema)
    assert fitted.schema == OPEN
    assert why in fitted.remark
