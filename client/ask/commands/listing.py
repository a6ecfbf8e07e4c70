"""How conversations are listed: a row each, in groups by what they need.

Values in, lines out; the caller strips control sequences where a terminal would obey them.
On a terminal a row is one line of it, however narrow: the least important is left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ask.commands.layout import Summary, count, flatten, name_conversation, name_model
from ask.graphemes import find_width, fit
from ask.hits import NAME_COLUMNS, NARROW_COLUMNS, SHORT_ID

MODEL_COLUMNS = 28
GAP = "  "
ROW_INDENT = "  "
TIME, SHORT_TIME = "%Y-%m-%d %H:%M", "%m-%d %H:%M"
ENOUGH_NAME, LITTLE_NAME, ENOUGH_MODEL = 16, 12, 20
"""What is kept of a name and a model before something else is left out."""
MARKS_COLUMNS = 20
"""Kept for how many wait and who is attached; a row with more does not narrow all others."""
NAMED_CLIENTS = 2
"""So many who are attached are named; of more it is said how many they are."""

GROUPS: tuple[tuple[str, str], ...] = (
    ("needs_you", "Needs you"),
    ("working", "Working"),
    ("idle", "Idle"),
    ("stored", "Recent"),
)
"""The states of a conversation in the order of `ask list`, and their headings."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a row says beside the id, the name and the marks.

    Attributes:
        time: how it is said; empty: not at all.
        enough: columns of the name below which something else is rather left out.
    """

    model: bool = True
    messages: bool = True
    time: str = TIME
    enough: int = ENOUGH_NAME


SHAPES = (
    _Shape(),
    _Shape(messages=False),
    _Shape(messages=False, time=SHORT_TIME),
    _Shape(model=False, messages=False, time=SHORT_TIME, enough=LITTLE_NAME),
    _Shape(model=False, messages=False, time=""),
)
"""The first in which enough of all can be read is taken, else the last."""


def lay_out_rows(summaries: Iterable[Summary], columns: int | None) -> list[str]:
    """One conversation a line: short id, name or title, provider (model), updated, messages.

    Behind them how many prompts wait, and who is attached, of those that have some.
    Within `columns` a name is shortened, then something is left out in all rows.
    """
    rows = [_list_cells(each) for each in summaries]
    if columns is None:
        return [
            row.lay_out(
                SHAPES[0],
                max(NAME_COLUMNS, find_width(row.name)),
                max(MODEL_COLUMNS, find_width(row.model)),
            )
            for row in rows
        ]
    name = min(NAME_COLUMNS, max((find_width(row.name) for row in rows), default=0))
    model = min(MODEL_COLUMNS, max((find_width(row.model) for row in rows), default=0))
    marks = min(MARKS_COLUMNS, max((find_width(row.mark(None)) for row in rows), default=0))
    for shape in SHAPES:
        plain = max((find_width(row.lay_out(shape, 0, 0, 0)) for row in rows), default=0)
        room = columns - plain - (marks + len(GAP) if marks else 0)
        if min(name, shape.enough) + (min(model, ENOUGH_MODEL) if shape.model else 0) <= room:
            break
    wanted = model if shape.model else 0
    least = min(shape.enough, max(columns - SHORT_ID - len(GAP), NARROW_COLUMNS))
    name = min(name, max(room - wanted, least))
    model = min(wanted, max(room - name, 0))
    return [row.lay_out(shape, name, model, columns) for row in rows]


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one conversation, as a terminal shows them, so that they can be measured.

    `marks`: each in the ways in which it can be said, the longest first.
    """

    id: str
    name: str
    model: str
    updated: datetime
    messages: str
    marks: tuple[tuple[str, ...], ...]

    def lay_out(self, shape: _Shape, name: int, model: int, columns: int | None = None) -> str:
        """The row, with so many columns for name and model."""
        cells = [self.id, fit(self.name, name) if name else ""]
        if shape.model:
            cells.append(fit(self.model, model) if model else "")
        if shape.time:
            cells.append(self.updated.strftime(shape.time))
        if shape.messages:
            cells.append(self.messages)
        row = GAP.join(cells)
        marks = self.mark(None if columns is None else columns - find_width(row) - len(GAP))
        return GAP.join([row, marks]) if marks else row

    def mark(self, room: int | None) -> str:
        """The marks; one that does not fit is said shorter, or left out."""
        shown = ""
        for ways in self.marks:
            tried = [GAP.join([shown, each]) if shown else each for each in ways]
            shown = next(
                (each for each in tried if room is None or find_width(each) <= room), shown
            )
        return shown


def _list_cells(summary: Summary) -> _Row:
    marks: list[tuple[str, ...]] = []
    if summary.get("queued"):
        marks.append((f"{summary['queued']} queued",))
    if summary.get("attached"):
        marks.append(_word_clients(summary))
    marks += [(each,) for each in ("pinned", "ephemeral") if summary.get(each)]
    return _Row(
        id=str(summary["id"])[:SHORT_ID],
        name=flatten(name_conversation(summary)),
        model=flatten(name_model(summary.get("model"))),
        updated=datetime.fromtimestamp(summary["updated_at"]),
        messages=count(summary["message_count"], "message"),
        marks=tuple(marks),
    )


def _word_clients(summary: Summary) -> tuple[str, ...]:
    """Who is attached: `at pts/3`; of more than two, or where it is narrow: `4 attached`."""
    names = [flatten(str(row.get("tty") or row["client"])) for row in summary["clients"]]
    how_many = f"{summary['attached']} attached"
    if len(names) == summary["attached"] <= NAMED_CLIENTS:
        return f"at {', '.join(names)}", how_many
    return (how_many,)


def group_summaries(summaries: Iterable[Summary]) -> list[Summary]:
    """Each conversation once, by what it needs, the newest first within a group."""
    known: dict[str, Summary] = {}
    for summary in summaries:
        known.setdefault(str(summary["id"]), summary)
    order = {state: place for place, (state, _) in enumerate(GROUPS)}
    return sorted(
        known.values(),
        key=lambda each: (order.get(each["state"], len(order)), -each["updated_at"]),
    )


def lay_out_groups(summaries: Sequence[Summary], columns: int | None) -> list[str]:
    """Grouped rows under headings; a group without a conversation has none."""
    rows = lay_out_rows(summaries, None if columns is None else columns - len(ROW_INDENT))
    lines: list[str] = []
    for state, heading in GROUPS:
        group = [row for each, row in zip(summaries, rows, strict=True) if each["state"] == state]
        if group:
            lines += [""] if lines else []
            lines += [heading, *(f"{ROW_INDENT}{row}" for row in group)]
    return lines
