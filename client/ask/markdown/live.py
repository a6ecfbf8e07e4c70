"""An answer on a terminal while it grows: the open tail plainly, finished blocks painted, once.

Text is shown the moment it comes. When a block is finished, what was shown of it plainly
is replaced by what it means, if all of it can still be reached: what has scrolled away,
or stood there when the terminal changed its width, stays as it is and is never printed
again. So whenever the process ends, all that came stands on the screen. The cursor is
never hidden and no mode is set. What it is fed holds no controls any more.
"""

import os
import time

from ask.fast.caller import write_all
from ask.markdown.blocks import Splitter
from ask.markdown.loading import Loading
from ask.markdown.rows import Rows
from ask.markdown.wanted import STDOUT

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Callable

    from ask.markdown.blocks import Block
    from ask.markdown.paint import Painter

PAINT_S = 0.04
"""Between two paintings: what is finished more often is painted together."""
QUIET_S = 0.15
"""A model that says nothing for so long leaves time to import the painter."""
LOOK_S = 0.02
"""How often it is looked whether the painter has come."""
LOAD_LIMIT_S = 5.0
"""The end of an answer waits so long for a painter, and then leaves it plain."""
NARROWEST, LOWEST = 20, 4
"""Of a terminal that is written to in a way of its own; in a smaller one all stays plain."""
_MARKS = frozenset("*_`[]<&\\~!|\t")
"""A paragraph without them looks the same when it is painted."""


def find_size() -> tuple[int, int]:
    """Columns and lines of the terminal, now."""
    try:
        columns, lines = os.get_terminal_size(STDOUT)
    except OSError:
        return 80, 24
    return columns or 80, lines or 24


def erase_rows(up: int) -> str:
    """To the begin of the row that is `up` above, with nothing left from there on.

    ECMA-48: CUU, EL, ED. The first row is erased by itself: from the upper left corner on, ED
    makes tmux keep the whole screen in its history, where it would stand twice.
    """
    return f"\r\x1b[{up}A\x1b[K\n\x1b[J\x1b[A" if up else "\r\x1b[K"


def write(text: str) -> None:
    """To the terminal; raises `StdoutClosed`, `StdoutFailed`."""
    write_all(STDOUT, text.encode(errors="replace"))


