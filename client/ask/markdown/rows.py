"""Where the cursor of a terminal stands after plain text, known for sure.

Terminals do not agree on how wide a family of emoji is. So a row is ended here, before any
terminal would: each character counts for the most that any of them gives it. It writes
nothing and imports the tables of Unicode only for text that needs them.
"""

MARGIN = 2
"""Columns left free at the right: room for the `^C` that a terminal shows."""
NARROWEST = 8
TAB_COLUMNS = 4
_VARIATION = "\ufe0f"
"""Makes a character of one column an emoji of two, on some terminals."""
_SOFT_HYPHEN = "\u00ad"


def find_most(character: str) -> int:
    """The most columns that a terminal gives a character within its neighbours."""
    if " " <= character <= "~":
        return 1
    from unicodedata import category, east_asian_width

    if character == _VARIATION:
        return 1
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return 2  # half a flag: alone some make it wide
    kind = category(character)
    if kind in ("Mn", "Me") or (kind == "Cf" and character != _SOFT_HYPHEN):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


class Rows:
    """Follows the cursor.

    Attributes:
        row: of the cursor, counted from where it stood first.
        column: of the cursor; None: not known until the next line begins.
        starts: rows in which lines of the text begin, the current one last; whoever follows
            a text takes out those that it is done with. -1: in no row that is known.
    """

    def __init__(self, columns: int) -> None:
        self.row = 0
        self.column: int | None = 0
        self.starts: list[int] = [0]
        self._limit = max(columns - MARGIN, NARROWEST)

    def resize(self, columns: int) -> None:
        """The terminal has another width: what stands there may have moved, all of it."""
        self._limit = max(columns - MARGIN, NARROWEST)
        self.starts = [-1] * len(self.starts)
        self.column = None

    def begin(self, row: int) -> None:
        """The cursor was moved to the begin of a row, where new text starts."""
        self.row, self.column, self.starts = row, 0, [row]

    def lay(self, text: str) -> str:
        """What to write for more text, and where that leaves the cursor."""
        first, *more = text.replace("\r", "").split("\n")
        pieces = [self._lay_line(first)]
        for line in more:
            self.row += 1
            self.column = 0
            self.starts.append(self.row)
            pieces.append(f"\n{self._lay_line(line)}")
        return "".join(pieces)

    def _lay_line(self, line: str) -> str:
        if self.column is None:
            return line.replace("\t", " " * TAB_COLUMNS)  # the terminal breaks it where it wants
        if line.isascii() and self.column + len(line) <= self._limit and "\t" not in line:
            self.column += len(line)
            return line
        shown: list[str] = []
        for character in line:
            size = TAB_COLUMNS if character == "\t" else find_most(character)
            if self.column + size > self._limit:
                shown.append("\n")
                self.row += 1
                self.column = 0
            shown.append(" " * TAB_COLUMNS if character == "\t" else character)
            self.column += size
        return "".join(shown)
