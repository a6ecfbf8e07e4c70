"""Hypothesis strategies for the core's values, made from their annotations.

A new body, item or field is covered without a word here.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from askd.core.events import Body, Event, UnknownBody
from askd.core.items import Item, Unknown

# Finite: the log holds JSON, and so does the wire. No surrogates: neither can carry one.
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
RAW = st.dictionaries(TEXTS, JSON, max_size=3).map(lambda raw: {**raw, "type": "from_tomorrow"})
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(0, 2**53),
    float: FLOATS,
    bool: st.booleans(),
    Any: JSON,
    type(None): st.none(),
}


def make(shape: Any) -> st.SearchStrategy[Any]:
    """Any value of this annotation."""
    origin, arguments = typing.get_origin(shape), typing.get_args(shape)
    if shape in SCALARS:
        return SCALARS[shape]
    if shape in (Unknown, UnknownBody):
        return st.builds(shape, raw=RAW)
    if dataclasses.is_dataclass(shape):
        hints = typing.get_type_hints(shape)
        fields = {field.name: make(hints[field.name]) for field in dataclasses.fields(shape)}
        return st.builds(typing.cast("Any", shape), **fields)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([make(each) for each in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(make(arguments[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(TEXTS, make(arguments[1]), max_size=3)
    raise TypeError(f"no strategy for {shape!r}")


BODIES: st.SearchStrategy[Body] = make(Body)
ITEMS: st.SearchStrategy[Item] = make(Item)
BODY_TYPES = [each for each in typing.get_args(Body) if each is not UnknownBody]


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Any bodies in any order, as one log; ids are few, so that they meet."""
    bodies = draw(st.lists(BODIES, max_size=30))
    ids = st.sampled_from(["t", "u", "v"])
    events = []
    for seq, body in enumerate(bodies, start=1):
        named = {
            field.name: draw(ids)
            for field in dataclasses.fields(body)
            if field.name in ("turn_id", "question_id", "through_turn", "restored", "item_id")
        }
        changed = dataclasses.replace(typing.cast("Any", body), **named)
        events.append(Event("c", seq, float(seq), changed))
    return events
