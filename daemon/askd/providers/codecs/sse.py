"""Server-sent events out of bytes, incrementally, however the bytes were cut.

The lines are those of `lines`; here they become events. It refuses an event
that has no end: its cap is a `BadAnswer`. It knows no JSON and no dialect.
"""

from dataclasses import dataclass

from askd.providers.codecs.lines import LineSplitter

EVENT_LIMIT_BYTES = 4 << 20
"""All data lines of one event together."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (`message` if none was given) and its data."""

    name: str
    data: str


class EventSplitter:
    """Bytes in, whole events out; what is incomplete is kept, and lost at the end."""

    def __init__(self, provider: str = "") -> None:
        self._lines = LineSplitter(provider)
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Every event that is whole after these bytes.

        Raises:
            BadAnswer: a line, an event or the stream is over its cap.
        """
        taken = [self._take_line(line) for line in self._lines.feed(data)]
        return [event for event in taken if event is not None]

    def _take_line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._take_event()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
            if self._data_bytes > EVENT_LIMIT_BYTES:
                limit = EVENT_LIMIT_BYTES >> 20
                raise self._lines.refuse(f"an event of the answer is larger than {limit} MiB")
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None  # `id`, `retry`, comments and unknown fields mean nothing here

    def _take_event(self) -> ServerEvent | None:
        name, data = self._name or "message", self._data
        self._name, self._data, self._data_bytes = "", [], 0
        if not data:
            return None
        return ServerEvent(name, b"\n".join(data).decode("utf-8", "replace"))