class Live:
    """The region at the end of the screen that can still change.

    Args:
        size: of the terminal: columns, lines.
        out: writes.
    """

    def __init__(
        self,
        *,
        size: "Callable[[], tuple[int, int]]" = find_size,
        out: "Callable[[str], None]" = write,
        clock: "Callable[[], float]" = time.monotonic,
        loading: Loading | None = None,
    ) -> None:
        self._find_size, self._out, self._clock = size, out, clock
        self._loading = loading or Loading()
        self._splitter = Splitter()
        self._columns, self._lines = size()
        self._rows = Rows(self._columns)
        self._pending: list[tuple[Block, int]] = []  # finished, shown plainly, from this row on
        self._painter: Painter | None = None
        self._born = self._painted = clock()

    def adopt(self, text: str, columns: int) -> None:
        """Begin with what stands on the screen already, written when it had so many columns."""
        self._columns, self._rows = columns, Rows(columns)
        self._rows.lay(text)
        self._keep(self._splitter.feed(text))
        self._loading.begin()

    def feed(self, text: str) -> None:
        """More of the answer."""
        if not text:
            return
        self._heed_size()
        shown = self._splitter.size
        found = self._splitter.feed(text)
        gains = self._any_gains(found)
        now = self._is_due() or not self._fits(text)
        if gains and now and self._find_painter() is not None:
            self._paint(found, shown)
        else:
            self._out(self._rows.lay(text))
            self._keep(found)
        self._loading.begin()

    def tick(self) -> float | None:
        """Do what is due: seconds until something else is; None: nothing will be."""
        if not self._loading.begun:
            left = self._born + QUIET_S - self._clock()
            if left > 0:
                return left
            self._loading.begin()
        if not self._pending:
            return None
        if self._find_painter() is None:
            return None if self._loading.over else LOOK_S
        left = self._painted + PAINT_S - self._clock()
        if left > 0:
            return left
        self._heed_size()
        self._paint([], self._splitter.size)
        return None

    def rest(self, descriptor: int) -> None:
        """Do what is due until something can be read; or until nothing is due any more."""
        import select

        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        while (left := self.tick()) is not None:
            if ready.poll(left * 1000):
                return

    def pause(self) -> None:
        """Something else is shown below: what there is is ended, on a line of its own."""
        self._end(self._splitter.cut())

    def finish(self) -> None:
        """The answer is over. What comes then is another one."""
        found = self._splitter.finish()
        if self._any_gains(found):
            self._loading.wait(LOAD_LIMIT_S)
        self._end(found)

    # ---- what stands on the screen ---------------------------------------------------

    def _end(self, found: "list[Block]") -> None:
        self._heed_size()
        if self._any_gains(found) and self._find_painter() is not None:
            self._paint(found, sum(len(block.text) for block in found))
        if self._rows.column != 0:
            self._out("\n")
        self._pending.clear()
        self._rows = Rows(self._columns)

    def _keep(self, found: "list[Block]") -> None:
        """Finished, and shown: they wait to be painted."""
        starts = self._rows.starts
        for block in found:
            if self._pending or self._gains(block):
                self._pending.append((block, starts[0]))
            del starts[: block.text.count("\n")]

    def _paint(self, found: "list[Block]", shown: int) -> None:
        """Replace what can be replaced, and show the tail again below.

        `found` was finished just now; of it and the tail, `shown` characters were shown.
        """
        assert self._painter is not None
        rows, starts = self._rows, list(self._rows.starts)
        wanted: list[tuple[Block, int | None]] = [*self._pending]
        out: list[str] = []
        self._pending.clear()
        for block in found:
            start = starts[0] if starts and shown > 0 else None
            lost = start is not None and not self._is_reachable(start)
            if lost and shown < len(block.text):
                out.append(rows.lay(block.text[max(shown, 0) :]))
            wanted.append((block, start))
            shown -= len(block.text)
            del starts[: block.text.count("\n")]
        kept: list[Block] = []
        first: int | None = None
        for block, start in wanted:
            if start is not None and not self._is_reachable(start):
                self._painter.skip(block)
                continue
            if not kept:
                first = start
            kept.append(block)
        tail = self._splitter.tail
        if not kept:  # nothing is replaced, so the tail stays where it is
            out.append(rows.lay(tail[max(shown, 0) :]))
            rows.starts = rows.starts[-1 - tail.count("\n") :]
            self._out("".join(out))
            return
        if first is not None:
            out.append(erase_rows(rows.row - first))
        out.append(self._painter.paint_all(kept))
        rows.begin(0)
        out.append(rows.lay(tail))
        self._out("".join(out))
        self._painted = self._clock()

    def _is_reachable(self, row: int) -> bool:
        """Whether a row cannot have scrolled away."""
        fit = self._columns >= NARROWEST and self._lines >= LOWEST
        return fit and row >= 0 and self._rows.row - row < self._lines

    def _fits(self, text: str) -> bool:
        """Whether all that waits to be painted stays on the screen if this is shown plainly."""
        more = text.count("\n") + len(text) // max(self._columns // 2, 1) + 1
        first = self._pending[0][1] if self._pending else self._rows.starts[0]
        return self._rows.row + more - first < self._lines

    def _heed_size(self) -> None:
        columns, self._lines = self._find_size()
        if columns != self._columns:
            self._columns = columns
            self._rows.resize(columns)
            self._pending = [(block, -1) for block, _ in self._pending]
            if self._painter is not None:
                self._painter.width = columns

    # ---- painting --------------------------------------------------------------------

    def _find_painter(self) -> "Painter | None":
        if self._painter is None and self._loading.found is not None:
            self._painter = self._loading.found(self._columns)
        return self._painter

    def _is_due(self) -> bool:
        return self._clock() >= self._painted + PAINT_S

    def _any_gains(self, found: "list[Block]") -> bool:
        """Whether painting would change what is seen of all that is finished and not painted."""
        return bool(self._pending) or any(self._gains(block) for block in found)

    def _gains(self, block: "Block") -> bool:
        """Whether painting would change what is seen."""
        if block.kind == "blank":
            return False
        if block.kind != "paragraph" or _MARKS & set(block.text):
            return True
        lines = block.text.rstrip("\r\n").split("\n")
        return any(len(line) >= self._columns // 2 or line[:1].isspace() for line in lines)
