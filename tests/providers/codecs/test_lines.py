"""Bytes to lines: cuts do not matter, three line ends do and nothing else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import BadAnswer
from askd.providers.codecs.lines import LINE_LIMIT_BYTES, STREAM_LIMIT_BYTES, LineSplitter

PIECES = st.sampled_from(
    [b"a", b"\xc3\xa9", b"\xe2\x80\xa8", b"\x85\x0b\x0c", b"\n", b"\r", b"\r\n"]
)


def split_all(*chunks: bytes) -> list[bytes]:
    """What one splitter makes of these chunks."""
    splitter = LineSplitter()
    return [line for chunk in chunks for line in splitter.feed(chunk)]


@given(st.lists(st.lists(PIECES, max_size=6).map(b"".join), max_size=8))
def test_any_cut_gives_the_lines_of_the_whole(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    expected = re.split(rb"\r\n|\r|\n", whole)[:-1]
    assert split_all(*chunks) == split_all(whole) == expected
    assert split_all(*(bytes([byte]) for byte in whole)) == expected


def test_mark_ahead_of_the_first_line_alone_is_left_out() -> None:
    assert split_all(b"\xef\xbb", b"\xbfone\n\xef\xbb\xbftwo\n") == [b"one", b"\xef\xbb\xbftwo"]


def test_line_without_an_end_is_refused() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"x" * LINE_LIMIT_BYTES) == []
    with pytest.raises(BadAnswer, match="longer than 1 MiB"):
        splitter.feed(b"x")


def test_stream_without_an_end_is_refused() -> None:
    splitter = LineSplitter()
    piece = (b"x" * ((1 << 16) - 1) + b"\n") * 16
    for _ in range(STREAM_LIMIT_BYTES >> 20):
        assert len(splitter.feed(piece)) == 16
    with pytest.raises(BadAnswer, match="larger than 64 MiB"):
        splitter.feed(b"\n")
