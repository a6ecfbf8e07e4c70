"""An approval as a person reads it: what a call would do, word for word, and nothing of it as ours.

What is asked about is a model's: every line of it stands behind a gutter, also what a narrow
terminal would break, so that nothing in it can pass for our own words; what would act or
hide is an escape. A long one is cut where its reader still sees the choices, and says so.
It asks nobody, and knows no questions.
"""

import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ask.reveal import reveal_text, wrap
from ask.whereabouts import find_place

GUTTER = "  | "
"""What stands before each row of what somebody else wrote."""
LEAST_COLUMNS = 20
"""A narrower terminal breaks our rows; it is no place to decide anything."""
LEAST_ROWS = 6
"""So much is shown of what is asked about, however low the terminal."""
LABEL_ROWS = 5
"""A choice takes no more of them, whatever it offers."""
BESIDE = " " * len("1. ")
"""What stands before a choice's further rows."""
OUR_ROWS = 10
"""What a question takes of a screen besides: title, choices, the line for the answer."""
USUAL = os.terminal_size((80, 24))
"""For a terminal that does not say how large it is."""
_RED, _GREEN, _CYAN, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Sight:
    """Where it is shown.

    Attributes:
        columns: None: no terminal, where no line is broken.
        rows: how many of them what is asked about may take; None: all that it needs.
        directory: where its reader stands, who need not be told.
    """

    columns: int | None = None
    rows: int | None = None
    coloured: bool = False
    directory: str | None = None


def find_sight(descriptor: int, environ: Mapping[str, str]) -> Sight:
    """What the terminal of a descriptor can show; of what is none, everything and plain."""
    if not os.isatty(descriptor):
        return Sight()
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        size = USUAL
    columns, rows = size.columns or USUAL.columns, size.lines or USUAL.lines
    coloured = not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"
    return Sight(
        max(columns, LEAST_COLUMNS), max(rows - OUR_ROWS, LEAST_ROWS), coloured, find_place(environ)
    )


@dataclass(frozen=True, slots=True)
class Approval:
    """What is asked about.

    Attributes:
        title: what would be done, in a line; begun by us, ended by whoever wants it.
        body: the arguments, or a diff.
        note: our own sentence about it.
        directory: where it would be done.
    """

    title: str
    body: str = ""
    note: str = ""
    directory: str | None = None


def read_approval(detail: Mapping[str, Any], text: str) -> Approval:
    """What an approval's `detail` says; where it does not say more than a text, that."""
    title, body = detail.get("title"), detail.get("body", "")
    if not (isinstance(title, str) and title and isinstance(body, str)):
        title, _, body = text.partition("\n")
        return Approval(title, body.strip("\n"))
    cwd, note = detail.get("cwd"), detail.get("confinement")
    return Approval(
        title,
        body.strip("\n"),
        note if isinstance(note, str) else "",
        cwd if isinstance(cwd, str) else None,
    )


def lay_out_approval(approval: Approval, sight: Sight, *, more: str = "") -> list[str]:
    """The lines that say what would be done; all that is not ours but the first behind the gutter.

    Args:
        more: how to see what was cut.
    """
    columns = None if sight.columns is None else sight.columns - len(GUTTER)
    titles = approval.title.split("\n")  # one line, but where its middle was left out
    first, *rest = (row for title in titles for row, _ in wrap(title, columns))
    lines = [_paint(first, _BOLD, sight), *(f"{GUTTER}{row}" for row in rest)]
    if approval.body:
        lines += _lay_out_rows(approval.body, columns, sight, more)
    if approval.directory not in (None, sight.directory):
        lines += [f"  {row}" for row, _ in wrap(f"In {approval.directory}", columns)]
    if approval.note:
        words = reveal_text(approval.note)
        lines += [f"  {row}" for row in (textwrap.wrap(words, columns) if columns else [words])]
    return lines


def lay_out_label(label: str, sight: Sight) -> str:
    """What stands beside the number of a choice: whole, for it may say how far a word goes."""
    words = reveal_text(" ".join(label.split()))
    if sight.columns is None:
        return words
    room = sight.columns - len(BESIDE)
    # By words where each letter is as wide as any other.
    rows = textwrap.wrap(words, room) if words.isascii() else [row for row, _ in wrap(words, room)]
    if len(rows) > LABEL_ROWS:
        rows[LABEL_ROWS - 1 :] = ["..."]
    return f"\n{BESIDE}".join(rows)


def _lay_out_rows(body: str, columns: int | None, sight: Sight, more: str) -> list[str]:
    rows = list(islice(_lay_out_body(body, columns), sight.rows))
    lines = [GUTTER + _paint(row, colour, sight) for row, colour, _ in rows]
    _, _, reached = rows[-1]
    if reached < len(body):
        lines.append(f"  ... {_count_rest(body, reached)}{more}")
    return lines


def _lay_out_body(body: str, columns: int | None) -> Iterator[tuple[str, str, int]]:
    """Each row with its colour, and how far into the body it goes."""
    is_diff = body.startswith("@@ ") or "\n@@ " in body
    start = 0
    # Not by `splitlines`, which takes more for a line's end than a terminal does.
    for line in body.split("\n"):
        colour = _colour_of(line) if is_diff else ""
        for row, reached in wrap(line, columns):
            yield row, colour, start + reached
        start += len(line) + 1


def _colour_of(line: str) -> str:
    """What a line of a diff is painted in."""
    if line.startswith(("+++ ", "--- ")):
        return _BOLD
    return {"+": _GREEN, "-": _RED, "@": _CYAN}.get(line[:1], "")


def _paint(row: str, colour: str, sight: Sight) -> str:
    return f"{colour}{row}{_PLAIN}" if colour and sight.coloured else row


def _count_rest(body: str, reached: int) -> str:
    """How much is not shown."""
    lines = body.count("\n", reached)
    if lines == 0:
        return f"{len(body) - reached:,} more characters"
    return f"{lines:,} more line{'s' if lines > 1 else ''}"
