"""The lines of a program that should hold one message each, whatever it writes.

Pure: bytes in, lines out. No more of a line is kept than a message may have; of a longer one
what is needed to tell which request it would have answered. It parses no message.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LINE_BYTES = 16 << 20
"""Of one message: several images as base64, and far more text than any model reads."""
EDGE_BYTES = 4096
"""Of a line that is too long, its beginning and its end."""
MOST_PIECES = 100_000
"""Commas and opening brackets of a message outside its texts. Each may become an object of some
hundred bytes, and takes its time: what is short as text must not be a hundred times as much in
memory, nor keep everybody waiting for a second."""

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,{\[]', re.DOTALL)
"""A text (RFC 8259, section 7), as far as it goes, or a piece. Possessive, so that nothing is
looked at twice, whatever stands there."""

_STREAMED = re.compile(
    rb'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+("|\\|)|[,{\[]|\n\n|\r\r|\r\n\r\n'
)
"""The same where texts end with their line; and the end of an event."""

_VERSION = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID_FIRST = re.compile(
    rb"\s*\{\s*"
    + _VERSION
    + rb'"id"\s*:\s*(\d{1,15})\s*,\s*'
    + _VERSION
    + rb'"(?:result|error)"\s*:'
)
_RESULT_FIRST = re.compile(rb"\s*\{\s*" + _VERSION + rb'"(?:result|error)"\s*:')
_ID_LAST = re.compile(
    rb"[\]}\"\w]\s*,\s*"
    + _VERSION
    + rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)
_ASKED = re.compile(
    rb"\s*\{\s*" + _VERSION + rb'(?:"id"\s*:\s*[^,]{1,200},\s*)?' + _VERSION + rb'"method"\s*:'
)


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was not kept: its beginning, its end, and how long it was, in bytes."""

    head: bytes
    tail: bytes
    total_bytes: int


class Lines:
    """Cuts what comes into lines of at most `limit_bytes`."""

    def __init__(self, limit_bytes: int = LINE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._kept = bytearray()
        self._head = b""
        self._total_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """How long the line is that has not ended yet."""
        return self._total_bytes

    def feed(self, data: bytes | bytearray) -> Iterator[bytes | TooLong]:
        """The lines that end in the next piece, without their ends."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._extend(data[start:end])
            yield self._close()
            start = end + 1
        self._extend(data[start:])

    def _extend(self, piece: bytes | bytearray) -> None:
        self._total_bytes += len(piece)
        self._kept += piece
        if self._total_bytes > self._limit_bytes:
            if not self._head:
                self._head = bytes(self._kept[:EDGE_BYTES])
            del self._kept[:-EDGE_BYTES]

    def _close(self) -> bytes | TooLong:
        kept, head, total_bytes = bytes(self._kept), self._head, self._total_bytes
        self._kept, self._head, self._total_bytes = bytearray(), b"", 0
        return TooLong(head, kept, total_bytes) if head else kept


def is_overloaded(line: bytes) -> bool:
    """Whether a message would take far more memory and time than its length says."""
    if sum(line.count(each) for each in (b",", b"{", b"[")) <= MOST_PIECES:
        return False  # nearly always: so few, even with those in its texts
    # A text belongs to a piece, or two do: of more, the line is no JSON at all.
    pieces = texts = 0
    for token in _TOKEN.finditer(line):
        if token[0][:1] == b'"':
            texts += 1
        else:
            pieces += 1
        if pieces > MOST_PIECES or texts > 2 * MOST_PIECES + 2:
            return True
    return False


class Pieces:
    """Counts the pieces of messages that come bit by bit; `by_event`: anew for each of a stream's.

    No text of JSON goes on beyond the end of a line, so that nothing before a line can hide what
    is in it; and an event ends with an empty one (HTML, "Server-sent events", 9.2.6).
    """

    def __init__(self, *, by_event: bool) -> None:
        self._by_event = by_event
        self._open = b""
        self._pieces = 0

    def feed(self, data: bytes) -> bool:
        """Take the next bit; whether one message has had too many by now."""
        data = self._open + data
        # The end of an event may have its other half to come.
        self._open = data[len(data.rstrip(b"\r\n")) :][-3:]
        for token in _STREAMED.finditer(data):
            match token[0][:1]:
                case b'"':
                    if token[1] != b'"' and token.end() == len(data):
                        self._open = b'"' + (token[1] or b"")
                case b"\n" | b"\r":
                    self._pieces = 0 if self._by_event else self._pieces
                case _:
                    self._pieces += 1
            if self._pieces > MOST_PIECES:
                return True
        return False


def find_answered(head: bytes, tail: bytes) -> int | None:
    """The id of the request that a message of which only the edges are known answers.

    None: that cannot be told, for it is no answer, or its id stands between others' words.
    """
    found = _ID_FIRST.match(head)
    if found is None and _RESULT_FIRST.match(head):
        # The outermost object ends with the line: what stands before its end belongs to it.
        found = _ID_LAST.search(tail)
    return None if found is None else int(found[1])


def is_asked(head: bytes) -> bool:
    """Whether a message of which only the beginning is known is a request or a notification."""
    return _ASKED.match(head) is not None
