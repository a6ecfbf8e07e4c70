"""`ask usage`: the tokens that answers took, and what they cost, added up by the daemon.

It lays out sums and adds up none; it knows no prices. A day begins where the
caller's clock says so, by the offset that holds now.
"""

import json
import re
import time
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, read_pages
from ask.commands.help import Command, Example
from ask.commands.layout import SHORT_ID, find_columns, flatten
from ask.graphemes import find_width, fit
from ask.protocol import errors
from ask.render import show_cost
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Caller

UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400}
"""What `--since 7d` counts in."""
NARROW_COLUMNS = 8
"""What the first column keeps on a narrow terminal: a short id, or most of a day."""
HEADINGS = {"day": "Day", "model": "Model", "conversation": "Conversation"}
NUMBERS = ("Answers", "Input", "Cached", "Output", "Reasoning", "Cost")
DELETED = "(deleted)"
NOTHING = "No answers have been counted."


class Since(click.ParamType[float]):
    """A span such as `7d`, or a day: seconds since 1970 in the caller's time zone."""

    name = "since"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read what was typed."""
        found = read_since(str(value), now=time.time())
        if found is None:
            self.fail(f"{value!r} is no span such as 7d or 12h, and no day such as 2026-11-01.")
        return found


def read_since(text: str, *, now: float) -> float | None:
    """When a span before `now` began, or a day did here; None: it is neither."""
    if span := re.fullmatch(r"([0-9]{1,18})([hdw])", text):
        return max(now - int(span[1]) * UNITS_S[span[2]], 0.0)  # nothing was said before 1970
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").astimezone().timestamp()
    except (OverflowError, ValueError, OSError):
        return None


@click.command(
    "usage",
    cls=Command,
    examples=[
        Example("ask usage"),
        Example("ask usage --by model --since 7d"),
        Example("ask usage --by conversation -n 10 --json"),
    ],
    codes=[errors.NO_DAEMON],
)
@click.option(
    "--by",
    type=click.Choice(("day", "model", "conversation")),
    default="day",
    help="What a row stands for (default: day).",
)
@click.option("--since", type=Since(), metavar="SPAN|DAY", help="From 7d, 12h or 2026-11-01 on.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="The first N rows.")
@json_option
def usage_command(by: str, since: float | None, limit: int | None, as_json: bool) -> None:
    """Add up the tokens that answers took, and their cost.

    Days and conversations come the latest first. Deleted conversations stay
    counted; ephemeral ones are not.
    """
    with open_client() as client:
        rows, total = read_usage(client, by=by, since_at=since, limit=limit)
    if as_json:
        click.echo(json.dumps(rows))
    elif not total["answers"]:
        click.echo(NOTHING)
    else:
        lines = [*lay_out_usage(rows, total, by, find_columns()), *explain_prices(total)]
        if total["answers"] > sum(row["answers"] for row in rows):
            lines.append(f"Shown are the first {len(rows)} rows; the total is of all.")
        click.echo(strip_controls("\n".join(lines)))


def read_usage(
    client: "Caller", *, by: str, since_at: float | None, limit: int | None
) -> tuple[list[Map], Map]:
    """Sums, at most `limit`, and the sum of all."""
    offset = datetime.now().astimezone().utcoffset()
    asked = {
        "by": by,
        "since_at": since_at,
        "utc_offset_s": 0 if offset is None else int(offset.total_seconds()),
    }
    rows, page = read_pages(client, "usage/read", asked, limit=limit)
    return rows, page["total"]


def lay_out_usage(rows: list[Map], total: Map, by: str, columns: int | None) -> list[str]:
    """The table: what a row stands for, then its numbers, the total below.

    Within `columns` the first column is shortened; the numbers are what was asked for.
    """
    names = [HEADINGS[by], *(name_group(row, by) for row in rows), "Total"]
    cells = [NUMBERS, *(lay_out_numbers(row) for row in (*rows, total))]
    widths = [max(len(line[place]) for line in cells) for place in range(len(NUMBERS))]
    first = max(find_width(name) for name in names)
    if columns is not None:
        first = min(first, max(columns - sum(widths) - 2 * len(widths), NARROW_COLUMNS))
    return [
        "  ".join(
            [fit(name, first), *(each.rjust(w) for each, w in zip(line, widths, strict=True))]
        )
        for name, line in zip(names, cells, strict=True)
    ]


def name_group(row: Map, by: str) -> str:
    """What a row stands for, on one line."""
    if row["group"] is None:
        return DELETED
    text = row["group"]
    if by == "conversation":
        text = f"{text[:SHORT_ID]} {row.get('label') or ''}"
    return flatten(text)


def lay_out_numbers(row: Map) -> tuple[str, ...]:
    """Answers, tokens and cost, the thousands apart."""
    counts = (
        row["answers"],
        row["input_tokens"],
        row["cached_tokens"],
        row["output_tokens"],
        row["reasoning_tokens"],
    )
    cost = row.get("cost_usd")
    return (*(f"{number:,}" for number in counts), "-" if cost is None else show_cost(cost))


def explain_prices(total: Map) -> list[str]:
    """What is missing in the cost, and how to let it be counted from now on."""
    unpriced = total["unpriced"]
    if not unpriced:
        return []
    answers = "1 answer has" if unpriced == 1 else f"{unpriced:,} answers have"
    return [
        "",
        f"{answers} no known price and no part in the cost. For those to come, set",
        'input_price and output_price under [models."provider/model"], in dollars for a',
        "million tokens; the file is at: ask config path",
    ]
