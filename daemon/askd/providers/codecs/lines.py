"""Lines out of bytes, incrementally, however the bytes were cut.

It splits on LF, CRLF and CR and on nothing else: U+2028 and U+0085 are content,
and a reader of text lines would break a JSON string in two there. It refuses
what has no end: each cap is a `BadAnswer`. What a line means is not its concern.
"""

import re

from askd.errors import BadAnswer

LINE_LIMIT_BYTES = 1 << 20
"""One line: a provider's largest single delta is a few kilobytes; 1 MiB is no delta."""

STREAM_LIMIT_BYTES = 64 << 20
"""One answer with all its framing: about sixteen million tokens."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineSplitter:
    """Bytes in, whole lines out; what is incomplete is kept, and lost at the end.

    `provider` stands in the sentences of its errors; empty: none is known.
    """

    def __init__(self, provider: str = "") -> None:
        self._provider = provider
        self._received = 0
        self._line = bytearray()
        self._after_return = False
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes]:
        """Every line that is whole after these bytes, without its end; empty ones too.

        A byte order mark ahead of the first line is left out.

        Raises:
            BadAnswer: a line or the stream is over its cap.
        """
        self._received += len(data)
        if self._received > STREAM_LIMIT_BYTES:
            raise self.refuse(f"the answer is larger than {STREAM_LIMIT_BYTES >> 20} MiB")
        if self._after_return and data:
            # A CR ended a line at once; an LF right after it is the same line end.
            self._after_return = False
            data = data.removeprefix(b"\n")
        if data.endswith(b"\r"):
            self._after_return = True
        *lines, rest = _LINE_END.split(data) if b"\r" in data else data.split(b"\n")
        if lines:
            if self._line or self._at_start:
                self._extend(lines[0])
                lines[0] = self._take()
            if len(data) > LINE_LIMIT_BYTES:
                self._check(max(map(len, lines)))
        if rest:
            self._extend(rest)
        return lines

    def refuse(self, why: str) -> BadAnswer:
        """The error for an answer that is over a cap, here or in what is made of the lines."""
        return BadAnswer(f"{self._provider}: {why}" if self._provider else why)

    def _extend(self, piece: bytes) -> None:
        self._line += piece
        self._check(len(self._line))

    def _check(self, length: int) -> None:
        if length > LINE_LIMIT_BYTES:
            raise self.refuse(f"a line of the answer is longer than {LINE_LIMIT_BYTES >> 20} MiB")

    def _take(self) -> bytes:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        return line
