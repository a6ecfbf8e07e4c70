"""Frames: what is a message, what is not, and that nothing else comes out of bytes."""

import contextlib
import gc
import random
import struct
import tracemalloc
import weakref
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask.protocol.frames import (
    REQUEST_MEMBER_LIMIT,
    SLICE_BYTES,
    BadFrame,
    FrameReader,
    Message,
    MessageTooLarge,
    Notification,
    Request,
    Response,
    encode_notification,
    encode_request,
    encode_response,
)
from ask.protocol.messages import (
    CONTAINER_LIMIT,
    HELLO_LIMIT_BYTES,
    MESSAGE_LIMIT_BYTES,
    NESTING_LIMIT,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.binary(max_size=20)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=12
)
maps = st.dictionaries(texts, values, max_size=5)
ids = st.integers(0, 2**32 - 1)
errors = st.fixed_dictionaries({"code": st.integers(1, 143), "message": texts, "data": maps})
messages = st.one_of(
    st.builds(Request, ids, texts, maps),
    st.builds(Response, ids, st.none() | errors, values),
    st.builds(Notification, texts, maps),
)


def encode(message: Message) -> bytes:
    match message:
        case Request(id=id, method=method, params=params):
            return encode_request(id, method, params)
        case Response(id=id, error=error, result=result):
            return encode_response(id, error, result)
        case Notification(method=method, params=params):
            return encode_notification(method, params)


def refuse(data: bytes, *, reader: FrameReader | None = None) -> BadFrame:
    """Feed what must be refused; the reader must stay dead afterwards."""
    reader = reader or FrameReader()
    with pytest.raises(BadFrame) as caught:
        reader.feed(data)
    with pytest.raises(BadFrame, match="earlier"):
        reader.feed(encode_notification("x", {}))
    return caught.value


def nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def request_of(size: int) -> bytes:
    """A valid request of exactly `size` bytes, for sizes that need a 32-bit length."""
    empty = len(msgpack.packb([0, 1, "m", [{"x": b"x" * 70_000}]])) - 70_000
    return bytes(msgpack.packb([0, 1, "m", [{"x": b"x" * (size - empty)}]]))


@settings(max_examples=50)
@given(st.lists(messages, max_size=4), st.data())
def test_messages_come_out_as_they_went_in_however_they_are_cut(
    sent: list[Message], data: st.DataObject
) -> None:
    stream = b"".join(map(encode, sent))
    reader = FrameReader()
    got: list[Message] = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        got += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert got == sent
    assert reader.unfinished == 0


@given(messages)
def test_a_message_is_unfinished_until_its_last_byte(message: Message) -> None:
    frame = encode(message)
    reader = FrameReader()
    for fed in range(1, len(frame)):
        assert reader.feed(frame[fed - 1 : fed]) == []
        assert reader.unfinished == fed
    assert reader.feed(frame[-1:]) == [message]


def test_the_published_shape_is_what_is_sent() -> None:
    assert msgpack.unpackb(encode_request(7, "m", {"a": 1})) == [0, 7, "m", [{"a": 1}]]
    assert msgpack.unpackb(encode_response(7, None, {"a": 1})) == [1, 7, None, {"a": 1}]
    assert msgpack.unpackb(encode_notification("n", {"a": 1})) == [2, "n", [{"a": 1}]]


@pytest.mark.parametrize(
    "value",
    [
        5,
        {},
        [],
        [0],
        [0, 1, "m"],
        [0, 1, "m", [{}], 4],
        [3, 1, "m", [{}]],
        [True, 1, None, {}],
        [False, 1, "m", [{}]],
        [0.0, 1, "m", [{}]],
        [0, -1, "m", [{}]],
        [0, 2**32, "m", [{}]],
        [0, True, "m", [{}]],
        [0, 1.0, "m", [{}]],
        [0, "1", "m", [{}]],
        [0, 1, b"m", [{}]],
        [0, 1, None, [{}]],
        [1, 1, None],
        [2, "n", [{}], 1],
        [2, 1, [{}]],
        ["0", 1, "m", [{}]],
        [2, "n", {}],
        [2, "n", [[]]],
        [2, "n", [{}, {}]],
    ],
)
def test_what_is_no_message_is_refused_without_an_id(value: Any) -> None:
    assert refuse(msgpack.packb(value)).id is None


