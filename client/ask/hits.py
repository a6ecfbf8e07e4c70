"""Hits of a search as lines: where it was said, and a piece of it with the words in bold.

Values in, lines out; both ways of `ask history search` show hits by it. Light enough
for the short one: of modules that Python has not loaded by itself it imports `time`
and what its neighbours need, and no `typing`.
"""

import time

from ask.graphemes import find_width, fit
from ask.terminal import ControlFilter, flatten

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

SHORT_ID = 8
"""Characters of an id that people see; enough to be unique among thousands."""
NAME_COLUMNS = 28
NARROW_COLUMNS = 8
"""What a name keeps on a narrow terminal; with less it says nothing."""
INDENT = "    "
HITS = 20
"""What fits a screen; -n asks for more."""
PAGE = 100
"""Hits that the daemon answers at once."""
NOTHING = "Nothing found."
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def name_conversation(summary: "Mapping[str, Any]") -> str:
    """The name a person gave, else the title, else that there is none."""
    return str(summary.get("name") or summary.get("title") or "(untitled)")


def say_more(limit: int) -> str:
    """What a person is told where `limit` hits were not all."""
    return f"There is more: -n {2 * limit} shows twice as much."


def is_styled(environ: "Mapping[str, str]") -> bool:
    """Whether a terminal shows words in bold, and its owner wants it to."""
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"


def lay_out_hits(
    hits: "Sequence[Mapping[str, Any]]", columns: int | None, *, styled: bool
) -> "list[str]":
    """Two lines a hit: short id, name or title, time and role; and what was said."""
    lines = []
    for hit in hits:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(hit["at"]))
        id, tail = str(hit["conversation_id"])[:SHORT_ID], f"{at}  {hit['role']}"
        name = flatten(name_conversation(hit))
        width = max(NAME_COLUMNS, find_width(name))
        if columns is not None:
            rest = find_width(f"{id}    {tail}")
            width = max(NARROW_COLUMNS, min(NAME_COLUMNS, columns - rest))
        lines += [f"{id}  {fit(name, width)}  {tail}", f"{INDENT}{_highlight(hit, styled=styled)}"]
    return lines


def _highlight(hit: "Mapping[str, Any]", *, styled: bool) -> str:
    """The piece that was said, without what a terminal would obey, the hits in bold."""
    controls = ControlFilter()  # one for all: a sequence may begin before a hit and end in it
    shown = []
    for piece, is_hit in _split(str(hit["snippet"]), hit["marks"]):
        text = controls.feed(piece)
        shown.append(f"{_BOLD}{text}{_PLAIN}" if styled and is_hit and text else text)
    return "".join(shown)


def _split(text: str, marks: "Sequence[Sequence[Any]]") -> "Iterator[tuple[str, bool]]":
    place = 0
    for start, end in marks:
        yield text[place:start], False
        yield text[start:end], True
        place = end
    yield text[place:], False
