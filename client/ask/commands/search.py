"""`ask history search`: what was said somewhere, the newest first, each hit with a piece of it.

It lays out hits and looks for none: the daemon does, and says where in a piece
the words stand. They are highlighted on a terminal only.
"""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from ask.commands.calls import (
    Map,
    complete_conversation,
    json_option,
    open_client,
    resolve,
)
from ask.commands.help import Command, Example
from ask.commands.layout import (
    INDENT,
    NAME_COLUMNS,
    NARROW_COLUMNS,
    SHORT_ID,
    find_columns,
    name_conversation,
)
from ask.commands.usage import Since
from ask.exits import DONE, FAILED, USAGE, Failed
from ask.graphemes import find_width, fit
from ask.protocol import errors
from ask.terminal import ControlFilter, strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

HITS = 20
"""What fits a screen; -n asks for more."""
PAGE = 100
"""Hits that the daemon answers at once."""
ROLES = ("user", "assistant", "tool", "summary")
NOTHING = "Nothing found."
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@click.command(
    "search",
    cls=Command,
    examples=[
        Example("ask history search fox", code=errors.FAILED),
        Example("ask history search '\"red fox\"' --role user --since 7d", code=errors.FAILED),
        Example(
            "ask history search 'fox*' -s work --json",
            code=errors.FAILED,
            before=("ask new work",),
        ),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("text", metavar="TEXT...", nargs=-1, required=True)
@click.option(
    "-s",
    "--session",
    "conversation",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="Only in this conversation.",
)
@click.option("--role", type=click.Choice(ROLES), help="Only what this one said.")
@click.option("--since", type=Since(), metavar="SPAN|DAY", help="Said from 7d or 2026-11-01 on.")
@click.option("--until", type=Since(), metavar="SPAN|DAY", help="Said before then.")
@click.option("--rank", is_flag=True, help="The best hits first, not the newest.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=HITS,
    metavar="N",
    help=f"So many hits at the most (default: {HITS}).",
)
@json_option
def search_command(
    text: Sequence[str],
    conversation: str | None,
    role: str | None,
    since: float | None,
    until: float | None,
    rank: bool,
    limit: int,
    as_json: bool,
) -> int:
    """Find what was said in any stored conversation.

    All words have to be in one message, in any order and any case; words in
    double quotes stand in a row; a word with a * at its end finds what begins
    with it. Nothing else means anything. Nothing found: exit code 1, as of grep.
    """
    words = " ".join(text)
    if not words.strip():
        raise click.UsageError("There is nothing to search for.")
    asked: Map = {
        "text": words,
        "role": role,
        "since_at": since,
        "until_at": until,
        "rank": rank,
    }
    with open_client() as client:
        if conversation is not None:
            asked["conversation_id"] = _find_stored(client, conversation)
        hits, more = read_hits(client, asked, limit)
    if as_json:
        click.echo(json.dumps(hits))
    elif hits:
        lines = lay_out_hits(hits, find_columns(), styled=os.isatty(1))
        click.echo("\n".join(lines))
    if not hits:
        click.echo(NOTHING, err=True)
        return FAILED
    if more:
        click.echo(f"There is more: -n {2 * limit} shows twice as much.", err=True)
    return DONE


def read_hits(client: "Client", asked: Map, limit: int) -> tuple[list[Map], bool]:
    """At most `limit` hits, and whether there are more."""
    hits: list[Map] = []
    cursor: str | None = None
    while True:
        size = min(PAGE, limit - len(hits))
        page = client.call("conversation/search", {**asked, "cursor": cursor, "limit": size})
        hits += page["data"]
        cursor = page.get("next_cursor")
        if cursor is None or len(hits) >= limit:
            return hits, cursor is not None


def lay_out_hits(hits: Sequence[Map], columns: int | None, *, styled: bool) -> list[str]:
    """Two lines a hit: short id, name or title, time and role; and what was said."""
    lines = []
    for hit in hits:
        at = datetime.fromtimestamp(hit["at"]).strftime("%Y-%m-%d %H:%M")
        id, tail = str(hit["conversation_id"])[:SHORT_ID], f"{at}  {hit['role']}"
        name = " ".join(strip_controls(name_conversation(hit)).split())
        width = max(NAME_COLUMNS, find_width(name))
        if columns is not None:
            rest = find_width(f"{id}    {tail}")
            width = max(NARROW_COLUMNS, min(NAME_COLUMNS, columns - rest))
        lines += [f"{id}  {fit(name, width)}  {tail}", f"{INDENT}{_highlight(hit, styled=styled)}"]
    return lines


def _highlight(hit: Map, *, styled: bool) -> str:
    """The piece that was said, without what a terminal would obey, the hits in bold."""
    controls = ControlFilter()  # one for all: a sequence may begin before a hit and end in it
    shown = []
    for piece, is_hit in _split(str(hit["snippet"]), hit["marks"]):
        text = controls.feed(piece)
        shown.append(f"{_BOLD}{text}{_PLAIN}" if styled and is_hit and text else text)
    return "".join(shown)


def _split(text: str, marks: Sequence[Sequence[Any]]) -> Iterator[tuple[str, bool]]:
    place = 0
    for start, end in marks:
        yield text[place:start], False
        yield text[start:end], True
        place = end
    yield text[place:], False


def _find_stored(client: "Client", text: str) -> str:
    """The id of a conversation that can be searched."""
    found = resolve(client, text)
    if found.get("ephemeral"):
        raise Failed(
            USAGE,
            "This conversation is in memory only, and what is in memory is not searched.",
            data={"reason": "usage"},
        )
    return str(found["id"])
