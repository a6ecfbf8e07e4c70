"""The shapes of the contract, demanded of what the fake daemon gets and says."""

import dataclasses
from collections.abc import Mapping
from typing import Any


def check_shape(shape: type, value: Mapping[str, Any]) -> None:
    """Demand that a map has the fields of a dataclass: none unknown, none missing."""
    fields = {each.name: each for each in dataclasses.fields(shape)}
    unknown = set(value) - set(fields)
    assert not unknown, f"{shape.__name__} has no {sorted(unknown)}"
    missing = find_required(shape) - set(value)
    assert not missing, f"{shape.__name__} lacks {sorted(missing)}"


def find_required(shape: type) -> set[str]:
    """The fields of a dataclass that have no default."""
    return {
        each.name
        for each in dataclasses.fields(shape)
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
    }