@pytest.mark.parametrize(
    "value",
    [
        [0, 9, "m", []],
        [0, 9, "m", {}],
        [0, 9, "m", None],
        [0, 9, "m", [{}, {}]],
        [0, 9, "m", [[]]],
        [1, 9, "text", None],
        [1, 9, {"code": 1}, None],
        [1, 9, {"code": "1", "message": "", "data": {}}, None],
    ],
)
def test_what_is_nearly_a_message_is_refused_with_its_id(value: Any) -> None:
    assert refuse(msgpack.packb(value)).id == 9


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xc1", "FormatError"),
        (b"\xdd\xff\xff\xff\xff", "ValueError"),  # a list of 2**32-1
        (b"\xdf\xff\xff\xff\xff", "ValueError"),
        (b"\xc9\xff\xff\xff\xff\x01", "ValueError"),
        (b"\x93\x02\xa1\xff\x90", "Unicode"),
        (b"\x91" * 2000, "StackError"),
        (msgpack.packb([2, "n", [{"t": msgpack.Timestamp(1)}]]), "ValueError"),
        (msgpack.packb([2, "n", [{"t": msgpack.ExtType(5, b"abc")}]]), "ValueError"),
        (msgpack.packb([2, "n", [{"t": msgpack.ExtType(5, b"")}]]), "extension"),
        (msgpack.packb([2, "n", [{"t": float("nan")}]]), "finite"),
        (msgpack.packb([2, "n", [{"t": [1, float("inf")]}]]), "finite"),
        (msgpack.packb([2, "n", [{b"k": 1}]]), "string"),
        (msgpack.packb([2, "n", [{5: 1}]]), "ValueError"),
        (b"\x93\x02\xa1n\x91\x82\xa1a\x01\xa1a\x02", "twice"),
        (b"\x93\x02\xa1n\x91\x81\xa1a\x82\xa1b\xc0\xa1b\xc0", "twice"),
    ],
)
def test_bytes_that_break_a_rule_are_refused(data: bytes, why: str) -> None:
    assert why in str(refuse(data))


def test_nesting_to_the_limit_is_read_and_one_deeper_is_refused() -> None:
    params = {"a": nest(NESTING_LIMIT - 3)}
    assert FrameReader().feed(encode_request(1, "m", params)) == [Request(1, "m", params)]
    deeper = msgpack.packb([0, 1, "m", [{"a": nest(NESTING_LIMIT - 2)}]])
    assert "nested" in str(refuse(deeper))
    assert "nested" in str(refuse(msgpack.packb([2, "n", [{"a": nest(900)}]])))


