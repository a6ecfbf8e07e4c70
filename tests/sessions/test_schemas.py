"""What an answer must fit: refused in time, checked without a network, and said with its place."""

import json
import signal
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import RequestError
from askd.sessions import schemas
from askd.sessions.schemas import check_schema, describe_wish, find_objection, strip_fence

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def nest(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth - 1):
        schema = {"not": schema}
    return schema


# ---- schemas ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        PERSON,
        {},
        {"type": "array", "items": PERSON},
        {"$schema": DRAFT_7, "definitions": {"n": {"type": "null"}}, "$ref": "#/definitions/n"},
        {"$schema": "urn:someone's own", "type": "object"},
        {"$id": "http://example.com/a", "$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}},
        {"$defs": {"n": {"$id": "http://example.com/n"}}, "$ref": "http://example.com/n"},
        {"properties": {"next": {"$ref": "#"}}},
        {"enum": [{"$ref": "http://example.com/data"}]},
        {"properties": {"$ref": {"type": "string"}}},
        nest(schemas.SCHEMA_DEPTH),
    ],
)
def test_good_ones(schema: dict[str, Any]) -> None:
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "int"}, r"\$\.type: 'int' is not valid"),
        ({"properties": [1]}, r"\$\.properties: \[1\] is not of type 'object'"),
        ({"pattern": "["}, r"\$\.pattern: '\[' is not a 'regex'"),
        ({"pattern": r"\p{L}"}, "is not a 'regex'"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "patternProperties": {"(": {}}},
         r"the pattern '\(' is none"),
        ({"$schema": 5}, "5 is not of type 'string'"),
        ({"$id": 5}, "5 is not of type 'string'"),
        ({"$id": "http://[", "$ref": "a"}, "leads nowhere in it"),
        ({"$ref": "http://example.com/a"}, "'http://example.com/a' leads nowhere in it"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "nothing is fetched"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "'file:///etc/passwd' leads nowhere"),
        ({"$ref": "other.json"}, "'other.json' leads nowhere in it"),
        ({"$ref": "#/$defs/gone"}, "'#/\\$defs/gone' leads nowhere in it"),
        ({"$dynamicRef": "#gone"}, "'#gone' leads nowhere in it"),
        ({"$schema": DRAFT_7, "definitions": {"a": {"$ref": "http://a/b"}}}, "'http://a/b' leads"),
        ({"$ref": "#"}, "it refers to itself without an end"),
        ({"x": float("nan")}, "it is no JSON"),
        ({"x": b"bytes"}, "it is no JSON"),
        ({"description": "x" * schemas.SCHEMA_LIMIT_BYTES}, "it takes 65555 bytes"),
        (nest(schemas.SCHEMA_DEPTH + 1), "nested too deep"),
        ({"enum": [[]] * schemas.SCHEMA_CONTAINERS}, "too many parts"),
    ],
)  # fmt: skip
def test_bad_ones(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(RequestError, match=why) as caught:
        check_schema(schema)
    assert (caught.value.code, caught.value.reason) == (2, "bad_schema")
    assert len(caught.value.message) < 1000


def test_nothing_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a schema opened a connection")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    remote = {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}
    with pytest.raises(RequestError):
        check_schema(remote)
    # Unchecked, it is of no use either.
    with pytest.raises(Exception, match=r"http://127\.0\.0\.1:9/x"):
        find_objection('{"a": 1}', remote)


# ---- answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        ('{"name": "Ada", "age": 36}', None),
        ('\n {"name": "Ada", "age": 36}\n', None),
        ('```json\n{"name": "Ada", "age": 36}\n```', None),
        ("Ada is 36.", "The answer is not JSON: Expecting value: line 1 column 1 (char 0)."),
        ("", "The answer is not JSON: Expecting value: line 1 column 1 (char 0)."),
        ('{"name": NaN}', "The answer is not JSON: NaN is no JSON."),
        (
            '{"name": "Ada", "age": "36"}',
            "The answer does not fit the schema: $.age: '36' is not of type 'integer'.",
        ),
        (
            '{"name": "Ada"}',
            "The answer does not fit the schema: $: 'age' is a required property.",
        ),
        (
            '{"name": "Ada", "age": ' + "9" * 10_000 + "}",
            "A number in the answer has 10,000 digits, and 4,000 are the most.",
        ),
        ('{"name": "Ada", "age": ' + "9" * 4000 + "}", None),
        ("[" * 100_000, "The answer is not JSON that can be read: it is nested too deep."),
    ],
)
def test_answers(text: str, objection: str | None) -> None:
    assert find_objection(text, PERSON) == objection


@pytest.mark.parametrize("number", ["1e999", "9" * 400])
def test_a_number_that_nobody_can_divide_is_an_objection(number: str) -> None:
    objection = find_objection(number, {"multipleOf": 0.1})
    assert objection == "A number in the answer is too large to be checked against the schema."


def test_an_objection_has_a_bounded_length_and_keeps_both_ends() -> None:
    long = "x" * 5000
    objection = find_objection(json.dumps({"name": "Ada", "age": long}), PERSON)
    assert objection is not None
    assert len(objection) < 2 * schemas.PROBLEM_LENGTH
    assert "$.age: 'xxx" in objection
    assert objection.endswith("xxx' is not of type 'integer'.")


def test_format_is_a_remark() -> None:
    assert find_objection('"soon"', {"type": "string", "format": "date"}) is None


EVIL = {"type": "string", "pattern": "^(a+)+$"}
ENDLESS = json.dumps("a" * 60 + "b")


def test_a_pattern_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "CHECK_LIMIT_S", 0.05)
    before = signal.getsignal(signal.SIGALRM)
    check_schema(EVIL)
    with pytest.raises(RequestError, match="takes too long to check an answer"):
        find_objection(ENDLESS, EVIL)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_schema_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "CHECK_LIMIT_S", 1e-6)
    with pytest.raises(RequestError, match="it takes too long to check"):
        check_schema({"enum": list(range(10_000))})


def test_beside_the_main_thread_there_is_no_alarm() -> None:
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(find_objection("1", {"type": "null"})))
    thread.start()
    thread.join()
    assert found == ["The answer does not fit the schema: $: 1 is not of type 'null'."]


# ---- fences and words ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```\n{}\n```", "{}"),
        ("```json\n{}\n```\n", "{}"),
        ("````json\n```\n````", "```"),
        ("```json\n{}```", "{}"),
        ("```json\n```", ""),
        (" {} ", "{}"),
        ("Here: ```\n{}\n```", "Here: ```\n{}\n```"),
        ("```\n{}\n``` so", "```\n{}\n``` so"),
        ("``` {}```", "``` {}```"),
        ("```\n{}", "```\n{}"),
    ],
)
def test_one_fence_is_taken_away(text: str, inside: str) -> None:
    assert strip_fence(text) == inside


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_json_fits_in_a_fence(value: object) -> None:
    text = json.dumps(value)
    assert strip_fence(f"```json\n{text}\n```") == strip_fence(text) == text


def test_what_a_model_is_told() -> None:
    assert "fits the given schema" in describe_wish(PERSON, is_sent=True)
    told = describe_wish(PERSON, is_sent=False)
    assert told.endswith(json.dumps(PERSON))
