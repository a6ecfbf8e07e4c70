"""Whatever happened to a file, its whole lines of ours are read, and nothing else is."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import Body, ConversationCreated, Event
from askd.core.rollout import RolloutWriter, encode_event
from askd.core.rollout_lines import encode_line
from askd.store.bodies import encode_text
from askd.store.recovery.mirrors import find_files, find_owner, read_mirror, read_row
from tests.core.values import BODIES
from tests.store.builders import answer, finish, prompt
from tests.store.recovery.ruins import encode

ID = "11111111-0000-4000-8000-000000000001"
BODY: list[Body] = [ConversationCreated(ID), prompt("t"), answer("t"), finish("t")]
EVENTS = [Event(ID, seq, 100.5 + seq, body) for seq, body in enumerate(BODY, start=1)]
CONTENT = encode(ID, EVENTS, {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "2026" / f"rollout-2026-01-01T00-00-00-{ID}.jsonl"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


def test_every_event_is_read_as_it_was(file: Path) -> None:
    found = read_mirror(file)
    assert [found.rows[seq].read(ID) for seq in sorted(found.rows)] == EVENTS
    assert (found.bad, found.torn) == (0, False)
    assert found.created_id == ID
    seq, size = found.find_offset()
    assert seq == 3
    assert CONTENT[:size].count(b"ask_event") == 3
    assert CONTENT[size:].startswith(b'{"timestamp"')


@given(BODIES, st.floats(0, 1e10))
def test_no_body_is_changed_by_the_way(body: Any, at: float) -> None:
    event = Event("c", 7, at, body)
    record = json.loads(encode_line(encode_event(event)))
    if record["event"].get("type") == "unreadable":
        return
    row = read_row(record)
    assert (row.seq, row.at, row.version, row.kind) == (7, at, event.version, event.type)
    assert row.text == encode_text(body)


def test_what_was_unreadable_goes_back_as_it_was() -> None:
    record = {"seq": 1, "at": 5.0, "version": 1}
    told = {"type": "unreadable", "of_type": "titled", "why": "torn", "text": '{"type'}
    row = read_row({**record, "event": told})
    assert (row.kind, row.text) == ("titled", '{"type')
    told = {"type": "unreadable", "of_type": "titled", "why": "no text", "base64": "/w=="}
    assert read_row({**record, "event": told}).text == b"\xff"


def test_of_a_newer_version_everything_is_kept() -> None:
    row = read_row({"seq": 1, "at": 5, "version": 9, "event": {"type": "titled", "x": [1]}})
    assert (row.version, row.text) == (9, '{"type":"titled","x":[1]}')


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"seq": 0, "at": 1, "version": 1, "event": {}},
        {"seq": True, "at": 1, "version": 1, "event": {}},
        {"seq": 1, "at": "now", "version": 1, "event": {}},
        {"seq": 1, "at": 1, "version": 0, "event": {}},
        {"seq": 1, "at": 1, "version": 1, "event": []},
        {
            "seq": 1,
            "at": 1,
            "version": 1,
            "event": {"type": "unreadable", "of_type": "x", "base64": "?"},
        },
    ],
)
def test_what_is_no_event_is_refused(record: Any) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        read_row(record)


def test_cut_anywhere_the_whole_lines_count(file: Path) -> None:
    for cut in range(0, len(CONTENT), 7):
        file.write_bytes(CONTENT[:cut])
        found = read_mirror(file)
        whole = CONTENT[:cut].rpartition(b"\n")[0]
        assert whole.count(b'"ask_event"') <= len(found.rows)
        assert found.bad == 0
        seq, size = found.find_offset()
        assert seq < len(EVENTS)
        assert CONTENT[:size].count(b'"ask_event"') == seq
        assert find_owner(file) in (ID, None)


def test_lines_of_others_stay_and_bad_ones_are_counted(file: Path) -> None:
    lines = CONTENT.splitlines(keepends=True)
    lines.insert(2, b"\xff\xfe{\n")
    lines.insert(4, b'{"type":"ask_event","payload":{}}\n')
    lines.append(b'{"type":"response_item","payload":{"type":"message"}}\n')
    file.write_bytes(b"".join(lines))
    found = read_mirror(file)
    assert len(found.rows) == len(EVENTS)
    assert found.bad == 2
    assert found.find_offset() == (0, 0), "it is to be written anew"
    file.write_bytes(CONTENT + lines[-1])
    found = read_mirror(file)
    assert (found.bad, found.find_offset()[0]) == (0, 3), "Codex went on with it"


def test_whose_a_file_is(file: Path) -> None:
    assert find_owner(file) == ID
    lines = CONTENT.splitlines(keepends=True)
    file.write_bytes(b"??\n" + b"".join(lines[1:]))
    assert find_owner(file) == ID, "its first line is damaged"
    file.write_bytes(b"?" * 100_000 + b"\n" + b"".join(lines[4:]))
    assert find_owner(file) == ID, "by its name"
    for content in (b"", b"\n", b"hello\n", b'{"type":"session_meta","payload":{"id":"x"}}\n'):
        file.write_bytes(content)
        assert find_owner(file) is None, content


def test_files_are_found_in_order_and_links_are_not_followed(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "2025" / "a.jsonl"
    other.parent.mkdir()
    other.write_bytes(b"")
    (tmp_path / "z.jsonl").symlink_to(other)
    (tmp_path / "2027").symlink_to(other.parent)
    (tmp_path / "2026" / "notes.txt").write_bytes(b"")
    assert list(find_files(tmp_path)) == [other, file]
    assert list(find_files(tmp_path / "none")) == []


def test_a_directory_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        list(find_files(tmp_path))


def test_lines_of_a_blob_belong_to_the_event_behind_them() -> None:
    writer = RolloutWriter(ID, provider="m", version="9")
    kinds = [each["type"] for each in writer.feed(EVENTS[0], {"a": b"x"})]
    assert kinds == ["session_meta", "ask_blob", "ask_event"]
