"""`ask list`, `ps`, `new`, `resume`, `rename`, `clear`: conversations by name.

What these print is laid out in `listing`; none of them sends a prompt, and none
deletes anything.
"""

import json
import os

import click

from ask.commands import layout, listing
from ask.commands.calls import (
    check_name,
    conversation_argument,
    is_running,
    json_option,
    list_pages,
    need_terminal,
    open_client,
    resolve,
    resolve_here,
    take_caller,
)
from ask.commands.completing import complete_conversation, complete_model
from ask.commands.help import Command, Example
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.whereabouts import find_terminal

RECENT = 20
"""Stored conversations that `ask list` shows below the live ones."""


@click.command(
    "list",
    cls=Command,
    examples=[Example("ask list"), Example("ask list --json")],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@json_option
def list_command(as_json: bool) -> None:
    """List live and recent conversations, those that need you first."""
    with open_client() as client:
        live, _ = list_pages(client, live=True)
        recent, _ = list_pages(client, live=False, limit=RECENT)
    summaries = listing.group_summaries([*live, *recent])
    _print_groups(summaries, as_json, empty=layout.NO_CONVERSATIONS)


@click.command(
    "ps",
    cls=Command,
    examples=[Example("ask ps"), Example("ask ps --json")],
    codes=[errors.NO_DAEMON],
)
@json_option
def ps_command(as_json: bool) -> None:
    """List what is live in the daemon; start none."""
    summaries: list[layout.Summary] = []
    if is_running():
        with open_client(start=False) as client:
            summaries = listing.group_summaries(list_pages(client, live=True)[0])
    _print_groups(summaries, as_json, empty=layout.NONE_LIVE)


@click.command(
    "new",
    cls=Command,
    examples=[Example("ask new work"), Example('ask new -S "Answer in one sentence."')],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("name", required=False)
@click.option(
    "-m", "--model", metavar="NAME", shell_complete=complete_model, help="The model it talks to."
)
@click.option("-S", "--system", metavar="TEXT", help="Its system prompt.")
@json_option
def new_command(name: str | None, model: str | None, system: str | None, as_json: bool) -> None:
    """Create an empty conversation, print its id, continue it here.

    The next `ask -c` in this terminal goes to it.
    """
    check_name(name or "")
    with open_client() as client:
        wanted = {"name": name, "model": model, "system": system}
        caller = {} if model is None else take_caller(client)  # whether there is such a model
        summary = client.call(
            "conversation/create", {**wanted, **caller, "terminal": find_terminal(os.environ)}
        )
    click.echo(json.dumps(summary) if as_json else summary["id"])


@click.command(
    "resume",
    cls=Command,
    examples=[
        Example("ask resume work", before=("ask new work",)),
        Example("ask resume work --json", before=("ask new work",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@conversation_argument
@json_option
def resume_command(conversation: str, as_json: bool) -> None:
    """Make a conversation this terminal's own, for `ask -c`."""
    terminal = need_terminal()
    with open_client() as client:
        summary = resolve(client, conversation, bind=terminal)
    if as_json:
        click.echo(json.dumps(summary))
    provider, slash, model = str(summary.get("model") or "unknown").partition("/")
    click.echo(
        strip_controls(
            f"Resumed conversation: {summary['id']}\n"
            f"Provider: {provider}, model: {model if slash else provider}\n"
            'Continue chatting: ask -c "..."'
        ),
        err=True,
    )


@click.command(
    "rename",
    cls=Command,
    examples=[
        Example("ask rename work play", before=("ask new work",)),
        Example("ask rename work --remove", before=("ask new work",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@conversation_argument
@click.argument("name", required=False)
@click.option("--remove", is_flag=True, help="Take the name away.")
@json_option
def rename_command(conversation: str, name: str | None, remove: bool, as_json: bool) -> None:
    """Give a conversation another name."""
    if (name is None) is not remove:
        raise click.UsageError("Give the new NAME, or --remove.")
    check_name(name or "")
    with open_client() as client:
        found = resolve(client, conversation)
        summary = client.call("conversation/rename", {"conversation_id": found["id"], "name": name})
    if as_json:
        click.echo(json.dumps(summary))


@click.command(
    "clear",
    cls=Command,
    examples=[
        Example("ask clear work", before=("ask new work",)),
        Example("ask clear", before=("ask new",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument(
    "conversation", metavar="[ID]", required=False, shell_complete=complete_conversation
)
@json_option
def clear_command(conversation: str | None, as_json: bool) -> None:
    """Begin again in the same conversation; its history is kept.

    Without ID it is this terminal's conversation. The model sees nothing of what
    was said before; `ask history show` still does.
    """
    with open_client() as client:
        found = resolve_here(client, conversation)
        client.call("conversation/clear", {"conversation_id": found["id"]})
    if as_json:
        click.echo(json.dumps({"conversation_id": found["id"]}))
    name = layout.name_conversation(found)
    click.echo(
        strip_controls(f"Cleared: {name}. The next prompt starts afresh; the history is kept."),
        err=True,
    )


def _print_groups(summaries: list[layout.Summary], as_json: bool, *, empty: str) -> None:
    if as_json:
        click.echo(json.dumps(summaries))
        return
    columns = layout.find_columns()
    lines = listing.lay_out_groups(summaries, columns)
    click.echo(strip_controls("\n".join(lines) or empty))
    if columns is not None and summaries and summaries[0]["state"] == "needs_you":
        click.echo(
            f"\nTo answer: ask attach {str(summaries[0]['id'])[: layout.SHORT_ID]}", err=True
        )
