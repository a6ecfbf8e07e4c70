"""A growing Markdown text, cut into blocks that are finished and a tail that is still open.

Pure: text in, blocks out. It decides at ends of lines only, so that however a text is cut
into pieces, its blocks are the same, and all blocks joined are the text. Each line of code
is a block of its own, and so is each item of a list: what is finished is known early, and a
long list is not one thing that no screen holds. Light: it is loaded while the first token
is waited for. It paints nothing.
"""

from ask.markdown import lines

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal[
        "blank", "paragraph", "heading", "rule", "item", "quote", "table", "fence", "code"
    ]


class Block:
    """One finished piece of a text.

    Attributes:
        kind: `fence` is the line that opens or closes code, `code` one line within.
        text: as it came, its line ends too.
        info: what the fence says of its code, its language first.
        indent: columns that the first line stands in: within a list that is its depth.
    """

    __slots__ = ("indent", "info", "kind", "text")

    def __init__(self, kind: "Kind", text: str, *, info: str = "", indent: int = 0) -> None:
        self.kind: Kind = kind
        self.text = text
        self.info = info
        self.indent = indent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Block({self.kind!r}, {self.text!r}, info={self.info!r}, indent={self.indent})"

    def _key(self) -> tuple[str, str, str, int]:
        return (self.kind, self.text, self.info, self.indent)


class Splitter:
    """Cuts one text.

    Attributes:
        size: characters of the tail: to count them costs nothing, to join them does.
    """

    def __init__(self) -> None:
        self.size = 0
        self._begun: list[str] = []  # the pieces of a line without its end
        self._kind: Kind | None = None  # of the block that `_lines` are of
        self._lines: list[str] = []
        self._indent = 0
        self._fence: str | None = None
        self._info = ""
        self._fence_indent = 0
        self._listing = False  # within a list, where what stands in is no code

    @property
    def tail(self) -> str:
        """What is not finished yet."""
        # Who looks often, joins each piece once; the last line may be the head of a table.
        self._begun = ["".join(self._begun)]
        if len(self._lines) > 2:
            self._lines = ["".join(self._lines[:-1]), self._lines[-1]]
        return "".join((*self._lines, *self._begun))

    def feed(self, text: str) -> list[Block]:
        """More of the text; the blocks that are finished by that."""
        found: list[Block] = []
        *whole, rest = text.split("\n")
        for line in whole:
            self._take(f"{''.join(self._begun)}{line}\n", found)
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        self.size += len(text) - sum(len(block.text) for block in found)
        return found

    def cut(self) -> list[Block]:
        """End the tail here, for something else is shown; code that is open stays code."""
        found: list[Block] = []
        line = "".join(self._begun)
        self._begun.clear()
        if line:
            self._take(line, found)
        self._close(found)
        self.size = 0
        return found

    def finish(self) -> list[Block]:
        """The text is over: its last blocks. What comes then is another text."""
        found = self.cut()
        self._fence, self._listing = None, False
        return found

    def _take(self, line: str, found: list[Block]) -> None:
        """A whole line."""
        indent = lines.find_indent(line)
        if self._fence is not None:
            self._take_code(line, found)
        elif not line.strip():
            self._close(found)
            found.append(Block("blank", line))
        elif self._take_below(line, found) or self._open_fence(line, found):
            return
        elif indent >= lines.CODE_INDENT and not self._listing and not self._lines:
            found.append(Block("code", line, indent=indent))
        elif lines.is_heading(line):
            self._put("heading", line, found)
        elif lines.is_rule(line):
            self._put("rule", line, found)
        elif lines.find_marker(line) and self._begins_item(line):
            self._close(found)
            self._open("item", line)
            self._listing = True
            self._enter_code_of_item(line, found)
        elif line.lstrip().startswith(">"):
            if self._kind != "quote":
                self._close(found)
                self._open("quote", line)
            else:
                self._lines.append(line)
        elif self._lines:
            self._lines.append(line)
        else:
            self._listing = self._listing and indent > 0
            self._open("paragraph", line)

    def _take_code(self, line: str, found: list[Block]) -> None:
        assert self._fence is not None
        kind: Kind = "code"
        if lines.closes_fence(line, self._fence):
            self._fence, kind = None, "fence"
        found.append(Block(kind, line, info=self._info, indent=self._fence_indent))

    def _take_below(self, line: str, found: list[Block]) -> bool:
        """A line that says what the line above is: the underline of a heading, a table's dashes."""
        if self._kind != "paragraph":
            return False
        if lines.find_underline(line):
            self._kind = "heading"
            self._lines.append(line)
            self._close(found)
            return True
        *above, head = self._lines
        if not lines.is_delimiter(line) or "|" not in head:
            return False
        if len(lines.cut_row(head)) != len(lines.cut_row(line)):
            return False
        if above:
            found.append(Block("paragraph", "".join(above), indent=self._indent))
        self._kind = "table"
        self._lines = [head, line]
        return True

    def _open_fence(self, line: str, found: list[Block]) -> bool:
        opened = lines.read_fence(line)
        indent = lines.find_indent(line)
        if opened is None or (indent >= lines.CODE_INDENT and not self._listing):
            return False
        self._close(found)
        self._fence, self._info = opened
        self._fence_indent = indent
        self._listing = self._listing and self._fence_indent > 0
        found.append(Block("fence", line, info=self._info, indent=self._fence_indent))
        return True

    def _enter_code_of_item(self, line: str, found: list[Block]) -> None:
        """An item may be code from its first line on."""
        size = lines.find_marker(line)
        rest = line.lstrip()[size:]
        opened = lines.read_fence(rest)
        if opened is not None:
            self._fence, self._info = opened
            self._fence_indent = self._indent + size + lines.find_indent(rest)
            self._close(found)

    def _begins_item(self, line: str) -> bool:
        return self._kind != "paragraph" or self._listing or lines.can_interrupt(line)

    def _open(self, kind: "Kind", line: str) -> None:
        self._kind = kind
        self._lines = [line]
        self._indent = lines.find_indent(line)

    def _put(self, kind: "Kind", line: str, found: list[Block]) -> None:
        """A block of one line."""
        self._close(found)
        self._open(kind, line)
        self._listing = self._listing and self._indent > 0
        self._close(found)

    def _close(self, found: list[Block]) -> None:
        if self._kind is not None:
            found.append(Block(self._kind, "".join(self._lines), indent=self._indent))
        self._kind = None
        self._lines = []
