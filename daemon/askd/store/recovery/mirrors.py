"""The files that mirror conversations, read back: our own lines and nothing else.

A file may be torn, damaged or continued by Codex; every whole line of ours in
it counts. Files that Codex made are told apart by their first record. It
writes nothing, and follows no link out of the directory.
"""

import base64
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from askd.core.event_lines import decode_blob
from askd.core.events import ConversationCreated, UnknownBody
from askd.core.records import Json
from askd.core.rollout import BLOB_LINE, EVENT_LINE, MARK
from askd.core.rollout_lines import read_json
from askd.store.bodies import encode_text
from askd.store.recovery.rows import Row

HEAD_BYTES = 64 * 1024
"""The first record is a few hundred bytes; one that is longer is none of ours."""
ID_LENGTH = 36
"""Of a UUID, with which a file's name ends."""
UNREADABLE = "unreadable"
"""The type that stands in a rollout for a record which could not be read."""
LARGEST = 2**53
"""Numbers from here on are none that JSON carries safely."""


@dataclass(slots=True)
class MirrorFile:
    """What one file holds of a conversation.

    Attributes:
        rows: by seq.
        ends: where, in bytes, the lines of each event end.
        bad: whole lines that could not be read, or that are no record of ours and no JSON.
        torn: the last line was cut.
    """

    path: Path
    rows: dict[int, Row] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    bad: int = 0
    torn: bool = False

    @property
    def created_id(self) -> str | None:
        """The id that the conversation's own first event gives it."""
        body = self.rows[1].read("").body if 1 in self.rows else None
        return body.id if isinstance(body, ConversationCreated) else None

    def find_offset(self) -> tuple[int, int]:
        """How far the file can be trusted to tell all: a seq, and the bytes up to there.

        The last event is left out: what follows from it may not have been written whole. (0, 0):
        lines are missing, so that the file is to be written anew.
        """
        last = max(self.rows, default=0) - 1
        if self.bad or last < 1 or set(self.rows) != set(range(1, last + 2)):
            return (0, 0)
        return (last, self.ends[last])


def find_files(directory: Path) -> Iterator[Path]:
    """Every rollout below a directory, by name; none: it is not there. Raises `OSError`."""
    if not directory.is_dir():
        return
    for folder, folders, names in os.walk(directory, onerror=_raise):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(".jsonl") and not path.is_symlink() and path.is_file():
                yield path


def find_owner(path: Path) -> str | None:
    """The id of the conversation that a file of ours is about; None: it is none of ours."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        if not head.strip():
            return None
        with suppress(ValueError):
            record = read_json(head.partition(b"\n")[0])
            if isinstance(record, dict) and record.get("type") == "session_meta":
                found = _read_id(record.get("payload"))
                return found if MARK in record else None
        # The first line is damaged: what stands below it says whose the file is.
        needle = b'"type":"' + EVENT_LINE.encode() + b'"'
        while head:
            if needle in head:
                return read_mirror(path).created_id or path.stem[-ID_LENGTH:]
            tail = head[-len(needle) :]
            more = stream.read(HEAD_BYTES)
            head = tail + more if more else b""
    return None


def read_mirror(path: Path) -> MirrorFile:
    """All that a file holds of our own events; raises `OSError`."""
    content = path.read_bytes()
    found = MirrorFile(path)
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        is_whole = end >= 0
        end = end + 1 if is_whole else len(content)
        line = content[start:end]
        start = end
        if not line.strip():
            continue
        try:
            seq = _take(read_json(line), found)
        except ValueError:
            if is_whole:
                found.bad += 1
            else:
                found.torn = True
            continue
        if seq is not None:
            found.ends[seq] = end
    return found


def _take(record: Json, found: MirrorFile) -> int | None:
    """Note what a record says; the event that it belongs to. Raises `ValueError`."""
    if not isinstance(record, dict):
        raise ValueError("no object")
    payload, mark = record.get("payload"), record.get(MARK)
    match record.get("type"):
        case kind if kind == EVENT_LINE:
            row = read_row(payload)
            found.rows.setdefault(row.seq, row)
            return row.seq
        case kind if kind == BLOB_LINE:
            sha256, content = decode_blob(payload)
            found.blobs[sha256] = content
            return None
        case _:
            seq = mark.get("seq") if isinstance(mark, dict) else None
            return seq if isinstance(seq, int) and seq in found.rows else None


def read_row(payload: Json) -> Row:
    """The record that an `ask_event` line holds, of any version; raises `ValueError`."""
    record = payload if isinstance(payload, dict) else {}
    seq: Json = record.get("seq")
    at: Json = record.get("at")
    version: Json = record.get("version")
    event: Json = record.get("event")
    if not (_is_count(seq) and _is_count(version) and isinstance(event, dict)):
        raise ValueError("ask_event: it needs seq, at, version and event")
    if not isinstance(at, int | float) or isinstance(at, bool) or not math.isfinite(at):
        raise ValueError("ask_event: it has no time")
    kind = event.get("type")
    if kind == UNREADABLE:
        return _read_unreadable(seq, float(at), version, event)
    text = encode_text(UnknownBody(event))
    return Row(seq, float(at), kind if isinstance(kind, str) else "unknown", version, text)


def _read_unreadable(seq: int, at: float, version: int, event: dict[str, Json]) -> Row:
    """What the mirror could not read when it wrote: the record goes back as it was."""
    kind, text, data = event.get("of_type"), event.get("text"), event.get("base64")
    content: str | bytes = text if isinstance(text, str) else b""
    if isinstance(data, str):
        content = base64.b64decode(data, validate=True)
    return Row(seq, at, kind if isinstance(kind, str) else "unknown", version, content)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < LARGEST


def _read_id(payload: Json) -> str | None:
    found = payload.get("id") if isinstance(payload, dict) else None
    return found if isinstance(found, str) and found else None


def _raise(error: OSError) -> None:
    raise error
