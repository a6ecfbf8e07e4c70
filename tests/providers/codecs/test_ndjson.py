"""Bytes to records: one a line, empty lines are none, a cut one is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import BadAnswer
from askd.providers.codecs.lines import LINE_LIMIT_BYTES
from askd.providers.codecs.ndjson import RecordSplitter


def split_all(*chunks: bytes) -> list[str]:
    """What one splitter makes of these chunks."""
    splitter = RecordSplitter()
    return [record for chunk in chunks for record in splitter.feed(chunk)]


@given(st.integers(0, 60))
def test_any_cut_gives_the_same_records(place: int) -> None:
    whole = '{"a":"é\u2028\x85😀"}\r\n\n \t\n{"b":1}\r{"c":2}\n'.encode()
    expected = ['{"a":"é\u2028\x85😀"}', '{"b":1}', '{"c":2}']
    assert split_all(whole[:place], whole[place:]) == expected


def test_record_without_its_end_is_none() -> None:
    assert split_all(b'{"a":1}\n{"done":true}') == ['{"a":1}']


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert split_all(b"a\xffb\n") == ["a\ufffdb"]


def test_caps_are_those_of_lines() -> None:
    with pytest.raises(BadAnswer, match="longer than 1 MiB"):
        split_all(b"x" * (LINE_LIMIT_BYTES + 1))
