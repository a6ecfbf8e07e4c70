"""Every line is read by itself; what is broken costs itself and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askd.core.rollout_lines import (
    LAST_TIME,
    Line,
    Skipped,
    encode_line,
    format_time,
    read_json,
    read_lines,
    read_time,
)
from tests.core.rollouts import GENUINE, name_of
from tests.core.values import JSON


@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_a_genuine_line_cut_at_any_byte_is_skipped_and_never_raises(path: Path) -> None:
    for number, raw in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        before = b"\n" * (number - 1)
        for cut in range(1, len(raw) - 1):
            (found,) = read_lines(before + raw[:cut])
            assert isinstance(found, Skipped)
            assert found.number == number
        for whole in (raw, raw[:-1]):  # the line end may be what was torn off
            assert list(read_lines(before + whole)) == [Line(number, json.loads(raw))]


@given(st.binary(max_size=80), st.binary(max_size=80))
@example(b'{"a": 1}', b'{"b": "\xff"}\n[]')
def test_lines_do_not_know_each_other(one: bytes, other: bytes) -> None:
    shift = one.count(b"\n") + 1
    after = [
        Line(each.number + shift, each.record)
        if isinstance(each, Line)
        else Skipped(each.number + shift, each.why)
        for each in read_lines(other)
    ]
    assert list(read_lines(one + b"\n" + other)) == [*read_lines(one), *after]


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_what_was_written_is_read_again(record: dict[str, object]) -> None:
    written = encode_line(record)
    assert written.count(b"\n") == 1
    assert list(read_lines(written)) == [Line(1, record)]


def test_half_a_character_can_be_written_and_read() -> None:
    assert list(read_lines(encode_line({"a": "\ud800"}))) == [Line(1, {"a": "\ud800"})]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes (column 2)"),
        (b"\x00\x00{}", "it is not JSON: Expecting value (column 1)"),
        (b'{"a": "\xff"}', "it is not UTF-8 (byte 7)"),
        (b"[1]", "it is JSON, but no object"),
        (b'{"a": NaN}', "it is not JSON: NaN is no number"),
        (b'{"a": 1e999}', "a number in it is too large"),
        (b'{"a":' + b"[" * 100_000, "it is nested too deep"),
    ],
)
def test_a_bad_line_says_why(raw: bytes, why: str) -> None:
    assert list(read_lines(b"\n" + raw + b"\n{}")) == [Skipped(2, why), Line(3, {})]


def test_a_number_of_too_many_digits_is_no_json() -> None:
    with pytest.raises(ValueError, match="digits"):
        read_json(b"1" * 5000)


@given(st.floats(0, LAST_TIME))
def test_times_come_back_to_the_millisecond(at: float) -> None:
    back = read_time(format_time(at))
    assert back == pytest.approx(at, abs=0.0015, rel=0)


def test_times_that_no_calendar_has() -> None:
    assert format_time(1e300) == "9999-12-31T23:59:59.000Z"
    assert format_time(-5.0) == "1970-01-01T00:00:00.000Z"
    assert read_time("2026-01-02T03:04:05") == read_time("2026-01-02T04:04:05+01:00")
    none: list[Any] = ["", "yesterday", None, True, [], 1e300, -1, "1901-01-01T00:00:00Z"]
    for value in none:
        assert read_time(value) is None
    assert read_time(12) == 12.0
