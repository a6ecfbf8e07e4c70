"""Lines of a program: whatever it writes, only so much is kept, and what a long one answered."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.mcp import lines
from askd.tools.mcp.lines import (
    _TOKEN,
    EDGE_BYTES,
    MOST_PIECES,
    Lines,
    Pieces,
    TooLong,
    find_answered,
    is_asked,
    is_overloaded,
)

LIMIT = 10_000


@given(
    st.lists(st.binary(max_size=40).map(lambda each: each.replace(b"\n", b"")), max_size=20),
    st.integers(min_value=1, max_value=50),
)
def test_lines_come_out_as_they_went_in_however_they_were_cut(
    whole: list[bytes], size: int
) -> None:
    data = b"".join(each + b"\n" for each in whole)
    lines = Lines(LIMIT)
    found = [line for k in range(0, len(data), size) for line in lines.feed(data[k : k + size])]
    assert found == whole
    assert lines.pending_bytes == 0


@given(
    st.integers(min_value=LIMIT + 1, max_value=LIMIT * 5),
    st.integers(min_value=1, max_value=LIMIT * 2),
)
def test_of_a_long_line_the_edges_are_kept_and_the_next_one_is_whole(total: int, size: int) -> None:
    data = bytes(k % 251 + 1 for k in range(total)).replace(b"\n", b"x")
    lines = Lines(LIMIT)
    fed = data + b"\nnext\n"
    found = [line for k in range(0, len(fed), size) for line in lines.feed(fed[k : k + size])]
    assert found == [TooLong(data[:EDGE_BYTES], data[-EDGE_BYTES:], total), b"next"]


def test_a_line_without_end_takes_no_more_memory() -> None:
    lines = Lines(LIMIT)
    for _ in range(100):
        assert list(lines.feed(b"x" * LIMIT)) == []
        assert len(lines._kept) <= LIMIT
    assert lines.pending_bytes == 100 * LIMIT


def make_edges(line: str) -> tuple[bytes, bytes]:
    return line[:EDGE_BYTES].encode(), line[-EDGE_BYTES:].encode()


RESULT = {"content": [{"type": "text", "text": "x" * 20_000}]}


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 7, "result": RESULT},
        {"id": 7, "jsonrpc": "2.0", "result": RESULT},
        {"id": 7, "result": RESULT, "jsonrpc": "2.0"},
        {"result": RESULT, "jsonrpc": "2.0", "id": 7},
        {"jsonrpc": "2.0", "result": RESULT, "id": 7},
        {"result": RESULT, "id": 7, "jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "x" * 20_000}},
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_the_request_that_a_long_answer_answers(
    message: object, separators: tuple[str, str]
) -> None:
    edges = make_edges(json.dumps(message, separators=separators))
    assert find_answered(*edges) == 7
    assert not is_asked(edges[0])


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"a":"' + "x" * 9000 + '"}}',
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"a":"' + "x" * 9000 + '"}}',
        '{"method":"notifications/message","params":{"a":"' + "x" * 9000 + '","id":7}}',
    ],
)
def test_a_long_request_is_no_answer(line: str) -> None:
    edges = make_edges(line)
    assert find_answered(*edges) is None
    assert is_asked(edges[0])


@pytest.mark.parametrize(
    "line",
    [
        "x" * 9000,
        '{"content":"' + "x" * 9000 + '","id":7}',
        '{"jsonrpc":"2.0","result":{"a":"' + "x" * 9000 + '","id":7}}',
        '{"jsonrpc":"2.0","id":"seven","result":"' + "x" * 9000 + '"}',
        '{"jsonrpc":"2.0","result":{},"more":"' + "x" * 9000 + ',\\"id\\":7}',
    ],
)
def test_what_cannot_be_told_is_not_guessed(line: str) -> None:
    edges = make_edges(line)
    assert find_answered(*edges) is None
    assert not is_asked(edges[0])


def test_a_short_message_of_a_million_things_is_too_much() -> None:
    assert is_overloaded(b"[" + b"{}," * (MOST_PIECES // 2) + b"{}]")
    assert not is_overloaded(b'"' + b"a long text. " * 100_000 + b'"')
    table = b"1,2,3,{4},[5]\\n" * MOST_PIECES
    assert not is_overloaded(b'{"text":"' + table + b'"}'), "what stands in a text is none of it"
    assert is_overloaded(b'{"text":"\\"",' + b"[]," * MOST_PIECES + b'"end":"')


@pytest.mark.parametrize(
    "line",
    [
        b'"' * 2_000_000,
        b'"\\' * 1_000_000,
        b'"\\"' * 700_000 + b"," * MOST_PIECES,
        b"\\," * 1_000_000,
    ],
)
def test_nonsense_is_looked_at_once(line: bytes) -> None:
    assert count_looks(line) <= 3 * MOST_PIECES + 5
    is_overloaded(line)  # it ends


def count_looks(line: bytes) -> int:
    """Tokens until it is known what a line is."""
    tokens = enumerate(_TOKEN.finditer(line), 1)
    return next((k for k, _ in tokens if k > 3 * MOST_PIECES + 4), 0)


def count_events(data: bytes, size: int, *, by_event: bool = True) -> bool:
    pieces = Pieces(by_event=by_event)
    return any(pieces.feed(data[k : k + size]) for k in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 100_000])
def test_pieces_of_a_stream_are_counted_however_it_comes(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_PIECES", 20)
    text = b'data: {"a":"' + b'1,2,[3],{\\"4\\\\' * 20 + b'"}\n\n'
    assert not count_events(text * 5, size), "what stands in a text is none of it"
    few = b"data: [" + b"[]," * 8 + b"1]\n\n"
    assert not count_events(few * 5, size), "each event is counted by itself"
    assert count_events(few * 5, size, by_event=False)
    many = b"data: [" + b"[]," * 12 + b"1]\n\n"
    assert count_events(many, size)
    assert count_events(b': "\n' + many, size), "a comment hides nothing"
    assert count_events(b'data: "\\\n' + many, size)
    assert count_events(b'data: "a\r' + many, size)
