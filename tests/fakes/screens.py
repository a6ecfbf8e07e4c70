"""A terminal's screen with its history, as far as answers use one, and strict about it.

It knows text, line ends, `CSI n A`, `CSI J`, `CSI K` and colours; anything else, and any step above
the first row that can still be seen, is an error of whoever wrote it. On another width it
breaks its rows anew, as most terminals do, or leaves them (`reflows=False`).
"""

import re
import unicodedata
from dataclasses import dataclass, field

_PIECE = re.compile(
    r"\x1b\[(?P<up>\d*)A|\x1b\[(?P<erase>[JK])|\x1b\[[\d;]*m|(?P<text>.)", re.DOTALL
)


def count_columns(character: str) -> int:
    """As a terminal does that knows no families of emoji."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass
class Row:
    """One row: its characters, each with those that stand on it; whether the next goes on."""

    cells: list[str] = field(default_factory=list)
    goes_on: bool = False

    @property
    def columns(self) -> int:
        """How many are taken."""
        return sum(count_columns(cell[0]) for cell in self.cells)


class FakeScreen:
    """What was written, row by row, history included."""

    def __init__(self, columns: int, lines: int, *, reflows: bool = True) -> None:
        self.columns, self.lines = columns, lines
        self.rows = [Row()]
        self.at = 0
        self.writes = 0
        self._reflows = reflows
        self._fresh = False  # the cursor was set to the row's begin

    @property
    def text(self) -> str:
        """All of it, rows that go on joined, without what stands empty at the end."""
        found = ""
        for row in self.rows:
            found += "".join(row.cells) + ("" if row.goes_on else "\n")
        return "".join(f"{line.rstrip()}\n" for line in found.rstrip("\n").split("\n"))

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        return self.columns, self.lines

    def write(self, text: str) -> None:
        """As a process does."""
        self.writes += 1
        for piece in _PIECE.finditer(text):
            if piece["up"] is not None:
                self.at -= int(piece["up"] or 1)
                top = max(len(self.rows) - self.lines, 0)
                assert self.at >= top, "a step above what can be seen"
            elif piece["erase"] is not None:
                assert self._fresh, "erased from the middle of a row"
                if piece["erase"] == "J":
                    assert self.at > max(len(self.rows) - self.lines, 0), "tmux keeps it"
                    del self.rows[self.at + 1 :]
                self.rows[self.at] = Row()
            elif piece["text"] is not None:
                self._put(piece["text"])

    def resize(self, columns: int, lines: int) -> None:
        """As a person does; the cursor stays at the end of the text."""
        if self._reflows and columns != self.columns:
            before, self.rows, self.at = self.rows, [Row()], 0
            self.columns = columns
            for number, row in enumerate(before):
                for cell in row.cells:
                    for character in cell:
                        self._put(character)
                if not row.goes_on and number < len(before) - 1:
                    self._put("\n")
        self.columns, self.lines = columns, lines

    def _put(self, character: str) -> None:
        obeyed = unicodedata.category(character) == "Cc" and character not in "\r\n"
        assert not obeyed, f"a terminal would obey {character!r}"
        row = self.rows[self.at]
        if character == "\n":
            self._feed()
            self._fresh = True
            return
        if character == "\r":
            self._fresh = True
            return
        if not count_columns(character) and row.cells:
            row.cells[-1] += character
        else:
            assert not self._fresh or not row.cells, "written over what stands there"
            if row.columns + count_columns(character) > self.columns:
                row.goes_on = True
                self._feed()
                row = self.rows[self.at]
            row.cells.append(character)
        self._fresh = False

    def _feed(self) -> None:
        self.at += 1
        self._fresh = False
        if self.at == len(self.rows):
            self.rows.append(Row())
