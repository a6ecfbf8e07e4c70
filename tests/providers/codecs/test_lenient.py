"""Any JSON value, read as the type that is wanted: never an exception."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.codecs.lenient import (
    COUNT_LIMIT,
    parse_arguments,
    parse_object,
    read_count,
    read_index,
    read_object,
    read_objects,
    read_text,
    write_json,
)

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(ANY)
def test_any_value_gives_the_wanted_type(value: Any) -> None:
    assert isinstance(read_text(value), str)
    assert isinstance(read_object(value), dict)
    assert all(isinstance(each, dict) for each in read_objects(value))
    count = read_count({"n": value}, "n")
    assert count is None or 0 <= count <= COUNT_LIMIT
    index = read_index(value)
    assert index is None or index >= 0
    assert isinstance(read_count(value, "n"), int | None)


@given(ANY)
def test_what_is_written_can_be_stored_and_read(value: Any) -> None:
    json.loads(write_json(value).encode("utf-8"))


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", "1e999", "[" * 100_000, "9" * 5000])
def test_text_that_is_no_object_is_none(text: str) -> None:
    assert parse_object(text) is None


def test_object_is_parsed() -> None:
    assert parse_object('{"a": [1]}') == {"a": [1]}


def test_half_characters_are_replaced() -> None:
    assert read_text("a\ud83db") == "a\ufffdb"
    assert write_json({"a": "\udc00é"}) == '{"a":"\ufffdé"}'


def test_numbers_are_read_for_what_they_are() -> None:
    table = {"a": 3, "b": 2.0, "c": True, "d": -1, "e": float("inf"), "f": float("nan"), "g": 1e300}
    assert [read_count(table, name) for name in "abcdefgh"] == [3, 2, *[None] * 6]
    assert [read_index(value) for value in (0, 7, -1, True, 1.0, "1")] == [0, 7, *[None] * 4]


def test_what_nests_too_deep_is_written_as_nothing() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert write_json(deep) == "{}"


@pytest.mark.parametrize(
    "text",
    ["{", "[1]", '"x"', "null", '{"a": NaN}', '{"a": 1e999}', '{"a":' * 950 + "1" + "}" * 950],
)
def test_arguments_that_could_not_be_sent_again_are_shown_as_text(text: str) -> None:
    assert parse_arguments(text) == {"_raw": text}


def test_arguments_are_an_object_and_none_at_all_an_empty_one() -> None:
    assert parse_arguments('{"a": [1, null]}') == {"a": [1, None]}
    assert parse_arguments("") == parse_arguments(" \n") == parse_arguments("{}") == {}
