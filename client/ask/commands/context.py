"""`ask history show --context`: what the next request will hold, with its tokens.

The daemon says what, by the way that a request goes; here it is laid out like
a transcript. Nothing is asked of any model.
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ask.commands.calls import PAGE, Map, take_caller
from ask.commands.layout import RULE, count, lay_out_message, name_conversation
from ask.exits import Failed
from ask.terminal import strip_controls
from ask.transcript import Message, Role, encode_message, read_content, read_item

if TYPE_CHECKING:
    from ask.connection import Client

_ROLES: dict[str, Role] = {"system": "system", "summary": "user"}
"""What is no message of a history, and as whose words a model reads it."""


def show_context(
    client: "Client",
    found: Map,
    limit: int | None,
    *,
    as_json: bool,
    read_blob: Callable[[Any], str],
) -> None:
    """Print it, or the last `limit` items of it."""
    first, items = read_context(client, found["id"], limit)
    if not as_json:
        start = first["total"] - len(items) + 1
        lines = [*lay_out_head(found, first), *lay_out_items(items, start)]
        click.echo(strip_controls("\n".join(lines)))
        return
    record = {name: found.get(name) for name in ("id", "title", "name")}
    numbers = ("model", "note", "tokens", "context_window", "budget", "healed", "instructions")
    record |= {name: first.get(name) for name in numbers}
    record["item_count"] = first["total"]
    record["items"] = [encode_item(item, read_blob) for item in items]
    click.echo(json.dumps(record))


def read_context(
    client: "Client", conversation_id: str, limit: int | None = None
) -> tuple[Map, list[Map]]:
    """A first page, for what it says of the whole, and all items, or the last `limit`."""
    asked: Map = {"conversation_id": conversation_id, "limit": PAGE, **take_caller()}
    first = page = _read_first(client, asked, limit)
    items: list[Map] = list(first["data"])
    while (cursor := page.get("next_cursor")) is not None:
        page = client.call("conversation/context", {**asked, "cursor": cursor})
        items += page["data"]
    return first, items if limit is None else items[-limit:]


def _read_first(client: "Client", asked: Map, limit: int | None) -> Map:
    """The page that it begins with; an older daemon has no other than the very first."""
    if limit is None:
        return client.call("conversation/context", asked)
    try:
        return client.call("conversation/context", {**asked, "last": limit})
    except Failed as error:
        if error.data.get("field") != "last":
            raise
        return client.call("conversation/context", asked)


def lay_out_head(found: Map, first: Map) -> list[str]:
    """What the next request is, before what it holds."""
    lines = [
        f"Next request: {name_conversation(found)}",
        f"ID: {found['id']}",
        f"Model: {first.get('model') or 'unknown'}",
        f"Tokens: {_lay_out_tokens(first)}",
        f"Items: {first['total']} total",
    ]
    if first.get("note"):
        lines.insert(3, f"Note: {first['note']}")
    for each in first.get("instructions", ()):
        lines.append(f"Instructions: {each['path']} ({_lay_out_size(each)})")
    if first["healed"]:
        lines.append(f"Healed: {count(first['healed'], 'fault')} of the log, not in here")
    return [*lines, RULE]


def lay_out_items(items: Sequence[Map], start: int) -> list[str]:
    """The items as a transcript, each with its tokens."""
    lines: list[str] = []
    for index, item in enumerate(items, start):
        head, *rest = lay_out_message(index, _read(item))
        lines += ["", f"{head} ({count(item['tokens'], 'token')})", *rest]
    return lines


def encode_item(item: Map, read_blob: Callable[[Any], str]) -> Map:
    """An item as scripts get it: a message, its id and its tokens."""
    message = _read(item)
    record = encode_message(message, read_content(message, read_blob))
    del record["at"]  # an item of a request has no time
    return {**record, "item_id": item.get("id"), "tokens": item["tokens"]}


def _lay_out_size(file: Map) -> str:
    there, left_out = file["bytes"], file["left_out_bytes"]
    return f"the first {there:,} of {there + left_out:,} bytes" if left_out else f"{there:,} bytes"


def _lay_out_tokens(first: Map) -> str:
    tokens, window, budget = first["tokens"], first.get("context_window"), first.get("budget")
    if window is None:
        return f"about {tokens:,}; the model's window is not known"
    return f"about {tokens:,} of {window:,}; a request may take {budget:,}"


def _read(item: Map) -> Message:
    """An item of a request as a message; of what could not be sent, the sentence why."""
    text = item.get("left_out")
    message = None if text else read_item(item, {})
    if message is not None and item.get("type") not in _ROLES:
        return message
    role = _ROLES.get(str(item.get("type"))) or "system"
    shown = {"type": "text", "text": str(text or item.get("text", ""))}
    return Message(role=role, at=0.0, item_id=str(item.get("id", "")), parts=(shown,))
