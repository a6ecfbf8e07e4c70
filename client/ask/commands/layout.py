"""How conversations and messages are laid out as text: rows, groups, transcripts.

Pure: values in, lines out. Model text is shown as it is given; the caller strips
control sequences where a terminal would obey them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ask.graphemes import fit, shorten
from ask.transcript import Message, describe_blob, read_content

SHORT_ID = 8
"""Characters of an id that people see; enough to be unique among thousands."""
NAME_COLUMNS = 28
MODEL_COLUMNS = 28
CONTENT_LIMIT = 500
"""Characters of one message in `history show`; `--raw` shows all."""
RULE = "=" * 80
INDENT = "    "

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


def name_conversation(summary: Summary) -> str:
    """The name a person gave, else the title, else that there is none."""
    return str(summary.get("name") or summary.get("title") or "(untitled)")


def lay_out_row(summary: Summary) -> str:
    """One conversation: short id, name or title, provider (model), updated, messages."""
    updated = datetime.fromtimestamp(summary["updated_at"]).strftime("%Y-%m-%d %H:%M")
    cells = [
        str(summary["id"])[:SHORT_ID],
        fit(name_conversation(summary), NAME_COLUMNS),
        fit(name_model(summary.get("model")), MODEL_COLUMNS),
        updated,
        count(summary["message_count"], "message"),
    ]
    if summary.get("queued"):
        cells.append(f"{summary['queued']} queued")
    if summary.get("ephemeral"):
        cells.append("ephemeral")
    return "  ".join(cells)


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


def lay_out_groups(summaries: Sequence[Summary]) -> list[str]:
    """Grouped rows under headings; a group without a conversation has none."""
    lines: list[str] = []
    for state, heading in GROUPS:
        rows = [lay_out_row(each) for each in summaries if each["state"] == state]
        if rows:
            lines += [""] if lines else []
            lines += [heading, *(f"  {row}" for row in rows)]
    return lines


def lay_out_history(summary: Summary, messages: Sequence[Message], limit: int | None) -> list[str]:
    """A whole transcript, or its last `limit` messages with the indices of the whole."""
    total = len(messages)
    lines = [
        f"Conversation: {name_conversation(summary)}",
        f"ID: {summary['id']}",
        f"Model: {summary.get('model') or 'unknown'}",
        f"Messages: {total} total",
    ]
    if limit is not None:
        lines.append(f"Showing: last {count(min(limit, total), 'message')}")
    lines.append(RULE)
    first = 0 if limit is None else max(0, total - limit)
    for index, message in enumerate(messages[first:], first + 1):
        lines += ["", *lay_out_message(index, message)]
    return lines


def lay_out_message(index: int, message: Message) -> list[str]:
    """One message of a transcript, its content shortened."""
    lines = [f"[{index}] {message.role.upper()}"]
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
