"""`ask history search`: what was said somewhere, the newest first, each hit with a piece of it.

It looks for nothing: the daemon does, and says where in a piece the words stand.
They are highlighted on a terminal only. The plain forms never come here, where
nothing is unusual: `ask.fast.search` takes them.
"""

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ask.commands.calls import (
    Map,
    json_option,
    open_client,
    read_pages,
    resolve,
)
from ask.commands.completing import complete_conversation
from ask.commands.help import Command, Example
from ask.commands.layout import find_columns
from ask.commands.usage import Since
from ask.exits import DONE, FAILED, USAGE, Failed
from ask.hits import HITS, NOTHING, PAGE, is_styled, lay_out_hits, say_more
from ask.protocol import errors

if TYPE_CHECKING:
    from ask.connection import Client

WORDS_LIMIT = 1000
"""Characters that the daemon takes of what is searched for."""
ROLES = ("user", "assistant", "tool", "summary")


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
    if len(words) > WORDS_LIMIT:
        raise click.UsageError(
            f"What to search for has {len(words)} characters; {WORDS_LIMIT} is the most."
        )
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
        styled = os.isatty(1) and is_styled(os.environ)
        lines = lay_out_hits(hits, find_columns(), styled=styled)
        click.echo("\n".join(lines))
    if not hits:
        click.echo(NOTHING, err=True)
        return FAILED
    if more:
        click.echo(say_more(limit), err=True)
    return DONE


def read_hits(client: "Client", asked: Map, limit: int) -> tuple[list[Map], bool]:
    """At most `limit` hits, and whether there are more."""
    hits, page = read_pages(client, "conversation/search", asked, limit=limit, size=PAGE)
    return hits, page.get("next_cursor") is not None


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
