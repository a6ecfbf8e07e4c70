"""Forms of strangers: every spelling of MCP is read, nothing deeper, and what is filled in fits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.forms import (
    CHOICES_LIMIT,
    CONTENT_BYTES,
    FIELDS_LIMIT,
    FORM_BYTES,
    VALUE_CHARACTERS,
    Field,
    check_fields,
    read_form,
)

Map = dict[str, Any]


def form(properties: Map, *required: object) -> Map:
    return {"type": "object", "properties": properties, "required": list(required)}


def field_of(said: Map) -> Field:
    (field,) = read_form(form({"x": said})).fields
    return field


TITLED = [{"const": "a", "title": "The first"}, {"const": "b", "title": "The second"}]
PAIRS = (("a", "The first"), ("b", "The second"))
BARE = (("a", "a"), ("b", "b"))


@pytest.mark.parametrize(
    ("said", "kind", "choices"),
    [
        ({"type": "string", "enum": ["a", "b"]}, "choice", BARE),
        ({"enum": ["a", "b"]}, "choice", BARE),
        ({"type": "string", "const": "a"}, "choice", (("a", "a"),)),
        (
            {"type": "string", "enum": ["a", "b"], "enumNames": ["The first", "The second"]},
            "choice",
            PAIRS,
        ),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["one"]}, "choice", BARE),
        ({"type": "string", "oneOf": TITLED}, "choice", PAIRS),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "choices", BARE),
        ({"type": "array", "items": {"anyOf": TITLED}}, "choices", PAIRS),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, "integer", ()),
        ({"type": "boolean"}, "boolean", ()),
        ({"type": "number"}, "number", ()),
        ({"type": "string"}, "string", ()),
    ],
)
def test_every_spelling_is_read_and_written_in_one(
    said: Map, kind: str, choices: tuple[tuple[str, str], ...]
) -> None:
    field = field_of({**said, "title": " Why ", "description": "Because."})
    assert (field.kind, field.choices) == (kind, choices)
    assert (field.title, field.description) == ("Why", "Because.")
    assert field_of(field.schema) == field


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "not of an object"),
        ({"type": "object", "properties": []}, "not of an object"),
        (form({"x": {"type": "object"}}), "'x' is no text"),
        (form({"x": {"type": "array", "items": {"type": "object"}}}), "'x' is no text"),
        (form({"x": {"type": "array"}}), "'x' is no text"),
        (form({"x": {"$ref": "#/$defs/X"}}), "'x' is no text"),
        (form({"x": True}), "'x' is not described"),
        (form({"": {"type": "string"}}), "the name of a field"),
        (form({"n" * 101: {"type": "string"}}), "the name of a field"),
        (form({"x": {"enum": [1, 2]}}), "the choices"),
        (form({"x": {"enum": ["a", "a"]}}), "the choices"),
        (form({"x": {"oneOf": [{"title": "a"}]}}), "the choices"),
        (form({"x": {"enum": [f"{n}" for n in range(CHOICES_LIMIT + 1)]}}), "choices"),
        (form({"x": {"type": "string"}}, "y"), "requires a field"),
        (form({"x": {"type": "string"}}, []), "requires a field"),
        (form({f"f{n}": {"type": "string"} for n in range(FIELDS_LIMIT + 1)}), "fields"),
        (form({"x": {"type": "string", "title": "\ud800"}}), "text that is none"),
    ],
)
def test_what_is_no_flat_form_is_refused_whole(schema: Map, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_form(schema)


def test_a_form_as_large_as_its_parts_allow_is_refused() -> None:
    choices = [f"{n:0200}" for n in range(CHOICES_LIMIT)]
    with pytest.raises(ValueError, match=f"{FORM_BYTES:,} bytes"):
        read_form(form({f"f{n}": {"enum": choices} for n in range(5)}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each),
    max_leaves=8,
)
WORDS = st.sampled_from(
    ["type", "enum", "enumNames", "oneOf", "anyOf", "items", "const", "title", "default", "minimum",
     "maxLength", "minItems", "format", "pattern", "description"]
)  # fmt: skip
VALUES = JSON | st.sampled_from(["string", "number", "integer", "boolean", "array", TITLED, ["a"]])
SHAPES = st.dictionaries(WORDS, VALUES | st.dictionaries(WORDS, VALUES), max_size=5)


@given(st.dictionaries(st.text(max_size=5), SHAPES | JSON, max_size=4) | JSON, JSON, JSON)
def test_whatever_is_sent_is_read_or_refused_and_means_the_same_when_read_again(
    properties: Any, required: Any, content: Any
) -> None:
    try:
        read = read_form({"properties": properties, "required": required})
    except ValueError:
        return
    assert read_form(json.loads(json.dumps(read.schema))) == read
    if isinstance(content, dict):
        check_fields(read, content)
    defaults = {each.name: each.default for each in read.fields if each.default is not None}
    amiss = check_fields(read, defaults)
    assert set(amiss) == {each.name for each in read.fields if each.required} - set(defaults)


@pytest.mark.parametrize(
    ("said", "good", "bad"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "éé€"], ["a", "abcd", 1, None]),
        ({"type": "string"}, ["", "x" * VALUE_CHARACTERS], ["x" * (VALUE_CHARACTERS + 1), True]),
        ({"type": "string", "pattern": "(a+)+$"}, ["a" * 60 + "!"], []),
        ({"type": "string", "format": "email"}, ["a@b", "ä@b.c"], ["a", "@", "a@b@c", "a @b"]),
        (
            {"type": "string", "format": "uri"},
            ["https://a/b?c", "mailto:x"],
            ["a", "http://a b", "1a:b", "a:", ""],
        ),
        (
            {"type": "string", "format": "date"},
            ["2026-02-28"],
            ["2026-02-30", "20260228", "2026-W01-1", "28.2.2026"],
        ),
        (
            {"type": "string", "format": "date-time"},
            ["2026-02-28T10:00:00Z", "2026-02-28t10:00:00.5+01:00"],
            ["2026-02-28", "2026-02-28T10:00:00", "2026-02-28T25:00:00Z", "now"],
        ),
        ({"type": "string", "format": "made-up"}, ["anything"], []),
        ({"type": "integer", "minimum": 1, "maximum": 9}, [1, 9], [0, 10, 1.0, "1", True, None]),
        ({"type": "integer"}, [0, -(2**62)], [2**63, -(2**63)]),
        (
            {"type": "number", "minimum": 0.5},
            [0.5, 1, 2.25],
            [0.4, float("nan"), float("inf"), "1", False],
        ),
        ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
        ({"enum": ["a", "b"]}, ["a", "b"], ["c", "", None, ["a"]]),
        (
            {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2},
            [["a"], ["a", "b"]],
            [[], ["a", "b", "c"], ["a", "a"], ["d"], "a", [["a"]], None, {"a": 1}],
        ),
    ],
)
def test_a_value_fits_its_field_or_a_sentence_says_why_not(
    said: Map, good: list[Any], bad: list[Any]
) -> None:
    read = read_form(form({"x": said}))
    for value in good:
        assert check_fields(read, {"x": value}) == {}, value
    for value in bad:
        (name, sentence), *_ = check_fields(read, {"x": value}).items()
        assert name == "x", value
        assert sentence.startswith("This ")
        assert sentence.endswith(".")


def test_all_fields_that_are_wrong_are_named_at_once() -> None:
    read = read_form(form({"a": {"type": "string"}, "b": {"type": "integer"}}, "a", "b"))
    assert check_fields(read, {"b": "1", "c": 1}) == {
        "a": "This is required.",
        "b": "This is a whole number.",
        "c": "There is no such field.",
    }
    assert check_fields(read, {"a": "", "b": 1}) == {}


def test_content_is_bounded_as_a_whole_and_is_text() -> None:
    fields = {f"f{n}": {"type": "string"} for n in range(FIELDS_LIMIT)}
    read = read_form(form(fields))
    filled = dict.fromkeys(fields, "é" * VALUE_CHARACTERS)
    assert list(check_fields(read, filled)) == [""]
    assert f"{CONTENT_BYTES:,}" in check_fields(read, filled)[""]
    assert list(check_fields(read, {"f0": "\udcff"})) == [""]


def test_a_default_that_does_not_fit_is_none() -> None:
    assert field_of({"type": "integer", "default": "three"}).default is None
    assert field_of({"type": "integer", "default": 3}).schema["default"] == 3
    assert field_of({"type": "boolean", "default": False}).schema["default"] is False
    chosen = {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]}
    assert field_of(chosen).default == ["b"]
    assert field_of({**chosen, "default": ["c"]}).default is None


def test_a_line_tells_what_a_field_wants() -> None:
    read = read_form(
        form(
            {
                "size": {"type": "integer", "default": 3},
                "colours": {"type": "array", "items": {"enum": ["red", "blue"]}},
            },
            "size",
        )
    )
    assert read.describe() == [
        "size: whole number, else 3, required",
        "colours: some of them (red, blue)",
    ]
