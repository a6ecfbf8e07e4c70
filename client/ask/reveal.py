"""Text of others shown as it is: every character that hides or acts becomes an escape.

`strip_controls` takes out what a terminal would obey, which is right for an answer that
is to be read. It is wrong for what is about to be carried out: a command may hide its
worst half in a sequence that a terminal swallows. Here nothing is left out, so what is
shown is all there is. It colours nothing and decides nothing.
"""

from collections.abc import Iterator

from ask.graphemes import find_width

TAB_COLUMNS = 4
"""A tab as so many spaces: how wide a terminal makes it depends on where it stands."""
POINTS_A_COLUMN = 8
"""Code points that may stand in one column; letters under a heap of marks are cut all the same."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that are printable by their category and show nothing."""


def reveal(character: str) -> str:
    """One character as it can be shown: itself if it is seen and does nothing, else an escape."""
    if character == "\t":
        return " " * TAB_COLUMNS
    if character.isprintable() and character not in _BLANK and not _selects(character):
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def reveal_text(text: str) -> str:
    """A text on one line; line ends are escapes too."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(reveal(each) for each in text)


def wrap(line: str, columns: int | None, *, at_words: bool = False) -> Iterator[tuple[str, int]]:
    """A line in rows that no terminal breaks again: each with how far into the line it goes.

    Args:
        columns: how many a row may take; None: the line is one row.
        at_words: a row ends behind a space, if it has one in its second half; nothing is left out.
    """
    if columns is None or (len(line) <= columns and line.isprintable() and line.isascii()):
        yield reveal_text(line), len(line)
        return
    row: list[str] = []
    width = points = 0
    for place, character in enumerate(line):
        shown = reveal(character)
        needed = find_width(shown)
        while row and (width + needed > columns or points >= columns * POINTS_A_COLUMN):
            kept = _find_word(row) if at_words else len(row)
            yield "".join(row[:kept]), place - len(row) + kept
            row = row[kept:]
            width, points = sum(map(find_width, row)), sum(map(len, row))
        row.append(shown)
        width += needed
        points += len(shown)
    yield "".join(row), len(line)


def _find_word(row: list[str]) -> int:
    """Where the last word of a row begins, as far as that is in its second half; else its end."""
    for place in range(len(row), len(row) // 2, -1):
        if row[place - 1] == " ":
            return place
    return len(row)


def shorten_line(text: str, columns: int | None) -> str:
    """A text as one line, cut with `...` where it would take more columns."""
    line = " ".join(text.split())
    rows = wrap(line, columns)
    first, reached = next(rows)
    if columns is None or reached == len(line):
        return first
    return next(wrap(line, max(columns - 3, 1)))[0].rstrip() + "..."


def _selects(character: str) -> bool:
    """Whether it only chooses how the one before is drawn (variation selectors, tags)."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0000" <= character <= "\U000e0fff"
