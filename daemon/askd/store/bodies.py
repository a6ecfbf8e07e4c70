"""An event's body as text at rest, and back.

Reading never raises: a record that cannot be read comes as `Unreadable`, with
what it holds, for one bad record must not cost the conversation. It guesses
nothing: a record is read as it was written, or not at all.
"""

import base64
import json
import math
from typing import Any

from askd.core.events import VERSION, Body, Event, UnknownBody, Unreadable, decode_body, encode_body
from askd.core.records import BadRecord
from askd.core.rollout_lines import LAST_TIME

_UNICODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

LAST_VERSION = 1_000_000
"""No type of event will have had so many: a larger one is damage, not the future."""
WHY_LENGTH = 160
"""What a person reads in a list; the record itself is kept whole."""


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
    conversation_id: str, seq: int, at: object, kind: object, version: object, text: object
) -> tuple[Event, str | None]:
    """Build an event from its columns; also why it could not be read, if so.

    SQLite holds in any column whatever was put there, and so it is checked here. A body is
    best given as its bytes: of a text that is no UTF-8 no more than that can be said.
    """
    try:
        body = _read_body(kind, version, _check_text(text))
        moment, number = _check_at(at), _check_version(version)
    except (BadRecord, ValueError, RecursionError) as error:
        fault = str(error)[:WHY_LENGTH]
        return Event(conversation_id, seq, _find_at(at), salvage(kind, text, fault)), fault
    return Event(conversation_id, seq, moment, body, number), None


def _read_body(kind: object, version: object, text: str) -> Body:
    record = _DECODER.decode(text)
    if not isinstance(record, dict):
        raise BadRecord(f"expected a map, got {type(record).__name__}")
    if not isinstance(kind, str):
        raise BadRecord("its type is no text")
    if str(record.get("type", UnknownBody.TYPE)) != kind:
        raise BadRecord(f"its type is {kind} in one place and another in the other")
    if isinstance(version, int) and version > VERSION:
        # A newer writer changed what this type means: it is not ours to interpret.
        return UnknownBody(raw={"type": kind, **record})
    return decode_body(record)


def _check_text(text: object) -> str:
    if isinstance(text, bytes):
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise BadRecord("its content is no text in UTF-8") from None
    if not isinstance(text, str):
        raise BadRecord("its content is no text")
    return text


def _check_at(at: object) -> float:
    if isinstance(at, float | int) and 0 <= at <= LAST_TIME:
        return at
    raise BadRecord("its time is none")


def _check_version(version: object) -> int:
    if isinstance(version, int) and 1 <= version <= LAST_VERSION:
        return version
    raise BadRecord("its version is none")


def _find_at(at: object) -> float:
    try:
        return _check_at(at)
    except BadRecord:
        return 0.0


def salvage(kind: object, text: object, why: str) -> Unreadable:
    """What a record holds that cannot be read; nothing in it counts but the turn that it names."""
    of_type = clean_text(kind) if isinstance(kind, str) else UnknownBody.TYPE
    try:
        content = _check_text(text)
    except BadRecord:
        data = text if isinstance(text, bytes) else str(text).encode()
        encoded = base64.b64encode(data).decode()
        return Unreadable(of_type, why, base64=encoded)
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return Unreadable(of_type, why, text=content)
    if record.get("type") != of_type:
        of_type = UnknownBody.TYPE  # one of the two is damaged, and nobody knows which
    named = record.get("turn_id")
    turn_id = clean_text(named) if isinstance(named, str) else None
    return Unreadable(of_type, why, turn_id=turn_id, text=content)


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadRecord("a number in it is not finite")
    return value


def _refuse_constant(text: str) -> Any:
    raise BadRecord(f"{text} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_constant=_refuse_constant)


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
