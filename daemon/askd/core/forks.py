"""Forks: the events of a conversation from which another one goes on.

Pure. A fork is a copy: it has the past of its source and nothing of its future,
so what waits, what is asked of a person and what names the source stays there.
Whatever could not be read by this version is not copied: it could not be kept
as what it is.
"""

from collections.abc import Iterable
from dataclasses import replace

from askd.core.events import (
    VERSION,
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
    PromptAccepted,
    PromptSteered,
    QuestionAnswered,
    QuestionAsked,
    Renamed,
    TurnFinished,
    UnknownBody,
    Unreadable,
)


def plan_fork(events: Iterable[Event], *, at_seq: int | None = None) -> list[Event]:
    """The events to copy, as they are in the source but for a prompt's key.

    Turns that had not finished at `at_seq` (None: now) are left out, whole. What belongs
    to no turn (settings, a title, a cleared view, notices) is copied up to `at_seq`.
    """
    past = [event for event in events if at_seq is None or event.seq <= at_seq]
    open_turns: dict[str, None] = {}
    accepted: set[str] = set()
    for event in past:
        match event.body:
            # An id that comes again, as in a log that was put together badly, opens no turn anew.
            case PromptAccepted(turn_id=turn_id) if turn_id not in accepted:
                accepted.add(turn_id)
                open_turns[turn_id] = None
            case TurnFinished(turn_id=turn_id):
                open_turns.pop(turn_id, None)
            case _:
                pass
    copies: list[Event] = []
    lost = _find_items(past, open_turns)
    for event in past:
        body = _copy(event.body)
        if body is None or event.version > VERSION or _find_turn(body) in open_turns:
            continue
        if isinstance(body, ItemPinned | ItemUnpinned) and body.item_id in lost:
            continue
        copies.append(replace(event, body=body))
    return copies


def _copy(body: Body) -> Body | None:
    """What of a body goes into a fork; None: nothing."""
    match body:
        case ConversationCreated() | Renamed() | QuestionAsked() | QuestionAnswered():
            return None
        case Unreadable():
            return None
        case PromptAccepted() | PromptSteered():
            return replace(body, key="")
        case _:
            return body


def _find_turn(body: Body) -> str | None:
    """The turn that a body belongs to."""
    if isinstance(body, UnknownBody):
        named = body.raw.get("turn_id")
        return named if isinstance(named, str) else None
    return getattr(body, "turn_id", None)


def _find_items(events: Iterable[Event], turns: dict[str, None]) -> set[str]:
    """The items of these turns."""
    found: set[str] = set()
    for event in events:
        match event.body:
            case PromptAccepted(turn_id=turn_id, items=items) if turn_id in turns:
                found.update(item.id for item in items)
            case ItemAdded(turn_id=turn_id, item=item) if turn_id in turns:
                found.add(item.id)
            case _:
                pass
    return found
