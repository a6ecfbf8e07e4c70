"""Where a terminal in a known conversation begins: near its end, and with all that is not over.

Of what is over the last messages are shown. A turn that runs, what waits, and what is asked
are part of the present, and come with the events that they began with.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ask.blobs import read_answer
from ask.chat.view import View
from ask.commands.calls import Map, read_tail
from ask.connection import Caller
from ask.feed import News
from ask.tails import holds_open_turns


@dataclass(frozen=True, slots=True)
class Past:
    """The last events of a conversation.

    Attributes:
        events: as they were appended; answers that no event holds were read.
        first: the place of the first that is shown of what is over.
        going_on: the turns that are not.
        seq: of the last event that was seen.
    """

    events: Sequence[Map] = ()
    first: int = 0
    going_on: frozenset[str] = frozenset()
    seq: int = 0


def find_past(client: Caller, found: Map, limit: int) -> Past:
    """Read as much of a conversation as is needed to begin in it.

    Args:
        found: its summary.
        limit: so many messages of what is over are shown.
    """
    if found["state"] == "stored":
        # Of a conversation that is not in memory nobody knows yet what goes on in it.
        asked = {"conversation_id": found["id"], "after_seq": found["last_seq"], "limit": 1}
        client.call("conversation/subscribe", asked)
        target = {"kind": "id", "value": found["id"]}
        found = client.call("conversation/resolve", {"target": target})
    seq = int(found["last_seq"])
    if found["state"] == "idle" and not limit:
        return Past(seq=seq)
    events = read_tail(
        client,
        found,
        limit,
        is_enough=lambda tail: holds_open_turns(tail, found) and tells_last(tail, limit),
    )
    first = _find_first(events, limit)
    kept = [
        dict(read_answer(client, event)) if place >= first else event
        for place, event in enumerate(events)
    ]
    return Past(kept, first, find_going_on(events), seq)


def tells_last(events: Sequence[Map], limit: int) -> bool:
    """Whether these, the last of a log, tell how the last messages are shown.

    They do if there are as many, and every turn of theirs begins here.
    """
    if not limit:
        return True
    first = _find_first(events, limit)
    begun = {each["turn_id"] for each in events if each["type"] == "prompt_accepted"}
    return first > 0 and all(each.get("turn_id") in {None, *begun} for each in events[first:])


def find_going_on(events: Sequence[Map]) -> frozenset[str]:
    """The turns that were accepted with one of these events, and have not ended."""
    ended = {str(each["turn_id"]) for each in events if each["type"] == "turn_finished"}
    begun = {str(each["turn_id"]) for each in events if each["type"] == "prompt_accepted"}
    return frozenset(begun - ended)


def recall(view: View, past: Past) -> None:
    """Let a view know the past, and show what is to be shown of it."""
    for place, event in enumerate(past.events):
        if str(event.get("turn_id")) in past.going_on:
            view.take(News("event", event))
        else:
            view.recall(event, shown=place >= past.first)


def _find_first(events: Sequence[Map], limit: int) -> int:
    """The place from which on as many messages are shown as are wanted, or all."""
    if not limit:
        return len(events)
    view, going_on = View(), find_going_on(events)
    said = [
        place
        for place, event in enumerate(events)
        if view.recall(event, shown=False) and str(event.get("turn_id")) not in going_on
    ]
    return said[-limit] if len(said) >= limit else 0
