"""Arguments: one spelling means the same; what stands for those too large can never be run."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.arguments import (
    canonical_arguments,
    find_refusal,
    leave_out_arguments,
    measure_arguments,
    warn_of_size,
)
from tests.core.values import JSON


@given(JSON)
def test_that_canonical_arguments_mean_the_same(value: Any) -> None:
    canonical = canonical_arguments(json.dumps(value))

    assert json.loads(canonical) == value
    assert canonical_arguments(canonical) == canonical


@pytest.mark.parametrize("text", ["{", "nul", "[" * 100_000, "\ud800", '{"a": NaN'])
def test_that_what_is_no_json_stays_as_it_is(text: str) -> None:
    assert canonical_arguments(text) == text


def test_that_no_arguments_are_an_empty_object() -> None:
    assert canonical_arguments("") == "{}"


@given(st.integers(0, 1 << 40))
def test_what_stands_for_them_is_json_and_no_object_and_is_known_again(size: int) -> None:
    stand_in = leave_out_arguments(size)
    assert isinstance(json.loads(stand_in), str)
    assert f"{size:,} bytes" in (find_refusal(stand_in) or "")
    assert measure_arguments(stand_in) < 1024


def test_other_arguments_are_no_refusal() -> None:
    for other in ("", "{}", '{"a": "[Left out: x]"}', '"[Left', '"[Left out: ', '"x"', "null"):
        assert find_refusal(other) is None


def test_a_lone_surrogate_is_measured_as_it_will_be_stored() -> None:
    assert measure_arguments('"\ud800é"') == 5


def test_people_are_told_which_call_it_was() -> None:
    assert warn_of_size("write_file", 5_000_000).startswith(
        "The model called write_file with 5,000,000 bytes"
    )
    assert "\x1b" not in warn_of_size("\x1b]0;t\x07", 1)
