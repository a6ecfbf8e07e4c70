"""A program's output, kept as far as it fits: its beginning, its end, and how much is missing.

Feeding it never fails and never takes more memory, whatever comes, so that a pipe can be
drained to its end. It reads nothing itself, and it keeps no file.
"""

import codecs

from askd.tools.escapes import strip_escapes

KEEP_BYTES = 1 << 20
"""Of one output: more than any model reads, and no load for the log."""
SLACK_BYTES = 64 * 1024
"""By how much the end may be too long before it is cut: it is not moved for every small piece."""
LEFT_OUT = "\n[... {count:,} bytes left out ...]\n"


class Capture:
    """The beginning and the end of what was fed, half of `keep_bytes` each.

    Attributes:
        total_bytes: of all that was fed.
    """

    def __init__(self, keep_bytes: int = KEEP_BYTES) -> None:
        self.total_bytes = 0
        self._half = keep_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes | bytearray) -> None:
        """Take the next piece."""
        self.total_bytes += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        # Of a piece that is larger than the end, only its own end can be left.
        self._tail += data[-self._half :] if len(data) > self._half else data
        if len(self._tail) > self._half + SLACK_BYTES:
            del self._tail[: -self._half]

    def text(self) -> str:
        """All that was kept, without what was meant for a terminal; undecodable bytes replaced."""
        tail = self._tail[-self._half :] if len(self._tail) > self._half else self._tail
        left_out = self.total_bytes - len(self._head) - len(tail)
        if not left_out:
            return strip_escapes((self._head + tail).decode("utf-8", "replace"))
        # Neither half may begin or end inside of a character: that would look like bad bytes.
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        skip = next((k for k in range(min(4, len(tail))) if tail[k] & 0xC0 != 0x80), 0)
        end = tail[skip:].decode("utf-8", "replace")
        return strip_escapes(head) + LEFT_OUT.format(count=left_out) + strip_escapes(end)
