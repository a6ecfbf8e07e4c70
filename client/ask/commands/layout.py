"""How conversations and messages are laid out as text: names, messages, transcripts.

Values in, lines out. Model text is shown as it is given; the caller strips
control sequences where a terminal would obey them.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from ask.graphemes import shorten
from ask.hits import INDENT as INDENT
from ask.hits import NARROW_COLUMNS as NARROW_COLUMNS
from ask.hits import SHORT_ID as SHORT_ID
from ask.hits import name_conversation as name_conversation
from ask.terminal import flatten as flatten
from ask.terminal import strip_controls
from ask.transcript import Change, Entry, Message, Unreadable, describe_blob, read_content

if TYPE_CHECKING:
    from ask.commands.painted import Paint

CONTENT_LIMIT = 500
"""Characters of one message in `history show`; `--raw` shows all."""
RULE = "=" * 80
CHANGE_NAMES = {
    "compact": "SUMMARY",
    "prune": "PRUNED",
    "undo": "TAKEN BACK",
    "snapshot": "SNAPSHOT",
}

NO_CONVERSATIONS = 'No saved conversations.\nCreate one: ask "..."'
NONE_LIVE = "No live conversations."

Summary = Mapping[str, Any]


def count(number: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def name_model(model: str | None) -> str:
    """`openai/gpt-5` as `openai (gpt-5)`; nothing known: `unknown`."""
    if not model:
        return "unknown"
    provider, slash, name = model.partition("/")
    return f"{provider} ({name})" if slash else model


def find_columns(descriptor: int = 1) -> int | None:
    """How many columns a row may take; None: no terminal, where nothing is cut."""
    return shutil.get_terminal_size().columns if os.isatty(descriptor) else None


def lay_out_history(
    summary: Summary,
    entries: Sequence[Entry],
    limit: int | None,
    *,
    total: int | None = None,
    paint: "Paint | None" = None,
) -> list[str]:
    """A whole transcript, or its last `limit` messages with the indices of the whole.

    `total`: the messages of the whole, of which the entries are the last. Records that
    cannot be read and changes of the view stand where they were; they have no index, nor
    a place in the limit. `paint`: of answers. What is not painted is stripped.
    """
    known = sum(isinstance(entry, Message) for entry in entries)
    total = known if total is None else total
    unreadable = sum(isinstance(entry, Unreadable) for entry in entries)
    lines = [
        f"Conversation: {name_conversation(summary)}",
        f"ID: {summary['id']}",
        f"Model: {summary.get('model') or 'unknown'}",
        f"Messages: {total} total",
    ]
    if unreadable:
        lines.append(f"Unreadable records: {unreadable} (kept, not shown to the model)")
    if limit is not None:
        lines.append(f"Showing: last {count(min(limit, total), 'message')}")
    lines = clean([*lines, RULE])
    first = 0 if limit is None else max(0, total - limit)
    index = total - known
    for kind, group in groupby(entries, key=type):
        if kind is Message:
            for message in cast("Iterable[Message]", group):
                index += 1
                if index > first:
                    lines += ["", *lay_out_message(index, message, paint)]
        elif index < first:
            continue
        elif kind is Unreadable:
            lines += clean(lay_out_unreadable(cast("Iterable[Unreadable]", group)))
        else:
            for change in cast("Iterable[Change]", group):
                lines += ["", *clean(lay_out_change(change))]
    return lines


def lay_out_change(change: Change) -> list[str]:
    """What a model sees from here on in place of what is above."""
    facts = [] if change.tokens is None else [f"{change.tokens[0]} -> {change.tokens[1]} tokens"]
    facts += [] if change.model is None else [f"by {change.model}"]
    about = f" ({', '.join(facts)})" if facts else ""
    heading = f"[~] {CHANGE_NAMES.get(change.kind, change.kind.upper())}{about}"
    if not change.text:
        return [heading]
    first, *rest = shorten(change.text, CONTENT_LIMIT).split("\n")
    return [heading, f"{INDENT}Content: {first}", *(f"{INDENT}{line}" for line in rest)]


def lay_out_unreadable(records: Iterable[Unreadable]) -> list[str]:
    """Neighbours that cannot be read for one reason are one entry."""
    lines = []
    for (of_type, why), group in groupby(records, key=lambda each: (each.of_type, each.why)):
        seqs = [each.seq for each in group]
        named = f"seq {seqs[0]}" if len(seqs) == 1 else f"seq {seqs[0]} to {seqs[-1]}"
        lines += ["", f"[!] UNREADABLE ({named}, {of_type})", f"{INDENT}Reason: {why}"]
    return lines


def lay_out_message(index: int, message: Message, paint: "Paint | None" = None) -> list[str]:
    """One message of a transcript, its content shortened, an answer painted if that is wanted."""
    lines = [f"[{index}] {message.role.upper()}{' (pinned)' if message.pinned else ''}"]
    if message.call_id is not None:
        lines.append(f"{INDENT}Tool Call ID: {message.call_id}")
    if message.calls:
        lines.append(f"{INDENT}Tool Calls: {len(message.calls)} total")
        lines += [f"{INDENT}  - {call.name} (id: {call.id})" for call in message.calls]
    content = read_content(message, describe_blob)
    if content or not message.calls:
        shown = shorten(strip_controls(content), CONTENT_LIMIT) or "(empty)"
        if paint is not None and message.role == "assistant":
            painted = [f"{INDENT}{line}" if line else "" for line in paint(shown)]
            return [*clean(lines), f"{INDENT}Content:", *painted]
        first, *rest = shown.split("\n")
        lines.append(f"{INDENT}Content: {first}")
        lines += [f"{INDENT}{line}" if line else "" for line in rest]
    return clean(lines)


def clean(lines: Iterable[str]) -> list[str]:
    """The lines without what a terminal would obey."""
    return [strip_controls(line) for line in lines]
