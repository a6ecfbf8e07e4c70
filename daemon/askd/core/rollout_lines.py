"""Lines of a rollout: one JSON object each, with a time and a type, and how they can be broken.

The file of a conversation as Codex keeps it is append-only JSON, one record a
line. Any of them may be torn, empty or no JSON at all: that costs the line and
never the file. It knows nothing of what a record means.

Shape: `{"timestamp": "2026-01-02T03:04:05.678Z", "type": "...", "payload": {...}}`, as files
written by Codex 0.63, 0.98 and 0.169 have it (samples in `tests/data/codex-rollouts`).
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from askd.core.records import Json

LAST_TIME = 253_402_300_799.0
"""The last second of the year 9999: what comes after no calendar can show."""
WHY_CHARACTERS = 200
"""Of a parse error: it may quote what it met."""

_UNICODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Line:
    """One record and where it stands; lines count from 1."""

    number: int
    record: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that was passed over, and why: a few words."""

    number: int
    why: str


def read_lines(content: bytes | bytearray) -> Iterator[Line | Skipped]:
    """Every line that is not blank, in order; never raises, whatever the bytes are.

    The last line needs no line end: one that was cut is no JSON and comes as skipped.
    """
    for number, raw in enumerate(_split(content), start=1):
        if not raw.strip():
            continue
        try:
            record = read_json(raw)
        except ValueError as error:
            yield Skipped(number, str(error)[:WHY_CHARACTERS])
            continue
        if isinstance(record, dict):
            yield Line(number, record)
        else:
            yield Skipped(number, "it is JSON, but no object")


def _split(content: bytes | bytearray) -> Iterator[bytes]:
    """The lines one by one: a large file is not held twice."""
    start, end = 0, content.find(b"\n")
    while end >= 0:
        yield bytes(content[start:end])
        start, end = end + 1, content.find(b"\n", end + 1)
    yield bytes(content[start:])


def read_json(content: bytes | bytearray) -> Json:
    """Any JSON; raise `ValueError` with few words for what is none, and for numbers without end."""
    try:
        text = content.decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_read_float)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def encode_line(record: Json) -> bytes:
    """A record as one line with its end; raise `ValueError` for a number that JSON cannot hold."""
    try:
        return _UNICODE.encode(record).encode() + b"\n"
    except UnicodeEncodeError:
        # Half a surrogate pair is no UTF-8, but JSON can spell it.
        return _ESCAPED.encode(record).encode() + b"\n"


def format_time(at: float) -> str:
    """Unix seconds as RFC 3339 in UTC with milliseconds; a time that no calendar has as its end."""
    moment = datetime.fromtimestamp(min(max(at, 0.0), LAST_TIME), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_time(value: Json) -> float | None:
    """Unix seconds of an RFC 3339 text or of a number; None: it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value <= LAST_TIME else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    at = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    return at if 0 <= at <= LAST_TIME else None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it is not JSON: {name} is no number")


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number in it is too large")
    return value
