"""Our own events in a file: `ask_event` and `ask_blob` records, read back without loss.

A record holds one event whole. What a newer version wrote is refused rather
than misread; one that cannot be read as its type says is kept as it came.
"""

import base64
import binascii
import hashlib

from askd.core.events import VERSION, Event, UnknownBody, decode_body
from askd.core.records import BadRecord, Json
from askd.core.rollout_lines import read_time


def decode_event(conversation_id: str, record: Json) -> Event:
    """An event from `{seq, at, version, event}`; raise `ValueError` with few words."""
    if not isinstance(record, dict):
        raise ValueError("ask_event: it is no object")
    seq: Json = record.get("seq")
    version: Json = record.get("version")
    body: Json = record.get("event")
    at = read_time(record.get("at"))
    if not _is_count(seq) or at is None or not _is_count(version) or not isinstance(body, dict):
        raise ValueError("ask_event: it needs seq, at, version and event")
    if version > VERSION:
        raise ValueError("ask_event: it was written by a newer askd")
    try:
        return Event(conversation_id, seq, at, decode_body(body), version)
    except (BadRecord, RecursionError):
        # One bad record must not cost the conversation; whoever looks finds it as it was.
        return Event(conversation_id, seq, at, UnknownBody(body), version)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**53


def decode_blob(record: Json) -> tuple[str, bytes]:
    """A blob's digest and content from `{sha256, base64}`; raise `ValueError` with few words."""
    sha256 = record.get("sha256") if isinstance(record, dict) else None
    data = record.get("base64") if isinstance(record, dict) else None
    if not isinstance(sha256, str) or not isinstance(data, str):
        raise ValueError("ask_blob: it needs sha256 and base64")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("ask_blob: its content is no base64") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError("ask_blob: its content does not have its digest")
    return sha256, content
