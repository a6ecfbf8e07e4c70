"""Bytes to server-sent events: cuts do not matter, line ends do, caps hold."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import BadAnswer
from askd.providers.codecs.lines import LINE_LIMIT_BYTES
from askd.providers.codecs.sse import EventSplitter, ServerEvent

PIECES = st.sampled_from(
    [
        "data: one",
        "data:two",
        "event: ping",
        ": comment",
        "id: 7",
        "data",
        "data: \u2028x\x85y\x0b",
        "",
    ]
)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def split_all(*chunks: bytes) -> list[ServerEvent]:
    """What one splitter makes of these chunks."""
    splitter = EventSplitter()
    return [event for chunk in chunks for event in splitter.feed(chunk)]


@given(st.lists(st.tuples(PIECES, LINE_ENDS)), st.data())
def test_any_cut_gives_the_same_events(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    whole = "".join(text + end for text, end in lines).encode()
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=8).map(sorted))
    bounds = [0, *places, len(whole)]
    chunks = [whole[start:end] for start, end in pairwise(bounds)]
    assert split_all(*chunks) == split_all(whole)
    assert split_all(*(bytes([byte]) for byte in whole)) == split_all(whole)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_ends_a_line(end: bytes) -> None:
    stream = end.join([b"event: note", b"data: a", b"data:b", b"", b"data: c", b"", b""])
    assert split_all(stream) == [ServerEvent("note", "a\nb"), ServerEvent("message", "c")]


def test_other_separators_are_content() -> None:
    text = '{"c":"a\u2028b\x85c\x0bd"}'
    assert split_all(f"data: {text}\n\n".encode()) == [ServerEvent("message", text)]


def test_event_is_given_as_soon_as_its_empty_line_is() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: x\r") == []
    assert splitter.feed(b"\r") == [ServerEvent("message", "x")]
    assert splitter.feed(b"\ndata: y\n\n") == [ServerEvent("message", "y")]


def test_what_is_no_data_is_passed_over() -> None:
    assert split_all(b"\xef\xbb\xbf: hi\nretry: 5\nevent: lonely\n\ndata: x\n\n: end\n\n") == [
        ServerEvent("message", "x")
    ]


def test_character_cut_in_two_is_whole_again() -> None:
    encoded = "data: é€😀\n\n".encode()
    for place in range(len(encoded)):
        assert split_all(encoded[:place], encoded[place:]) == [ServerEvent("message", "é€😀")]


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert split_all(b"data: a\xffb\n\n") == [ServerEvent("message", "a\ufffdb")]


def test_line_without_an_end_is_refused() -> None:
    splitter = EventSplitter()
    splitter.feed(b"data: " + b"x" * (LINE_LIMIT_BYTES - 6))
    with pytest.raises(BadAnswer, match="longer than 1 MiB"):
        splitter.feed(b"x")


def test_event_without_an_end_is_refused() -> None:
    splitter = EventSplitter()
    line = b"data: " + b"x" * (1 << 19) + b"\n"
    for _ in range(7):
        splitter.feed(line)
    with pytest.raises(BadAnswer, match="larger than 4 MiB"):
        splitter.feed(line)


def test_stream_without_an_end_is_refused() -> None:
    splitter = EventSplitter()
    comment = (b": " + b"x" * 1021 + b"\n") * 1024
    for _ in range(64):
        assert splitter.feed(comment) == []
    with pytest.raises(BadAnswer, match="larger than 64 MiB"):
        splitter.feed(b"\n")
