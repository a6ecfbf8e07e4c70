"""The last rows of a text that still grows, for a window of few rows.

Pure. Only as much of the text is looked at as can be seen: a tail may be long, and it is
drawn many times a second.
"""

from ask.graphemes import find_width, is_boundary
from ask.terminal import strip_controls

TAB_COLUMNS = 4


def find_last_rows(text: str, columns: int, rows: int) -> list[str]:
    """At most `rows` rows of at most `columns` columns each, that end where the text ends.

    No row breaks what is seen as one character, unless that alone is wider than a row.
    """
    if rows <= 0 or not text:
        return []
    columns = max(columns, 1)
    # Every row holds a character at least: what lies farther back cannot be seen. Marks that
    # take no column may make a row longer; then fewer rows are shown.
    lines = strip_controls(text[-(columns * rows * 4) :]).expandtabs(TAB_COLUMNS).split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    found: list[str] = []
    for line in reversed(lines):
        found[:0] = wrap_line(line, columns)
        if len(found) >= rows:
            break
    return found[-rows:]


def wrap_line(line: str, columns: int) -> list[str]:
    """A line in rows of at most so many columns; an empty line is one row."""
    if line.isascii() and len(line) <= columns:
        return [line]
    rows, start, width = [], 0, 0
    cluster = 0  # where the last whole character began
    for place in range(1, len(line) + 1):
        if not is_boundary(line, place):
            continue
        needed = find_width(line[cluster:place])
        if width and width + needed > columns:
            rows.append(line[start:cluster])
            start, width = cluster, 0
        width += needed
        cluster = place
    rows.append(line[start:])
    return rows
