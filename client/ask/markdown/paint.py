"""One finished block as a terminal shows it: lines of text with colours, and nothing else.

With `inline` and `code` the only part of `ask` that imports rich: whoever imports it does so
where no token waits for that. It writes nothing. Lines of code are not broken: the terminal
does that, and what is copied from it is one line again. A block that cannot be painted is
shown as it came.
"""

from collections.abc import Sequence
from io import StringIO

from rich import box
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from ask.markdown import lines
from ask.markdown.blocks import Block, Splitter
from ask.markdown.code import CONTEXT_LINES, color_code, find_lexer
from ask.markdown.inline import read_inline
from ask.terminal import strip_controls

BULLET, BAR, LINE = "• ", "│ ", "─"
NARROWEST = 8
"""Columns that a text is given however deep it stands."""
INDENT_MOST = 24
CELL_LEAST = 6
"""Columns of a table's cell, its border counted; a table that has less is shown as it came."""
RULE_MOST = 60
DEPTH_MOST = 8
"""Quotes within quotes that are painted."""
_DIM = Style(dim=True)
_HEADINGS = {1: Style(bold=True, underline=True), 2: Style(bold=True)}
_LOWER = Style(bold=True, italic=True)
_SIDES = {":-:": "center", "--:": "right"}


class Painter:
    """Paints the blocks of one text, in their order.

    Args:
        width: columns of the terminal.
        colors: with colours, bold and the like; without, only the shape.

    Attributes:
        width: may be changed between blocks.
    """

    def __init__(self, width: int, *, colors: bool = True, depth: int = 0) -> None:
        self.width = width
        self._colors = colors
        self._depth = depth
        self._code: list[str] = []  # lines of the open code, for what they say of the next
        # Nothing is written to it: rich wants one wherever it measures and lays out.
        self._console = Console(
            file=StringIO(), width=width, highlight=False, markup=False, emoji=False, _environ={}
        )

    def paint(self, block: Block) -> str:
        """Its lines, with the end of the last."""
        return self.paint_all([block])

    def paint_all(self, blocks: Sequence[Block]) -> str:
        """Several at once; lines of code that follow each other are read together."""
        found: list[str] = []
        run: list[Block] = []
        for block in blocks:
            if run and not (block.kind == "code" and _belongs(block, run[-1])):
                found.append(self._paint_safely(run))
                run = []
            run.append(block)
            if block.kind != "code":
                found.append(self._paint_safely(run))
                run = []
        if run:
            found.append(self._paint_safely(run))
        return "".join(found)

    def skip(self, block: Block) -> None:
        """A block that is not painted."""
        if block.kind == "code":
            self._remember([block])
        elif block.kind == "fence":
            self._code.clear()

    def _paint_safely(self, run: list[Block]) -> str:
        text = _clean("".join(block.text for block in run))
        try:
            shown = self._paint_run(run)
        except Exception:  # a fault of a library's: an answer is never lost for its looks
            shown = text
        return shown if shown.endswith("\n") else f"{shown}\n"

    def _paint_run(self, run: list[Block]) -> str:
        block = run[0]
        text = _clean(block.text).rstrip("\n")
        pad = " " * min(block.indent, INDENT_MOST, max(self.width - NARROWEST, 0))
        match block.kind:
            case "blank":
                return "\n"
            case "heading":
                return self._paint_heading(text)
            case "rule":
                return self._show(Text.styled(LINE * min(self.width, RULE_MOST), _DIM))
            case "item":
                return self._paint_item(text, pad)
            case "quote":
                return self._paint_quote(text)
            case "table":
                return self._paint_table(text)
            case "fence":
                self._code.clear()
                return self._show(Text.styled(pad + text.strip(), _DIM))
            case "code":
                return self._paint_code(run, pad)
            case "paragraph":
                return self._wrap(read_inline(_strip_lines(text)), pad, pad)

    # ---- the kinds -------------------------------------------------------------------

    def _paint_heading(self, text: str) -> str:
        words = text.strip()
        level = len(words) - len(words.lstrip("#"))
        if level:
            words = words[level:].strip()
            bare = words.rstrip("#")
            words = bare.rstrip() if not bare or bare.endswith((" ", "\t")) else words
        else:
            *above, underline = words.split("\n")
            level, words = lines.find_underline(underline), _strip_lines("\n".join(above))
        return self._wrap(read_inline(words, _HEADINGS.get(level, _LOWER)), "", "")

    def _paint_item(self, text: str, pad: str) -> str:
        words = text.strip()
        size = lines.find_marker(words)
        mark = BULLET if size == 1 else f"{words[:size]} "
        shown = read_inline(_strip_lines(words[size:]))
        return self._wrap(shown, pad + mark, pad + " " * len(mark))

    def _paint_quote(self, text: str) -> str:
        inside = "\n".join(
            line.lstrip().removeprefix(">").removeprefix(" ") for line in text.split("\n")
        )
        if self._depth >= DEPTH_MOST or self.width <= NARROWEST:
            return f"{text}\n"
        splitter = Splitter()
        blocks = [*splitter.feed(inside), *splitter.finish()]
        inner = Painter(self.width - len(BAR), colors=self._colors, depth=self._depth + 1)
        bar = self._show(Text.styled(BAR, _DIM)).rstrip("\n")
        rows = inner.paint_all(blocks).splitlines() or [""]
        return "".join(f"{bar}{row}\n" for row in rows)

    def _paint_table(self, text: str) -> str:
        head, dashes, *rows = (lines.cut_row(line) for line in text.split("\n"))
        if len(head) * CELL_LEAST > self.width:
            return f"{text}\n"
        table = Table(box=box.SQUARE, border_style=_DIM, header_style=Style(bold=True))
        for name, dash in zip(head, dashes, strict=True):
            side = f"{':' if dash[0] == ':' else '-'}-{':' if dash[-1] == ':' else '-'}"
            match _SIDES.get(side):
                case "center":
                    table.add_column(read_inline(name), justify="center", overflow="fold")
                case "right":
                    table.add_column(read_inline(name), justify="right", overflow="fold")
                case _:
                    table.add_column(read_inline(name), overflow="fold")
        for row in rows:
            # Cells too many would be left out; mostly it is code with a `|` in it.
            last = " | ".join(row[len(head) - 1 :])
            cells = [*row[: len(head) - 1], last] if len(row) > len(head) else row
            cells += [""] * (len(head) - len(cells))
            table.add_row(*(read_inline(cell) for cell in cells))
        return self._show(table)

    def _paint_code(self, run: list[Block], pad: str) -> str:
        indent = run[0].indent
        texts = [_dedent(_clean(each.text), indent).rstrip("\n") + "\n" for each in run]
        code, lexer = "".join(texts), find_lexer(run[0].info)
        before = "".join(self._code)
        self._remember(run)
        shown = Text(code) if lexer is None else color_code(lexer, before, code)
        return "".join(
            self._show(Text(pad) + line) for line in shown.split("\n", allow_blank=True)[:-1]
        )

    # ---- text ------------------------------------------------------------------------

    def _remember(self, run: list[Block]) -> None:
        self._code += [_dedent(_clean(each.text), each.indent) for each in run]
        del self._code[:-CONTEXT_LINES]

    def _wrap(self, text: Text, first: str, rest: str) -> str:
        """Words in lines of the width; `first` before the first, `rest` before the others."""
        columns = max(self.width - len(first), NARROWEST)
        shown: list[str] = []
        for line in text.wrap(self._console, columns, overflow="fold"):
            line.rstrip()
            shown.append(self._show(Text(rest if shown else first) + line))
        return "".join(shown) or "\n"

    def _show(self, shown: Text | Table) -> str:
        if isinstance(shown, Text):
            pieces = shown.render(self._console, end="\n")
        else:
            options = self._console.options.update_width(self.width)
            pieces = self._console.render(shown, options)
        system = ColorSystem.STANDARD if self._colors else None
        return "".join(
            piece.text
            if piece.style is None
            else piece.style.render(piece.text, color_system=system)
            for piece in pieces
        )


def _clean(text: str) -> str:
    """A text without what a terminal would obey; tabs as wide as they count for indentation."""
    return strip_controls(text).replace("\r", "").expandtabs(lines.TAB_STOP)


def _belongs(block: Block, before: Block) -> bool:
    """Whether two lines of code are of the same."""
    return (block.info, block.indent) == (before.info, before.indent)


def _strip_lines(text: str) -> str:
    return "\n".join(line.strip(" \t") for line in text.split("\n")).strip("\n")


def _dedent(line: str, indent: int) -> str:
    """A line without as much white space as its fence stands in."""
    bare = line.lstrip(" \t")
    return " " * max(lines.find_indent(line) - indent, 0) + bare
