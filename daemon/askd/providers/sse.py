"""Server-sent events out of bytes, incrementally, however the bytes were cut.

It splits on LF, CRLF and CR and on nothing else: U+2028 and U+0085 are content,
and a reader of text lines would break a JSON string in two there. It refuses
what has no end: each cap is a `BadAnswer`. It knows no JSON and no dialect.
"""

import re
from dataclasses import dataclass

from askd.errors import BadAnswer

LINE_LIMIT_BYTES = 1 << 20
"""One line: a provider's largest single delta is a few kilobytes; 1 MiB is no delta."""

EVENT_LIMIT_BYTES = 4 << 20
"""All data lines of one event together."""

STREAM_LIMIT_BYTES = 64 << 20
"""One answer with all its framing: about sixteen million tokens."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (`message` if none was given) and its data."""

    name: str
    data: str


class EventSplitter:
    """Bytes in, whole events out; what is incomplete is kept, and lost at the end."""

    def __init__(self) -> None:
        self._received = 0
        self._line = bytearray()
        self._after_return = False
        self._at_start = True
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Every event that is whole after these bytes.

        Raises:
            BadAnswer: a line, an event or the stream is over its cap.
        """
        self._received += len(data)
        if self._received > STREAM_LIMIT_BYTES:
            raise BadAnswer(f"the answer is larger than {STREAM_LIMIT_BYTES >> 20} MiB")
        if self._after_return and data:
            # A CR ended a line at once; an LF right after it is the same line end.
            self._after_return = False
            data = data.removeprefix(b"\n")
        if data.endswith(b"\r"):
            self._after_return = True
        events: list[ServerEvent] = []
        *ended, rest = _LINE_END.split(data)
        for piece in ended:
            self._extend_line(piece)
            line = bytes(self._line)
            self._line.clear()
            event = self._take_line(line)
            if event is not None:
                events.append(event)
        self._extend_line(rest)
        return events

    def _extend_line(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > LINE_LIMIT_BYTES:
            raise BadAnswer(f"a line of the answer is longer than {LINE_LIMIT_BYTES >> 20} MiB")

    def _take_line(self, line: bytes) -> ServerEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._take_event()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
            if self._data_bytes > EVENT_LIMIT_BYTES:
                limit = EVENT_LIMIT_BYTES >> 20
                raise BadAnswer(f"an event of the answer is larger than {limit} MiB")
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None  # `id`, `retry`, comments and unknown fields mean nothing here

    def _take_event(self) -> ServerEvent | None:
        name, data = self._name or "message", self._data
        self._name, self._data, self._data_bytes = "", [], 0
        if not data:
            return None
        return ServerEvent(name, b"\n".join(data).decode("utf-8", "replace"))
