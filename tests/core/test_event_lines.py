"""Our own events come back from their lines as they were; what is not one is refused."""

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given

from askd.core.event_lines import decode_blob, decode_event
from askd.core.events import Event, UnknownBody
from askd.core.rollout import encode_event
from askd.core.rollout_lines import Line, encode_line, read_lines
from tests.core.values import logs


@given(logs())
def test_events_to_lines_to_the_same_events(log: list[Event]) -> None:
    content = b"".join(encode_line(encode_event(event)) for event in log)
    lines = list(read_lines(content))
    assert all(isinstance(line, Line) for line in lines)
    assert [decode_event("c", line.record) for line in lines if isinstance(line, Line)] == log


def test_one_that_has_not_the_shape_of_its_type_is_kept_as_it_came() -> None:
    raw = {"type": "titled", "title": 5}
    event = decode_event("c", {"seq": 1, "at": 2.0, "version": 1, "event": raw})
    assert event.body == UnknownBody(raw)


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        {"seq": 0, "at": 1.0, "version": 1, "event": {}},
        {"seq": True, "at": 1.0, "version": 1, "event": {}},
        {"seq": 1, "at": "never", "version": 1, "event": {}},
        {"seq": 1, "at": 1.0, "version": 2, "event": {}},
        {"seq": 1, "at": 1.0, "version": 1, "event": []},
    ],
)
def test_what_is_no_event_is_refused(record: Any) -> None:
    with pytest.raises(ValueError, match="ask_event"):
        decode_event("c", record)


def test_a_blob_is_what_its_digest_says() -> None:
    digest = hashlib.sha256(b"hi").hexdigest()
    data = base64.b64encode(b"hi").decode()
    assert decode_blob({"sha256": digest, "base64": data}) == (digest, b"hi")
    bad = [None, {}, {"sha256": digest, "base64": "!"}, {"sha256": "0" * 64, "base64": data}]
    for record in bad:
        with pytest.raises(ValueError, match="ask_blob"):
            decode_blob(record)
