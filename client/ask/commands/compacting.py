"""`ask compact`, `ask prune`: a conversation takes less of its model's window.

The daemon decides what leaves and what stays; here it is asked for, and what came of it
said. The history is kept whichever way.
"""

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ask.commands.calls import (
    Map,
    json_option,
    open_client,
    resolve_here,
    take_caller,
)
from ask.commands.completing import complete_conversation, complete_model
from ask.commands.help import Command, Example
from ask.commands.layout import name_conversation
from ask.exits import FAILED, Failed
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Caller

WAIT_S = 660.0
"""Two tries of five minutes each, and what lies between them."""
MARGIN_S = 30.0
"""The daemon answers by then, whatever came of it."""
STARTED = "Compacting conversation history..."
"""As the daemon says it to whoever else is there."""

conversation_option = click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="This conversation.",
)
here_argument = click.argument(
    "conversation", metavar="[ID]", required=False, shell_complete=complete_conversation
)


@click.command(
    "compact",
    cls=Command,
    examples=[
        Example("ask compact work", before=("ask new work",)),
        Example("ask compact --undo", before=("ask new",)),
    ],
    codes=[
        errors.FAILED,
        errors.NOT_FOUND,
        errors.NO_DAEMON,
        errors.STORAGE,
    ],
)
@here_argument
@conversation_option
@click.option(
    "-m",
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="The model that summarises.",
)
@click.option("--undo", is_flag=True, help="Take the last compaction or pruning back.")
@click.option("--wait/--no-wait", default=True, help="Wait for the end; else it goes on alone.")
@json_option
def compact_command(
    conversation: str | None,
    session: str | None,
    model: str | None,
    undo: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Let a summary stand for the older turns of a conversation.

    Without ID or -s it is this terminal's conversation. A model writes the summary;
    your own latest messages, pinned ones and the last turns stay as they are, and
    `ask history show` has everything. Turns can go on meanwhile.
    """
    with open_client() as client:
        found = find(client, conversation, session)
        if undo:
            if model is not None:
                raise click.UsageError("--undo asks no model; leave -m out.")
            result = client.call("conversation/undo", {"conversation_id": found["id"]})
            said = describe_undo(result)
        else:
            if os.isatty(2) and wait:
                click.echo(STARTED, err=True)
            result = compact(client, found["id"], model=model, wait=wait)
            said = str(result["text"])
    _end(result, said, found, as_json)


@click.command(
    "prune",
    cls=Command,
    examples=[
        Example("ask prune work", before=("ask -s work hi",)),
        Example("ask prune --json", before=("ask hi",)),
    ],
    codes=[errors.NOT_FOUND, errors.CREDENTIALS, errors.NO_DAEMON, errors.STORAGE],
)
@here_argument
@conversation_option
@json_option
def prune_command(conversation: str | None, session: str | None, as_json: bool) -> None:
    """Take old outputs and turns out of what the model sees.

    Without ID or -s it is this terminal's conversation. No model is asked. Pinned
    messages and the last turns stay, and `ask history show` has everything; `ask
    compact --undo` takes it back.
    """
    with open_client() as client:
        found = find(client, conversation, session)
        result = prune(client, found["id"])
    _end(result, describe_pruning(result), found, as_json)


def find(client: "Caller", conversation: str | None, session: str | None) -> Map:
    """The conversation that is meant; raise `UsageError` if two are named."""
    if conversation is not None and session is not None:
        raise click.UsageError("Give one of ID and -s.")
    return resolve_here(client, conversation if session is None else session)


def compact(client: "Caller", conversation_id: str, *, model: str | None, wait: bool) -> Map:
    """Compact; answers with the `CompactResult`."""
    wait_s = WAIT_S if wait else 0.0
    params = {
        "conversation_id": conversation_id,
        "model": model,
        "timeout_s": wait_s,
        **take_caller(client),
    }
    return client.call("conversation/compact", params, limit_s=wait_s + MARGIN_S)


def prune(client: "Caller", conversation_id: str) -> Map:
    """Prune; answers with the `PruneResult`."""
    params = {"conversation_id": conversation_id, **take_caller(client)}
    return client.call("conversation/prune", params)


def shrink(
    client: "Caller", conversation_id: str, line: str, *, tell: Callable[[str], None]
) -> tuple[str, bool]:
    """Do what a chat's line asks for: what came of it, and whether the view has changed.

    `tell`: says to a person that it takes a while.

    Raises:
        Failed: the compaction failed.
    """
    match line.split():
        case ["/compact", "--undo"]:
            undone = client.call("conversation/undo", {"conversation_id": conversation_id})
            return describe_undo(undone), undone.get("undone") is not None
        case ["/prune"]:
            pruned = prune(client, conversation_id)
            return describe_pruning(pruned), bool(pruned["pruned"])
        case _:
            if os.isatty(2):
                tell(STARTED)
            result = compact(client, conversation_id, model=None, wait=True)
            _check(result)
            return str(result["text"]), result["state"] == "finished"


def describe_pruning(result: Map) -> str:
    """What came of it, in a sentence."""
    if not result["pruned"]:
        return "There is nothing to prune."
    return f"Pruned: {result['tokens_before']} -> {result['tokens_after']} tokens."


def describe_undo(result: Map) -> str:
    """What was taken back, in a sentence."""
    match result.get("undone"):
        case "compact":
            what = "the compaction"
        case "prune":
            what = "the pruning"
        case _:
            return "There is nothing to take back."
    before, after = result.get("tokens_before"), result.get("tokens_after")
    told = f" ({before} -> {after} tokens)" if before is not None and after is not None else ""
    return f"Taken back: {what}{told}."


def _end(result: Map, said: str, found: Map, as_json: bool) -> None:
    """Say it; raise `Failed` for what failed."""
    _check(result)
    if as_json:
        click.echo(json.dumps(result))
    click.echo(strip_controls(f"{name_conversation(found)}: {said}"), err=True)


def _check(result: Map) -> None:
    if result.get("state") == "failed":
        raise Failed(
            FAILED,
            str(result["text"]),
            hint=str(result.get("why") or ""),
            data={"reason": "compaction_failed"},
        )
