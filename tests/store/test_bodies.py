"""Bodies at rest: what was written comes back, what cannot be read is kept."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import VERSION, ItemAdded, UnknownBody, Unreadable
from askd.core.items import Notice
from askd.store.bodies import clean_text, decode_event, encode_text

any_text = st.text(st.characters())  # surrogates included


@given(any_text)
def test_any_text_survives(text: str) -> None:
    body = ItemAdded(None, Notice("n", text))
    stored = encode_text(body)
    stored.encode()  # else SQLite would refuse it
    event, fault = decode_event("c", 3, 5.0, body.TYPE, VERSION, stored)
    assert (event.body, fault) == (body, None)
    assert (event.conversation_id, event.seq, event.at, event.version) == ("c", 3, 5.0, VERSION)


@given(any_text)
def test_column_text_is_unicode_and_else_untouched(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    if not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert cleaned == text


def test_text_is_not_escaped_without_need() -> None:
    assert "größer" in encode_text(ItemAdded(None, Notice("n", "größer")))


def test_what_is_no_json_is_refused_before_it_is_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_text(UnknownBody(raw={"type": "x", "value": float("nan")}))
    with pytest.raises(TypeError):
        encode_text(UnknownBody(raw={"type": "x", "value": object()}))


def test_an_unknown_type_is_no_fault() -> None:
    event, fault = decode_event("c", 1, 1.0, "later", 1, '{"type":"later","x":1}')
    assert fault is None
    assert event.body == UnknownBody(raw={"type": "later", "x": 1})
    assert event.type == "later"


def test_a_newer_version_of_a_known_type_is_not_interpreted() -> None:
    event, fault = decode_event("c", 1, 1.0, "titled", VERSION + 1, '{"type":"titled","title":"x"}')
    assert fault is None
    assert event.body == UnknownBody(raw={"type": "titled", "title": "x"})
    assert event.version == VERSION + 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting property name"),
        ("[1]", "expected a map, got list"),
        ('{"type":"titled","title":7}', "Titled: expected str, got int"),
        ("[" * 5000, ""),
        ('{"type":"titled","title":"x","n":NaN}', "NaN is no JSON"),
        ('{"type":"titled","title":"x","n":1e999}', "a number in it is not finite"),
        (b'{"type":"titled","title":"\xff"}', "no text in UTF-8"),
        (b"\x00\x01", "Expecting value"),
        (None, "its content is no text"),
        (7, "its content is no text"),
        (2.5, "its content is no text"),
    ],
)
def test_a_bad_record_is_kept_and_named(text: object, why: str) -> None:
    event, fault = decode_event("c", 1, 1.0, "titled", 1, text)
    assert isinstance(event.body, Unreadable)
    assert fault == event.body.why
    assert why in fault
    assert "\n" not in fault
    assert (event.type, event.body.of_type) == ("unreadable", "titled")
    if isinstance(text, str):
        assert event.body.text == text
    else:
        content = text if isinstance(text, bytes) else str(text).encode()
        kept = event.body.text or base64.b64decode(event.body.base64 or "").decode("latin-1")
        assert kept == content.decode("latin-1")


GOOD = '{"type":"titled","title":"x"}'


@pytest.mark.parametrize(
    ("at", "kind", "version"),
    [
        *((at, "titled", 1) for at in (None, "soon", b"1", -1.0, 1e300, float("inf"))),
        *((1.0, kind, 1) for kind in (None, 7, b"titled", "renamed", "tit\ufffded")),
        *((1.0, "titled", version) for version in (None, 0, -1, 2**62, 1.5, "1", b"1")),
    ],
)
def test_what_stands_beside_a_body_counts_too(at: object, kind: object, version: object) -> None:
    event, fault = decode_event("c", 1, at, kind, version, GOOD)
    assert isinstance(event.body, Unreadable), "nothing of it is guessed"
    assert fault
    assert event.body.text == GOOD
    assert event.at in (0.0, 1.0)
    assert encode_text(event.body)


def test_of_what_cannot_be_read_the_turn_is_known_and_the_type_if_it_is_said_once() -> None:
    text = '{"type":"turn_finished","turn_id":"t","outcome":"odd"}'
    body = decode_event("c", 1, 1.0, "turn_finished", 1, text)[0].body
    assert isinstance(body, Unreadable)
    assert (body.of_type, body.turn_id) == ("turn_finished", "t")
    body = decode_event("c", 1, 1.0, "titled", 1, text)[0].body
    assert isinstance(body, Unreadable)
    assert (body.of_type, body.turn_id) == ("unknown", "t")


def test_what_was_salvaged_stays_what_it_is_when_it_is_written_elsewhere() -> None:
    text = '{"type":"item_unpinned","item_id":7}'
    body = decode_event("c", 1, 1.0, "item_unpinned", 1, text)[0].body
    again, fault = decode_event("d", 1, 1.0, body.TYPE, 1, encode_text(body))
    assert (again.body, fault) == (body, None)
