"""Our own export: a conversation as one JSON object, whole, to be read by scripts and imported.

`{format, version, id, name, title, model, events, messages}`: `events` are the log
as it is, each `{seq, at, version, event, blobs?}` with the contents that it is
the first to name in base64; `messages` say the same for those who only want to
know who said what, and are not read back.
"""

import base64
from collections.abc import Iterator
from typing import Any

from askd.core.conversation import Conversation
from askd.core.events import Event
from askd.core.records import Json
from askd.core.rollout import BLOB_LINE, EVENT_LINE, encode_event
from askd.core.rollout_items import Contents
from askd.core.rollout_lines import encode_line
from askd.core.spoken import Speech, encode_spoken

FORMAT = "ask-conversation"
VERSION = 1


class JsonExport:
    """Writes the object piece by piece: one line an event, one line a message."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._speech = Speech()
        self._known: set[str] = set()
        self._begun = False

    def begin(self) -> bytes:
        """What stands before the first event."""
        it = self._conversation
        head = {
            "format": FORMAT,
            "version": VERSION,
            "id": it.id,
            "name": it.name,
            "title": it.title,
            "model": it.settings.model,
            "message_count": it.message_count,
            "created_at": it.created_at,
            "updated_at": it.updated_at,
        }
        return encode_line(head).rstrip(b"}\n") + b',\n"events":['

    def feed(self, event: Event, contents: Contents) -> bytes:
        """The next event. `contents`: of the blobs that it names."""
        self._speech.feed(event, contents)
        record = encode_event(event)
        fresh = {sha256: data for sha256, data in contents.items() if sha256 not in self._known}
        if fresh:
            self._known |= set(fresh)
            record["blobs"] = {
                sha256: base64.b64encode(data).decode() for sha256, data in fresh.items()
            }
        comma, self._begun = b"," if self._begun else b"", True
        return comma + b"\n" + encode_line(record).rstrip(b"\n")

    def end(self) -> bytes:
        """What stands behind the last event."""
        lines = [encode_line(encode_spoken(each)).rstrip(b"\n") for each in self._speech.messages]
        return b'\n],\n"messages":[\n' + b",\n".join(lines) + b"\n]}\n"


def read_export(export: Json) -> Iterator[dict[str, Json]]:
    """An export as the records of a rollout that hold the same."""
    events = export.get("events") if isinstance(export, dict) else None
    for each in events if isinstance(events, list) else []:
        blobs: Any = each.get("blobs") if isinstance(each, dict) else None
        for sha256, data in blobs.items() if isinstance(blobs, dict) else ():
            yield {"type": BLOB_LINE, "payload": {"sha256": sha256, "base64": data}}
        yield {"type": EVENT_LINE, "payload": each}
