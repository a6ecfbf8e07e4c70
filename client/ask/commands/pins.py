"""`ask pin`, `ask unpin`: what is to stay: a conversation, or a message in what models see."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ask.commands.calls import (
    Map,
    conversation_argument,
    json_option,
    open_client,
    read_events,
    resolve,
)
from ask.commands.completing import Completes, complete_pinned, complete_unpinned
from ask.commands.help import Command, Example
from ask.commands.layout import count, name_conversation
from ask.exits import NOT_FOUND, Failed
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.transcript import Message, read_messages

if TYPE_CHECKING:
    from ask.connection import Client

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
CODES = (errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE)


def item_argument(completes: Completes) -> Callable[[Decorated], Decorated]:
    """The number of a message in `ask history show`, or an item's id."""
    return click.argument("item", metavar="[MESSAGE]", required=False, shell_complete=completes)


@click.command(
    "pin",
    cls=Command,
    examples=[
        Example("ask pin work", before=("ask new work",)),
        Example("ask pin work 1", before=("ask -s work hi",)),
    ],
    codes=CODES,
)
@conversation_argument
@item_argument(complete_unpinned)
@json_option
def pin_command(conversation: str, item: str | None, as_json: bool) -> None:
    """Mark a conversation as one to keep, or keep a message in view.

    MESSAGE is a number of `ask history show ID`. A pinned message is sent to the
    model also after `ask clear`; with a tool's call or output goes its other half.
    """
    with open_client() as client:
        found = resolve(client, conversation)
        # The daemon knows the ids of items; only a number takes the history.
        messages = _read_history(client, found) if item is not None and is_number(item) else []
        item_id = None if item is None else find_item(found, messages, item)
        summary = _change(client, "conversation/pin", found, item_id)
    if as_json:
        click.echo(json.dumps(summary))
    _say("Pinned", found, item)


@click.command(
    "unpin",
    cls=Command,
    examples=[
        Example("ask unpin work", before=("ask new work", "ask pin work")),
        Example("ask unpin work 1", before=("ask -s work hi", "ask pin work 1")),
    ],
    codes=CODES,
)
@conversation_argument
@item_argument(complete_pinned)
@json_option
def unpin_command(conversation: str, item: str | None, as_json: bool) -> None:
    """Take a pin away, of a conversation or of a message."""
    with open_client() as client:
        found = resolve(client, conversation)
        item_id, was_pinned = None, found["pinned"]
        if item is not None:
            messages = _read_history(client, found)
            item_id = find_item(found, messages, item)
            was_pinned = any(each.pinned and each.item_id == item_id for each in messages)
        summary = _change(client, "conversation/unpin", found, item_id)
    if as_json:
        click.echo(json.dumps(summary))
    _say("No longer pinned" if was_pinned else "Was not pinned", found, item)


def is_number(text: str) -> bool:
    """Whether a message is meant by its number, not by its item's id."""
    return text.isascii() and text.isdecimal()


def find_item(found: Map, messages: Sequence[Message], text: str) -> str:
    """The id of the item that a person means: by the number that `history show` gives it.

    Raises:
        Failed: there is no message of that number.
    """
    if not is_number(text):
        return text
    if len(text) > len(str(len(messages))) or not 1 <= int(text) <= len(messages):
        raise _refuse(found, text, len(messages))
    return messages[int(text) - 1].item_id


def _refuse(found: Map, text: str, messages: int) -> Failed:
    return Failed(
        NOT_FOUND,
        f"There is no message {text}: {name_conversation(found)} has {count(messages, 'message')}.",
        hint=f"See them: ask history show {found['id']}",
        data={"reason": "item_not_found"},
    )


def _read_history(client: "Client", found: Map) -> list[Message]:
    return read_messages(read_events(client, found["id"]))


def _change(client: "Client", method: str, found: Map, item_id: str | None) -> Map:
    try:
        return client.call(method, {"conversation_id": found["id"], "item_id": item_id})
    except Failed as error:
        if item_id is None or error.data.get("reason") != "item_not_found":
            raise
        raise _refuse(found, item_id, found["message_count"]) from None


def _say(what: str, found: Map, item: str | None) -> None:
    name = name_conversation(found)
    text = f"{what}: {name}." if item is None else f"{what}: message {item} of {name}."
    click.echo(strip_controls(text), err=True)
