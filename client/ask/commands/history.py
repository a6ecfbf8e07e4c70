"""`ask history list | show`: what is stored; and the door to the group's other files.

Listing and showing read and change nothing.
"""

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ask.commands import layout, listing
from ask.commands.calls import (
    Map,
    json_option,
    list_pages,
    open_client,
    read_events,
    read_tail,
    resolve,
)
from ask.commands.completing import complete_conversation
from ask.commands.context import show_context
from ask.commands.help import Command, Example, Group
from ask.commands.painted import find_paint
from ask.protocol import errors
from ask.tails import find_last_messages
from ask.terminal import strip_controls
from ask.transcript import (
    Entry,
    Message,
    Unreadable,
    describe_blob,
    encode_message,
    read_content,
    read_entries,
)

if TYPE_CHECKING:
    from ask.connection import Client


@click.group(
    "history",
    cls=Group,
    elsewhere={
        "delete": "ask.commands.deletion",
        "export": "ask.commands.transfers",
        "import": "ask.commands.transfers",
        "restore": "ask.commands.restore",
        "scrub": "ask.commands.scrub",
        "search": "ask.commands.search",
    },
    examples=[Example("ask history list"), Example("ask history list --json")],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
def history_command() -> None:
    """List, show, search, move, delete, scrub; put files back."""


@history_command.command(
    "list",
    cls=Command,
    examples=[Example("ask history list"), Example("ask history list -n 5 --json")],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="The newest N alone.")
@json_option
def list_command(limit: int | None, as_json: bool) -> None:
    """List every stored conversation, the newest first."""
    with open_client() as client:
        rows, total = list_pages(client, live=False, limit=limit)
    if as_json:
        click.echo(json.dumps(rows))
    elif not total:
        click.echo(layout.NO_CONVERSATIONS)
    else:
        lines = [
            *listing.lay_out_rows(rows, layout.find_columns()),
            f"Total: {total} conversation(s)",
        ]
        click.echo(strip_controls("\n".join(lines)))


@history_command.command(
    "show",
    cls=Command,
    examples=[
        Example("ask history show work", before=("ask new work",)),
        Example("ask history show work --raw -n 10", before=("ask new work",)),
        Example("ask history show work --context", before=("ask new work",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("conversation", metavar="ID", required=False, shell_complete=complete_conversation)
@click.option(
    "--id",
    "named",
    metavar="ID",
    shell_complete=complete_conversation,
    help="The same as the argument.",
)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), metavar="N", help="The last N messages alone."
)
@click.option("--raw", "--json", "as_json", is_flag=True, help="All of it, as one JSON object.")
@click.option("--context", is_flag=True, help="What the next request will hold, with tokens.")
def show_command(
    conversation: str | None, named: str | None, limit: int | None, as_json: bool, context: bool
) -> None:
    """Show what was said in a conversation.

    A long message is shortened; --raw has everything. On a terminal answers are
    painted as live ones are. --context shows what the
    model would see next: no notices, nothing that was cleared or is broken.
    """
    said = [each for each in (conversation, named) if each is not None]
    if len(said) != 1:
        raise click.UsageError("Give the ID of one conversation.")
    with open_client() as client:
        found = resolve(client, said[0])
        if context:
            show_context(
                client,
                found,
                limit,
                as_json=as_json,
                read_blob=lambda part: _read_text(client, part),
            )
            return
        entries, total = _read_history(client, found, limit)
        if not as_json:
            columns = layout.find_columns()
            paint = find_paint(os.environ, columns and columns - len(layout.INDENT))
            lines = layout.lay_out_history(found, entries, limit, total=total, paint=paint)
            click.echo("\n".join(lines))
            return
        messages = [each for each in entries if isinstance(each, Message)]
        kept = messages if limit is None else messages[-limit:]
        record = {
            "id": found["id"],
            "title": found.get("title"),
            "name": found.get("name"),
            "model": found.get("model"),
            "message_count": total,
            "messages": [
                encode_message(each, read_content(each, lambda part: _read_text(client, part)))
                for each in kept
            ],
        }
    unreadable = [each for each in entries if isinstance(each, Unreadable)]
    if unreadable:  # scripts that know nothing of it see what they always saw
        record["unreadable"] = [
            {"seq": each.seq, "type": each.of_type, "why": each.why} for each in unreadable
        ]
    click.echo(json.dumps(record))


def _read_history(client: "Client", found: Map, limit: int | None) -> tuple[Sequence[Entry], int]:
    """All that was said, or the last `limit` messages at the least; how many messages there are."""
    if limit is not None and limit < found["message_count"]:

        def is_enough(events: Sequence[Map]) -> bool:
            return find_last_messages(events, limit) is not None

        tail = read_tail(client, found, limit, is_enough=is_enough)
        last = find_last_messages(tail, limit) if tail[0]["seq"] > 1 else None
        if last is not None:
            return last, found["message_count"]
        entries = read_entries(tail)
    else:
        entries = read_entries(read_events(client, found["id"]))
    return entries, sum(isinstance(each, Message) for each in entries)


def _read_text(client: "Client", part: Any) -> str:
    """A blob's text; what is no text is named instead."""
    if not str(part.get("media_type", "")).startswith("text/"):
        return describe_blob(part)
    from ask.blobs import read_blob

    return read_blob(client, part["sha256"]).decode(errors="replace")