def test_containers_to_the_limit_are_read_and_one_more_is_refused() -> None:
    def message(inner: int) -> bytes:
        halves = [[[]] * (inner // 2), [{}] * (inner - inner // 2)]
        return bytes(msgpack.packb([2, "n", [{"a": halves}]]))

    # The message, its params, the map, "a" and its two halves are six of them.
    assert len(FrameReader().feed(message(CONTAINER_LIMIT - 6))) == 1
    assert "20000" in str(refuse(message(CONTAINER_LIMIT - 5)))


def test_a_message_of_the_limit_is_read_and_one_byte_more_is_refused() -> None:
    whole = request_of(MESSAGE_LIMIT_BYTES)
    assert len(whole) == MESSAGE_LIMIT_BYTES
    assert len(FrameReader().feed(whole + whole)) == 2
    assert "exceeds" in str(refuse(request_of(MESSAGE_LIMIT_BYTES + 1)))


@pytest.mark.parametrize(
    "beginning",
    [
        b"\xdc\x4e\x20",  # a list of 20,000, each 1000 bytes
        b"\xc6\xff\xff\xff\xff",  # 4 GiB of bytes
        b"\xdb\xff\xff\xff\xff",  # 4 GiB of text
    ],
)
def test_an_endless_message_is_refused_at_the_limit(beginning: bytes) -> None:
    reader = FrameReader()
    reader.feed(beginning)
    endless = (b"\xc5\x03\xe8" + b"x" * 1000) * (MESSAGE_LIMIT_BYTES // 1000)
    with pytest.raises(BadFrame, match="exceeds"):
        reader.feed(endless)
    assert MESSAGE_LIMIT_BYTES < reader.unfinished <= MESSAGE_LIMIT_BYTES + SLICE_BYTES


def test_the_first_message_to_a_daemon_is_small_and_the_later_ones_are_not() -> None:
    hello = request_of(HELLO_LIMIT_BYTES + 10_000)
    assert "65536" in str(refuse(hello, reader=FrameReader.for_daemon()))
    small = encode_request(1, "hello", {})
    reader = FrameReader.for_daemon()
    assert len(reader.feed(small + request_of(MESSAGE_LIMIT_BYTES))) == 2


def test_lists_that_only_announce_take_little_memory() -> None:
    bomb = struct.pack(">BI", 0xDD, REQUEST_MEMBER_LIMIT) * 1000
    tracemalloc.start()
    try:
        assert FrameReader.for_daemon().feed(bomb) == []
        assert tracemalloc.get_traced_memory()[1] < 10 * 1024 * 1024
    finally:
        tracemalloc.stop()
    more = struct.pack(">BI", 0xDD, REQUEST_MEMBER_LIMIT + 1)
    assert "ValueError" in str(refuse(more, reader=FrameReader.for_daemon()))


def test_nothing_of_a_reader_waits_for_the_garbage_collector() -> None:
    gc.disable()
    try:
        for data in (b"\xdd\x00\x00\x10\x00", encode_request(1, "m", {}), b"\xc1"):
            reader = FrameReader()
            with contextlib.suppress(BadFrame):
                reader.feed(data)
            gone = weakref.ref(reader)
            del reader
            assert gone() is None
    finally:
        gc.enable()


def test_whole_messages_before_a_bad_one_are_handed_out_with_it() -> None:
    good = Request(1, "m", {})
    assert refuse(encode(good) + b"\xc1").messages == [good]


def test_a_message_too_large_is_not_sent() -> None:
    with pytest.raises(MessageTooLarge) as caught:
        encode_notification("n", {"x": b"x" * MESSAGE_LIMIT_BYTES})
    assert caught.value.size > MESSAGE_LIMIT_BYTES


def test_half_a_surrogate_pair_becomes_one_character() -> None:
    (message,) = FrameReader().feed(encode_notification("n", {"text": "a\ud800b"}))
    assert message == Notification("n", {"text": "a?b"})


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_are_messages_or_refused(data: bytes, prefix: int) -> None:
    reader = FrameReader(first_limit=100)
    try:
        for message in reader.feed(encode_request(1, "m", {})[:prefix] + data):
            assert isinstance(message, Request | Response | Notification)
    except BadFrame:
        pass


def test_a_hundred_thousand_damaged_frames_are_messages_or_refused() -> None:
    chance = random.Random(20_000)
    whole = [
        encode_request(3, "turn/start", {"target": {"kind": "new"}, "parts": [{"text": "x" * 40}]}),
        encode_response(3, {"code": 1, "message": "m", "data": {}}),
        encode_notification("delta", {"offset": 5, "text": "é\u2028", "live": [1.5, None, b"b"]}),
    ]
    read = refused = 0
    for _ in range(100_000):
        frame = bytearray(chance.choice(whole))
        for _ in range(chance.randrange(3)):
            frame[chance.randrange(len(frame))] = chance.randrange(256)
        del frame[chance.randrange(len(frame) * 4) + 1 :]
        try:
            read += len(FrameReader().feed(frame))
        except BadFrame:
            refused += 1
    assert read > 10_000
    assert refused > 10_000


def test_a_reader_takes_memory_when_something_comes() -> None:
    """A hundred terminals are a hundred readers, and so are six hundred silent peers."""
    tracemalloc.start()
    try:
        readers = [FrameReader.for_daemon() for _ in range(10)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size / len(readers) < 4 * SLICE_BYTES
