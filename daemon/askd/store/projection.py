"""What a row of the list says of a conversation, computed from its events.

Pure, and shared by the log on the disk and the log in memory, so that the two
cannot tell different stories. It knows no SQL.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from askd.core.conversation import count_messages
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemPinned,
    ItemUnpinned,
    PromptAccepted,
    PromptSteered,
    Renamed,
    SettingsChanged,
    Titled,
    TurnStarted,
)
from askd.store import refusals
from askd.store.log import Write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    """One conversation as lists show it; times in unix seconds."""

    id: str
    name: str | None
    title: str | None
    model: str | None
    message_count: int
    last_seq: int
    created_at: float
    updated_at: float
    pinned: bool = False


def empty_row(conversation_id: str, *, at: float) -> ConversationRow:
    """A conversation before its first event."""
    return ConversationRow(
        id=conversation_id,
        name=None,
        title=None,
        model=None,
        message_count=0,
        last_seq=0,
        created_at=at,
        updated_at=at,
    )


def check_write(write: Write) -> None:
    """Refuse, with `ValueError`, what no caller may ask: `conversation_created` is seq 1 only."""
    creations = [each for each in write.bodies if isinstance(each, ConversationCreated)]
    wanted = 1 if write.create else 0
    if len(creations) != wanted or (wanted and write.bodies[0] is not creations[0]):
        raise ValueError("conversation_created is the first body of a write that creates")
    if write.times is not None and len(write.times) != len(write.bodies):
        raise ValueError("each body of a write has a time, or none has")
    if creations and creations[0].id != write.conversation_id:
        raise ValueError("the write and its conversation_created name different conversations")


def find_row_to_extend(write: Write, row: ConversationRow | None, *, at: float) -> ConversationRow:
    """The row that a write goes on from; `row` is the stored one. Raises `RequestError`."""
    if write.create:
        if row is not None:
            raise refusals.conversation_exists(write.conversation_id)
        return empty_row(write.conversation_id, at=write.times[0] if write.times else at)
    if row is None:
        raise refusals.conversation_not_found(write.conversation_id)
    return row


def number_events(
    row: ConversationRow,
    bodies: Sequence[Body],
    *,
    at: float,
    times: Sequence[float] | None = None,
) -> list[Event]:
    """The bodies as the events that follow what the row counts; `times`: of each its own."""
    moments = [at] * len(bodies) if times is None else times
    pairs = enumerate(zip(moments, bodies, strict=True), start=row.last_seq + 1)
    return [Event(row.id, seq, moment, body) for seq, (moment, body) in pairs]


def advance_row(row: ConversationRow, events: Sequence[Event]) -> ConversationRow:
    """The row after these events."""
    for event in events:
        row = replace(
            row,
            last_seq=event.seq,
            updated_at=event.at if event.seq == 1 else max(row.updated_at, event.at),
            message_count=row.message_count + count_messages(event.body),
        )
        match event.body:
            case ConversationCreated(name=name) | Renamed(name=name):
                row = replace(row, name=name)
            case Titled(title=title):
                row = replace(row, title=title)
            case ItemPinned(item_id=None):
                row = replace(row, pinned=True)
            case ItemUnpinned(item_id=None):
                row = replace(row, pinned=False)
            case SettingsChanged(model=str(model)):
                row = replace(row, model=model)
            case TurnStarted(model=str(model)) if row.model is None:
                # What one turn asked for holds for that turn; it is only better than nothing.
                row = replace(row, model=model)
            case _:
                pass
    return row


def find_key_seq(events: Sequence[Event], turn_id: str) -> int:
    """The seq that a prompt's key stands for: its acceptance, else the write's first event."""
    for event in events:
        if isinstance(event.body, PromptAccepted | PromptSteered) and event.body.turn_id == turn_id:
            return event.seq
    return events[0].seq if events else 0
