"""What is written can be read, what does not fit is refused, what is unknown is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given

from askd.core.events import Body, decode_body, encode_body
from askd.core.items import Item, Text, Unknown, UserMessage
from askd.core.records import BadRecord, decode, encode
from tests.core.values import BODIES, ITEMS


@given(BODIES)
def test_every_body_survives_the_log(body: Body) -> None:
    assert decode_body(json.loads(json.dumps(encode_body(body)))) == body


@given(ITEMS)
def test_every_item_survives_the_log(item: Item) -> None:
    shape: Any = Item
    assert decode(shape, json.loads(json.dumps(encode(item)))) == item


@dataclass(frozen=True, slots=True)
class Leaf:
    TYPE: ClassVar[str] = "leaf"
    name: str
    weight: float = 1.0
    count: int = 0
    fresh: bool = True
    tags: tuple[str, ...] = ()
    more: Mapping[str, int] | None = None
    plain: int | str = 0


def test_defaults_are_not_written() -> None:
    assert encode(Leaf("a")) == {"type": "leaf", "name": "a"}
    assert encode(Leaf("a", tags=("x",))) == {"type": "leaf", "name": "a", "tags": ["x"]}


def test_a_field_without_a_default_is_always_written() -> None:
    assert encode(UserMessage("", ())) == {"type": "user_message", "id": "", "parts": []}


def test_fields_of_a_newer_writer_are_passed_over() -> None:
    assert decode(Leaf, {"type": "leaf", "name": "a", "colour": "red"}) == Leaf("a")


def test_an_int_is_a_float_and_a_bool_is_no_int() -> None:
    assert decode(Leaf, {"name": "a", "weight": 2}) == Leaf("a", 2)
    with pytest.raises(BadRecord):
        decode(Leaf, {"name": "a", "count": True})
    with pytest.raises(BadRecord):
        decode(Leaf, {"name": "a", "weight": True})


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": 1},
        {"name": None},
        {"name": "a", "count": "1"},
        {"name": "a", "count": 1.0},
        {"name": "a", "fresh": 1},
        {"name": "a", "tags": "x"},
        {"name": "a", "tags": [1]},
        {"name": "a", "more": []},
        {"name": "a", "more": {"x": "y"}},
        {"name": "a", "plain": []},
        ["name", "a"],
        "a",
        None,
    ],
)
def test_wrong_shapes_are_refused(data: Any) -> None:
    with pytest.raises(BadRecord):
        decode(Leaf, data)


def test_the_refusal_names_what_and_where() -> None:
    with pytest.raises(BadRecord, match=r"UserMessage: Text: expected str, got int"):
        decode(UserMessage, {"id": "x", "parts": [{"type": "text", "text": 1}]})
    with pytest.raises(BadRecord, match=r"UserMessage: 'parts' is missing"):
        decode(UserMessage, {"id": "x"})


def test_a_plain_union_takes_what_fits() -> None:
    assert decode(Leaf, {"name": "a", "plain": "x"}).plain == "x"
    assert decode(Leaf, {"name": "a", "plain": 7}).plain == 7


@pytest.mark.parametrize("tag", ["from_tomorrow", None, 3, ["list"], {"a": 1}])
def test_an_unknown_kind_is_kept_as_it_came(tag: Any) -> None:
    shape: Any = Item
    data = {"type": tag, "id": "x", "novel": [1, 2]}
    item = decode(shape, data)
    assert item == Unknown(data)
    assert encode(item) == data
    assert item.id == "x"


def test_a_union_without_a_place_for_the_unknown_refuses_it() -> None:
    with pytest.raises(BadRecord, match="unknown type 'hologram'"):
        decode(UserMessage, {"id": "x", "parts": [{"type": "hologram"}]})


def test_lists_and_maps_are_written_as_such() -> None:
    assert encode({"a": (Text("x"),)}) == {"a": [{"type": "text", "text": "x"}]}
