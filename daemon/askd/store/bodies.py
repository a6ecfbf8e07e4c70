"""An event's body as text at rest, and back.

Reading never raises: a record that this version cannot read is kept as it is,
for one bad record must not cost the conversation.
"""

import json
from typing import Any

from askd.core.events import VERSION, Body, Event, UnknownBody, decode_body, encode_body
from askd.core.records import BadRecord

_UNICODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def encode_text(body: Body) -> str:
    """The body as JSON that SQLite can hold; raise `ValueError` or `TypeError` if it is none."""
    record = encode_body(body)
    text = _UNICODE.encode(record)
    if _has_lone_surrogate(text):
        # Half a pair is no Unicode text, but JSON can spell it, and a model can be made to say it.
        text = _ESCAPED.encode(record)
    return text


def clean_text(text: str) -> str:
    """Text for a column of its own: what is no Unicode becomes a question mark."""
    return text.encode("utf-8", "replace").decode() if _has_lone_surrogate(text) else text


def decode_event(
    conversation_id: str, seq: int, at: float, kind: str, version: int, text: str
) -> tuple[Event, str | None]:
    """Build an event from its columns; also why it could not be read, if so."""
    fault: str | None = None
    try:
        record = json.loads(text)
        if version > VERSION and isinstance(record, dict):
            # A newer writer changed what this type means: it is not ours to interpret.
            body: Body = UnknownBody(raw={"type": kind, **record})
        else:
            body = decode_body(record)
    except (BadRecord, ValueError, RecursionError) as error:
        fault = str(error)
        body = UnknownBody(raw=_salvage(kind, text))
    return Event(conversation_id, seq, at, body, version), fault


def _salvage(kind: str, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return {"type": kind, "text": text}
    if isinstance(record, dict):
        return {"type": kind, **record}
    return {"type": kind, "content": record}


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
