"""Bodies at rest: what was written comes back, what cannot be read is kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import VERSION, ItemAdded, UnknownBody
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
    ("text", "raw"),
    [
        ("{", {"type": "titled", "text": "{"}),
        ("[1]", {"type": "titled", "content": [1]}),
        ('{"type":"titled","title":7}', {"type": "titled", "title": 7}),
        ("[" * 5000, {"type": "titled", "text": "[" * 5000}),
    ],
)
def test_a_bad_record_is_kept_and_named(text: str, raw: dict[str, object]) -> None:
    event, fault = decode_event("c", 1, 1.0, "titled", 1, text)
    assert fault
    assert event.body == UnknownBody(raw=raw)
    assert event.type == "titled"


def test_what_was_salvaged_can_be_written_again() -> None:
    event, _ = decode_event("c", 1, 1.0, "titled", 1, '{"type":"titled","title":7}')
    assert json.loads(encode_text(event.body)) == {"type": "titled", "title": 7}
