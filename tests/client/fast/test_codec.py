"""The own codec against the library, both ways, and against everything that is no message."""

import math
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.fast import codec
from ask.fast.codec import Answer, BadMessage, Decoder, encode, needs_blob
from ask.protocol import messages

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=30,
)


def decode_one(data: bytes) -> Any:
    (value,) = Decoder().feed(data)
    return value


@given(values)
def test_it_writes_what_the_library_writes(value: Any) -> None:
    assert encode(value) == msgpack.packb(value)


@given(values)
def test_it_reads_what_the_library_writes(value: Any) -> None:
    found = decode_one(msgpack.packb(value))
    assert found == value
    assert repr(found) == repr(value)  # 1, 1.0 and True are equal, and not the same


@given(st.lists(values, max_size=4), st.data())
def test_any_cut_of_the_stream_gives_the_same_values(parts: list[Any], data: Any) -> None:
    stream = b"".join(msgpack.packb(part) for part in parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    decoder, found = Decoder(), []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += decoder.feed(stream[begin:end])
    assert found == parts
    assert decoder.unfinished == 0


@given(st.binary(max_size=200))
def test_it_never_fails_in_another_way(data: bytes) -> None:
    decoder = Decoder()
    try:
        decoder.feed(data)
    except BadMessage:
        return
    assert decoder.unfinished <= len(data)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536, 70000])
def test_lengths_at_their_borders(size: int) -> None:
    for value in ("x" * size, b"x" * size, [None] * size, {str(n): n for n in range(size)}):
        assert encode(value) == msgpack.packb(value)
        assert decode_one(encode(value)) == value


@pytest.mark.parametrize("power", [0, 5, 7, 8, 15, 16, 31, 32, 63])
def test_integers_at_their_borders(power: int) -> None:
    for value in (2**power - 1, 2**power, -(2**power), -(2**power) - 1 if power < 63 else 0):
        assert encode(value) == msgpack.packb(value)
        assert decode_one(encode(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xc1", id="a tag that is never used"),
        pytest.param(b"\xd4\x01x", id="an ext type"),
        pytest.param(b"\xca\x00\x00\x00\x00", id="float32"),
        pytest.param(b"\xa1\xff", id="a string that is not UTF-8"),
        pytest.param(b"\x81\x01\x02", id="a key that is no string"),
        pytest.param(b"\x82\xa1a\x01\xa1a\x02", id="a key twice"),
        pytest.param(msgpack.packb(math.nan), id="NaN"),
        pytest.param(b"\x91" * 33 + b"\xc0", id="too deep"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="a list of four billions"),
        pytest.param(b"\xc6\x00\x20\x00\x00", id="2 MiB announced"),
        pytest.param(msgpack.packb([[]] * 20_000), id="too many containers"),
        pytest.param(msgpack.packb(["x" * 600_000] * 2), id="more than 1 MiB"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(BadMessage):
        Decoder().feed(data)


def test_the_deepest_and_the_fullest_message_are_read() -> None:
    assert decode_one(b"\x91" * 32 + b"\xc0") is not None
    assert len(decode_one(msgpack.packb([[]] * 19_999))) == 19_999


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, {1, 2}, object()])
def test_what_has_no_place_on_the_wire_is_not_written(value: Any) -> None:
    with pytest.raises(BadMessage):
        encode(value)


def test_the_limits_are_those_of_the_protocol() -> None:
    assert codec.MESSAGE_LIMIT_BYTES == messages.MESSAGE_LIMIT_BYTES
    assert codec.NESTING_LIMIT == messages.NESTING_LIMIT
    assert codec.CONTAINER_LIMIT == messages.CONTAINER_LIMIT


# ---- the account of what was shown -------------------------------------------------

ACCEPTED: dict[str, Any] = {"conversation_id": "c", "turn_id": "t", "seq": 3}


@given(st.text(min_size=1), st.data())
def test_every_character_is_shown_once(text: str, data: Any) -> None:
    """Whatever deltas come, again, cut anew, after holes: the whole item completes them."""
    said = Answer(ACCEPTED)
    shown = ""
    for _ in range(data.draw(st.integers(0, 8))):
        begin = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(begin + 1, len(text)))
        fragment = {"turn_id": "t", "item_id": "i", "kind": "text"}
        shown += said.read_delta({**fragment, "offset": begin, "text": text[begin:end]})
        assert text.startswith(shown)
    item = {"type": "assistant_message", "id": "i", "parts": [{"type": "text", "text": text}]}
    event = {"conversation_id": "c", "turn_id": "t", "type": "item_added", "item": item}
    shown += said.read_event({**event, "seq": 4})
    assert shown == text
    assert said.read_event({**event, "seq": 4}) == ""  # an event that comes twice counts once


def test_items_that_are_no_answer_are_not_shown() -> None:
    said = Answer(ACCEPTED)
    item = {"type": "user_message", "id": "i", "parts": [{"type": "text", "text": "mine"}]}
    event = {"conversation_id": "c", "seq": 4, "turn_id": "t", "type": "item_added", "item": item}
    assert said.read_event(event) == ""
    assert said.read_event({**event, "seq": 5, "conversation_id": "other"}) == ""
    assert not needs_blob(event)
