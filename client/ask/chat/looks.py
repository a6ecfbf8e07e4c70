"""Slash commands that show something of a conversation, or change what its model sees.

Each is a small function on a `Desk`: it does one thing and says what is kept of it. None
reads a line, and none knows what a terminal is.
"""

import os
from datetime import datetime
from pathlib import Path

from ask.chat.desk import Desk
from ask.commands import compacting
from ask.commands.calls import Map, read_events, take_caller
from ask.commands.layout import count, lay_out_message
from ask.commands.models import LIST_LIMIT_S, NO_MODELS, lay_out_models
from ask.commands.pins import find_item
from ask.commands.transfers import read_export
from ask.commands.usage import NOTHING, explain_prices, lay_out_usage, read_usage
from ask.exits import USAGE, Failed
from ask.terminal import strip_controls
from ask.transcript import read_messages

HISTORY_MESSAGES = 10
"""What `/history` shows: about a screen."""
FORMATS = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".jsonl": "codex"}
"""What `/save` writes, by the name's ending."""
SAVED_MODE = 0o600
"""What was said to a model is its person's; whoever shares it says so."""


def show_models(desk: Desk, rest: str) -> str:
    """List the models of every provider at hand."""
    page = fetch_models(desk)
    for warning in page["warnings"]:
        desk.tell(strip_controls(warning))
    rows = lay_out_models(page["data"], desk.columns())
    desk.show(strip_controls("\n".join(rows) or NO_MODELS))
    return f"Command result: {count(len(page['data']), 'model')} available"


def fetch_models(desk: Desk) -> Map:
    """The models that this caller could use, as `model/list` answers."""
    return desk.caller.call("model/list", take_caller(desk.caller), limit_s=LIST_LIMIT_S)


def compact_view(desk: Desk, rest: str) -> str:
    """Let a summary stand for the older turns, or take the last change back."""
    return _shrink(desk, f"/compact {rest}".strip())


def prune_view(desk: Desk, rest: str) -> str:
    """Shrink the view without a model."""
    return _shrink(desk, "/prune")


def _shrink(desk: Desk, line: str) -> str:
    said, has_changed = compacting.shrink(desk.caller, desk.begin(), line, tell=desk.tell)
    if has_changed:
        desk.expect_change()
    desk.tell(strip_controls(said))
    return f"Command result: {said}"


def clear_view(desk: Desk, rest: str) -> str:
    """Begin with an empty view in the same conversation."""
    conversation_id = desk.begin()
    desk.expect_change()
    desk.caller.call("conversation/clear", {"conversation_id": conversation_id})
    desk.show("The next prompt starts afresh; the history is kept.")
    return "Command result: view cleared"


def show_history(desk: Desk, rest: str) -> str:
    """The last messages, numbered as `ask history show` and `/pin` number them."""
    if rest and not (rest.isascii() and rest.isdecimal() and int(rest[:9]) > 0):
        raise Failed(USAGE, f"{rest} is no number of messages.")
    messages = read_messages(read_events(desk.caller, desk.begin()))
    first = max(0, len(messages) - (int(rest[:9]) if rest else HISTORY_MESSAGES))
    lines = [f"Messages: {len(messages)} total"]
    for index, message in enumerate(messages[first:], start=first + 1):
        lines += ["", *lay_out_message(index, message)]
    desk.show(strip_controls("\n".join(lines)))
    return f"Command result: {count(len(messages) - first, 'message')} shown"


def show_usage(desk: Desk, rest: str) -> str:
    """What the answers of this conversation took, and cost where that is known."""
    found = find_usage(desk)
    if found is None:
        desk.show(NOTHING)
        return f"Command result: {NOTHING}"
    lines = [*lay_out_usage([], found, "conversation", desk.columns()), *explain_prices(found)]
    desk.show(strip_controls("\n".join(lines)))
    return "Command result: usage shown"


def find_usage(desk: Desk) -> Map | None:
    """The sums of this conversation; None: nothing was answered in it."""
    conversation_id = desk.begin()
    created_at = float(desk.find()["created_at"])
    rows, _ = read_usage(desk.caller, by="conversation", since_at=created_at, limit=None)
    return next((row for row in rows if row["group"] == conversation_id), None)


def pin(desk: Desk, rest: str) -> str:
    """Pin the conversation, or a message of it by its number."""
    found = desk.find()
    item_id = None
    if rest:
        messages = read_messages(read_events(desk.caller, found["id"]))
        item_id = find_item(found, messages, rest)
    desk.caller.call("conversation/pin", {"conversation_id": found["id"], "item_id": item_id})
    said = f"Pinned: message {rest}." if rest else "Pinned: this conversation."
    desk.tell(strip_controls(said))
    return f"Command result: {strip_controls(said)}"


def save(desk: Desk, rest: str) -> str:
    """Write the conversation to a file that is not there yet.

    Raises:
        Failed: the name does not say what to write, or it cannot be written.
    """
    path = Path(os.path.expanduser(rest))
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        endings = ", ".join(FORMATS)
        raise Failed(USAGE, f"What is to be written? The name's ending says it: {endings}.")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    chunks = list(read_export(desk.caller, desk.begin(), kind))
    try:
        with open(os.open(path, flags, SAVED_MODE), "wb") as stream:
            stream.writelines(chunks)
    except FileExistsError:
        raise Failed(USAGE, f"{rest} is there already; nothing was written.") from None
    except OSError as error:
        raise Failed(USAGE, f"{rest} cannot be written: {error.strerror}.") from None
    said = f"Saved to {rest} at {datetime.now():%H:%M}."
    desk.tell(strip_controls(said))
    return f"Command result: {strip_controls(said)}"
