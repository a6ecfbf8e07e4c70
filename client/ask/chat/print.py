"""Pieces of a view as text for a terminal: each once, with an empty line between what differs.

What a model or another terminal said is stripped of what a terminal would obey; the colours
are ours. It writes nothing itself.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ask.chat.tail import wrap_line
from ask.chat.view import Piece
from ask.graphemes import find_width
from ask.markdown.loading import import_painter
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.markdown.blocks import Block
    from ask.markdown.paint import Painter

PAINT = {
    "prompt": "\x1b[1;36m",
    "line": "\x1b[2m",
    "notice": "\x1b[2m",
    "failure": "\x1b[31m",
}
PLAIN = "\x1b[0m"
INDENT = re.compile(r" +|/\w+(?: [\[A-Z]\S*)? +(?=[a-z])")
"""What the further rows of a line stand below: its blanks, or the text beside a command."""
REACH = 4
"""Characters for each column that are looked at for a row: of a long line not all, each time."""
NOTICE_MARK = "* "
"""As `ask attach` marks what nobody said."""


def wrap_words(text: str, columns: int, indent: int = 0) -> str:
    """Lines that a terminal does not break within words; tables and lists keep their blanks."""
    lines = []
    reach = REACH * columns
    for line in text.split("\n"):
        found = INDENT.match(line)
        hang = " " * min(max(indent, found.end() if found else 0), columns // 2)
        while len(line) > reach or find_width(line) >= columns:
            fitting = wrap_line(line[:reach], columns - 1)[0]
            cut = fitting.rfind(" ", len(hang) + 1)
            cut = len(fitting) if cut < 0 else cut
            if cut <= len(hang):  # nothing fits beside the blanks
                hang = ""
            lines.append(line[:cut].rstrip())
            line = hang + line[cut:].lstrip()
        lines.append(line)
    return "\n".join(lines)


class Printer:
    """Makes text of pieces, one after the other.

    Args:
        coloured: whether the terminal shows colours.
    """

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured
        self._apart = True  # an empty line, or nothing, is above
        self._kind = ""
        self._painter: Painter | None = None

    def prepare(self) -> None:
        """Load what paints; in any thread, for it takes its time."""
        import_painter()

    def lay_all(self, pieces: Sequence[Piece], columns: int) -> str:
        """The text of several: lines of code that follow each other are read together.

        One by one each would be read with all those before that tell what it is.
        """
        found: list[str] = []
        code: list[Block] = []
        for piece in pieces:
            if piece.block is not None and piece.block.kind == "code":
                code.append(piece.block)
                continue
            if code:
                found.append(self._lay_code(code, columns))
                code = []
            found.append(self.lay(piece, columns))
        if code:
            found.append(self._lay_code(code, columns))
        return "".join(found)

    def _lay_code(self, code: "list[Block]", columns: int) -> str:
        """Lines of code, with what stands before the first."""
        piece = Piece("block", block=code[0])
        before = "" if self._apart or not self._is_set_apart(piece) else "\n"
        self._kind, self._apart = piece.kind, False
        return f"{before}{self._paint_blocks(code, columns)}"

    def lay(self, piece: Piece, columns: int) -> str:
        """The text of a piece; it ends with a line's end."""
        if piece.block is not None:
            text = self._paint_blocks([piece.block], columns)
        else:
            mark = NOTICE_MARK if piece.kind == "notice" else ""
            plain = strip_controls(f"{mark}{piece.text}".rstrip("\n"))
            if piece.kind != "prompt":  # whoever copies it, copies what was typed
                plain = wrap_words(plain, columns, len(mark))
            text = self._paint(plain, piece.kind) + "\n"
        before = "" if self._apart or not self._is_set_apart(piece) else "\n"
        self._kind = piece.kind
        self._apart = text == "\n"
        return f"{before}{text}"

    def lay_raw(self, text: str) -> str:
        """A text that is laid out already, as questions are; set apart from what is above."""
        before = "" if self._apart or self._kind == "raw" else "\n"
        self._kind = "raw"
        self._apart = text.endswith("\n\n")
        return f"{before}{text}"

    def _is_set_apart(self, piece: Piece) -> bool:
        """Whether an empty line stands before it."""
        if piece.kind == "prompt" or self._kind == "prompt":
            return True
        return piece.kind != self._kind and "block" in (piece.kind, self._kind)

    def _paint(self, text: str, kind: str) -> str:
        colour = PAINT.get(kind, "")
        if not (self._coloured and colour):
            return text
        return "\n".join(f"{colour}{line}{PLAIN}" if line else "" for line in text.split("\n"))

    def _paint_blocks(self, blocks: "list[Block]", columns: int) -> str:
        if self._painter is None:
            self._painter = import_painter()(columns, colors=self._coloured)
        self._painter.width = columns
        return self._painter.paint_all(blocks)
