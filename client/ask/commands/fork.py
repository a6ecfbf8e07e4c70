"""`ask fork`: another conversation goes on from what was said in this one.

What it copies is the daemon's to decide; here it is asked for, and its id printed.
"""

import json
import os

import click

from ask.commands.calls import check_name, conversation_argument, json_option, resolve
from ask.commands.doubt import open_certain, tell_doubt
from ask.commands.help import Command, Example
from ask.commands.layout import count, name_conversation
from ask.exits import USAGE, Failed
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.whereabouts import find_terminal

INTEGER_LIMIT = 2**63 - 1
"""The largest whole number that the daemon keeps."""
NOTHING = "Nothing was copied."
MAYBE = "The copy may have been made. Look: ask list; if it is not there, fork again."


@click.command(
    "fork",
    cls=Command,
    examples=[
        Example("ask fork work", before=("ask new work",)),
        Example("ask fork work --name other", before=("ask new work",)),
        Example("ask fork work --at 1 --json", before=("ask new work",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@conversation_argument
@click.option(
    "--at",
    "at_seq",
    type=click.IntRange(min=1),
    metavar="SEQ",
    help="As it was after this event (`seq` in --json).",
)
@click.option("--name", metavar="NAME", help="The new conversation's name.")
@json_option
def fork_command(conversation: str, at_seq: int | None, name: str | None, as_json: bool) -> None:
    """Copy a conversation, print the copy's id, continue it here.

    The next `ask -c` in this terminal goes to the copy; the source stays as it
    is. A turn that had not finished is not copied, nor is the name.
    """
    check_name(name or "")
    with open_certain(NOTHING) as client:
        with tell_doubt(lost=NOTHING, stopped=NOTHING):
            source = resolve(client, conversation)
        if at_seq is not None and at_seq > INTEGER_LIMIT:
            # A number that no request can hold, and so the daemon cannot refuse.
            last = source["last_seq"]
            raise Failed(USAGE, f"There is no event {at_seq}: the last one is {last}.")
        asked = {
            "conversation_id": source["id"],
            "at_seq": at_seq,
            "name": name,
            "terminal": find_terminal(os.environ),
        }
        with tell_doubt(lost=MAYBE, stopped=MAYBE):
            summary = client.call("conversation/fork", asked)
    click.echo(json.dumps(summary) if as_json else summary["id"])
    copied = count(summary["message_count"], "message")
    click.echo(strip_controls(f"Forked: {name_conversation(source)}, {copied}."), err=True)
