"""Our own export is one JSON object, whatever the log holds."""

import json
from typing import Any

from hypothesis import given

from askd.core.conversation import fold
from askd.core.events import Event, ItemAdded
from askd.core.items import Blob, UserMessage
from askd.core.portable import FORMAT, JsonExport, read_export
from tests.core.values import logs


def export(log: list[Event], contents: dict[str, bytes]) -> dict[str, Any]:
    exporter = JsonExport(fold("c", log))
    text = exporter.begin()
    for event in log:
        text += exporter.feed(event, contents)
    found: dict[str, Any] = json.loads(text + exporter.end())
    return found


@given(logs())
def test_any_log_is_one_object(log: list[Event]) -> None:
    found = export(log, {})
    assert (found["format"], found["version"], found["id"]) == (FORMAT, 1, "c")
    assert [each["seq"] for each in found["events"]] == [event.seq for event in log]
    assert [each["payload"] for each in read_export(found)] == found["events"]
    assert {"role", "content", "at"} <= set(found["messages"][0]) if found["messages"] else True


def test_a_blob_is_with_the_first_event_that_names_it() -> None:
    body = ItemAdded("t", UserMessage("u", (Blob("d", 2, "text/plain"),)))
    found = export([Event("c", 1, 1.0, body), Event("c", 2, 2.0, body)], {"d": b"hi"})
    assert found["events"][0]["blobs"] == {"d": "aGk="}
    assert "blobs" not in found["events"][1]
    assert [each["type"] for each in read_export(found)] == ["ask_blob", "ask_event", "ask_event"]


def test_what_is_no_export_has_no_events() -> None:
    values: list[Any] = [None, [], {}, {"events": 5}]
    for value in values:
        assert list(read_export(value)) == []
    assert [each["type"] for each in read_export({"events": [5]})] == ["ask_event"]
