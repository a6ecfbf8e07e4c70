"""How conversations and messages are laid out as text: rows, groups, transcripts.

Values in, lines out. Model text is shown as it is given; the caller strips
control sequences where a terminal would obey them.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, cast

from ask.graphemes import find_width, fit, shorten
from ask.hits import INDENT as INDENT
from ask.hits import NAME_COLUMNS
from ask.hits import NARROW_COLUMNS as NARROW_COLUMNS
from ask.hits import SHORT_ID as SHORT_ID
from ask.hits import name_conversation as name_conversation
from ask.terminal import strip_controls
from ask.transcript import Change, Entry, Message, Unreadable, describe_blob, read_content

MODEL_COLUMNS = 28
CONTENT_LIMIT = 500
"""Characters of one message in `history show`; `--raw` shows all."""
RULE = "=" * 80
ROW_INDENT = "  "
CHANGE_NAMES = {"compact": "SUMMARY", "prune": "PRUNED", "undo": "TAKEN BACK"}

NO_CONVERSATIONS = 'No saved conversations.\nCreate one: ask "..."'
NONE_LIVE = "No live conversations."

GROUPS: tuple[tuple[str, str], ...] = (
    ("needs_you", "Needs you"),
    ("working", "Working"),
    ("idle", "Idle"),
    ("stored", "Recent"),
)
"""The states of a conversation in the order of `ask list`, and their headings."""

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


def lay_out_rows(summaries: Iterable[Summary], columns: int | None) -> list[str]:
    """One conversation a line: short id, name or title, provider (model), updated, messages.

    Within `columns` the name is shortened first, then the model.
    """
    rows = [_list_cells(each) for each in summaries]
    name, model = NAME_COLUMNS, MODEL_COLUMNS
    if columns is not None and rows:
        rest = max(find_width("  ".join([id, "", "", tail])) for id, _, _, tail in rows)
        name = min(name, max(find_width(row[1]) for row in rows))
        model = min(model, max(find_width(row[2]) for row in rows))
        # A column that is already narrow is not widened.
        name = max(min(name, NARROW_COLUMNS), min(name, columns - rest - model))
        model = max(min(model, NARROW_COLUMNS), min(model, columns - rest - name))
    lines = []
    for id, first, second, tail in rows:
        if columns is None:
            name, model = (
                max(NAME_COLUMNS, find_width(first)),
                max(MODEL_COLUMNS, find_width(second)),
            )
        lines.append("  ".join([id, fit(first, name), fit(second, model), tail]))
    return lines


def _list_cells(summary: Summary) -> tuple[str, str, str, str]:
    """Id, name, model, and the rest; all as a terminal shows it, so that it can be measured."""
    updated = datetime.fromtimestamp(summary["updated_at"]).strftime("%Y-%m-%d %H:%M")
    tail = [updated, count(summary["message_count"], "message")]
    if summary.get("queued"):
        tail.append(f"{summary['queued']} queued")
    if summary.get("pinned"):
        tail.append("pinned")
    if summary.get("ephemeral"):
        tail.append("ephemeral")
    return (
        str(summary["id"])[:SHORT_ID],
        _on_one_line(name_conversation(summary)),
        _on_one_line(name_model(summary.get("model"))),
        "  ".join(tail),
    )


def _on_one_line(text: str) -> str:
    return " ".join(strip_controls(text).split())


def group_summaries(summaries: Iterable[Summary]) -> list[Summary]:
    """Each conversation once, by what it needs, the newest first within a group."""
    known: dict[str, Summary] = {}
    for summary in summaries:
        known.setdefault(str(summary["id"]), summary)
    order = {state: place for place, (state, _) in enumerate(GROUPS)}
    return sorted(
        known.values(),
        key=lambda each: (order.get(each["state"], len(order)), -each["updated_at"]),
    )


def lay_out_groups(summaries: Sequence[Summary], columns: int | None) -> list[str]:
    """Grouped rows under headings; a group without a conversation has none."""
    rows = lay_out_rows(summaries, None if columns is None else columns - len(ROW_INDENT))
    lines: list[str] = []
    for state, heading in GROUPS:
        group = [row for each, row in zip(summaries, rows, strict=True) if each["state"] == state]
        if group:
            lines += [""] if lines else []
            lines += [heading, *(f"{ROW_INDENT}{row}" for row in group)]
    return lines


def lay_out_history(
    summary: Summary, entries: Sequence[Entry], limit: int | None, *, total: int | None = None
) -> list[str]:
    """A whole transcript, or its last `limit` messages with the indices of the whole.

    `total`: the messages of the whole, of which the entries are the last. Records that
    cannot be read and changes of the view stand where they were; they have no index, nor
    a place in the limit.
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
    lines.append(RULE)
    first = 0 if limit is None else max(0, total - limit)
    index = total - known
    for kind, group in groupby(entries, key=type):
        if kind is Message:
            for message in cast("Iterable[Message]", group):
                index += 1
                if index > first:
                    lines += ["", *lay_out_message(index, message)]
        elif index < first:
            continue
        elif kind is Unreadable:
            lines += lay_out_unreadable(cast("Iterable[Unreadable]", group))
        else:
            for change in cast("Iterable[Change]", group):
                lines += ["", *lay_out_change(change)]
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


def lay_out_message(index: int, message: Message) -> list[str]:
    """One message of a transcript, its content shortened."""
    lines = [f"[{index}] {message.role.upper()}{' (pinned)' if message.pinned else ''}"]
    if message.call_id is not None:
        lines.append(f"{INDENT}Tool Call ID: {message.call_id}")
    if message.calls:
        lines.append(f"{INDENT}Tool Calls: {len(message.calls)} total")
        lines += [f"{INDENT}  - {call.name} (id: {call.id})" for call in message.calls]
    content = read_content(message, describe_blob)
    if content or not message.calls:
        shown = shorten(content, CONTENT_LIMIT) or "(empty)"
        first, *rest = shown.split("\n")
        lines.append(f"{INDENT}Content: {first}")
        lines += [f"{INDENT}{line}" if line else "" for line in rest]
    return lines
