"""What a server says beside the protocol: its standard error, and what became of it.

Feeding it never fails and never takes more memory, whatever comes. What it holds was written by
the server: it is for a person to read, who sees it without what was meant for a terminal.
"""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

import trio

from askd.tools.escapes import strip_escapes

KEEP_BYTES = 256 * 1024
"""Of a server's words: some thousand lines, of which a person reads the last."""
LINE_BYTES = 4096
"""Of one line; what is beyond it is left out."""
OURS = "-- "
"""Before a line of ours; one of its own that begins like that is moved in."""
ENTRY_BYTES = 64
"""What a line costs beside its text: empty lines are not free."""


class Journal:
    """The end of what one server wrote, line by line, with the time of each.

    Attributes:
        pid: of the program that runs just now; None: there is none.
        ended: why the transport ended, if it knows; a sentence.
        gone: set when it has ended: nothing more will be answered.
        hide: gives a text without any known secret; set by who knows of such.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.pid: int | None = None
        self.ended: str | None = None
        self.gone = trio.Event()
        self.hide: Callable[[str], str] = str
        self._now = now
        self._lines: deque[tuple[float, bytes, bool]] = deque()
        self._kept_bytes = 0
        self._left_out = 0
        self._line = bytearray()

    def feed(self, data: bytes | bytearray) -> None:
        """Take the next piece of its standard error."""
        *whole, rest = bytes(data).split(b"\n")
        for piece in whole:
            self._extend(piece)
            self._close()
        self._extend(rest)

    def note(self, sentence: str) -> None:
        """Say something about it ourselves, between its own lines."""
        if self._line:
            self._close()
        self._keep(sentence.encode("utf-8", "replace")[:LINE_BYTES], is_ours=True)

    def end(self, sentence: str) -> None:
        """Say why it has ended; the first reason is the one."""
        if self.ended is None:
            self.ended = sentence
            self.note(sentence)
            self.gone.set()

    def renew(self) -> None:
        """Forget how it ended: it is started again, and its words go on."""
        self.pid = None
        self.ended = None
        self.gone = trio.Event()

    def last_line(self) -> str:
        """The last thing that it wrote itself and that is not empty; empty: nothing."""
        if self._line.strip():
            return self._read(bytes(self._line))
        own = (line for _, line, is_ours in reversed(self._lines) if not is_ours)
        return next((self._read(line) for line in own if line.strip()), "")

    def text(self) -> str:
        """All that is kept, a time before each line, in UTC."""
        lines = [f"[... {self._left_out:,} lines left out ...]"] if self._left_out else []
        lines += [self._show(at, line, is_ours) for at, line, is_ours in self._lines]
        if self._line:
            lines.append(self._show(self._now(), bytes(self._line), False))
        return "".join(f"{line}\n" for line in lines)

    def _extend(self, piece: bytes) -> None:
        room = LINE_BYTES - len(self._line)
        self._line += piece[:room]

    def _close(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        self._keep(line)

    def _show(self, at: float, line: bytes, is_ours: bool) -> str:
        """A line that nobody can take for one of somebody else's."""
        said = self._read(line)
        before = OURS if is_ours else "  " if said.lstrip().startswith(OURS.strip()) else ""
        return f"{_show_time(at)} {before}{said}"

    def _read(self, line: bytes) -> str:
        said = strip_escapes(line.decode("utf-8", "replace"))
        return self.hide(" ".join(said.splitlines()))

    def _keep(self, line: bytes, *, is_ours: bool = False) -> None:
        self._lines.append((self._now(), line, is_ours))
        self._kept_bytes += len(line) + ENTRY_BYTES
        while self._kept_bytes > KEEP_BYTES:
            self._kept_bytes -= len(self._lines.popleft()[1]) + ENTRY_BYTES
            self._left_out += 1


def _show_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
