"""The end of a conversation, told from the end of its log.

A log is in the order of its commits, a history in that of its turns: a prompt may wait
far before its answer, and an end of the log may begin in the midst of a turn. What is
found here is whether such an end tells for sure what is wanted; if it does not, more
of the log must be read. Pure: nothing is read here.
"""

from collections.abc import Sequence

from ask.transcript import Map, Message, read_messages

TAIL_MESSAGES = 10
"""Shown of what was said before: as much as fits a screen."""


def find_last_messages(events: Sequence[Map], limit: int) -> list[Message] | None:
    """The last messages of a history whose log ends with these events; None: they do not tell.

    They do not if one of those messages came before them or belongs to a turn that began
    before them, nor if one of them cannot be read: then only the whole log tells how its
    messages are numbered.
    """
    begun: set[str] = set()
    missing: set[str] = set()
    known: list[Map] = []
    for event in events:
        turn_id = event.get("turn_id")
        if event.get("type") == "unreadable":
            return None
        if event.get("type") == "prompt_accepted":
            begun.add(str(turn_id))
        elif is_first_start(event) and turn_id not in begun:
            # Its prompt waited since before these events; its place is known all the same.
            begun.add(str(turn_id))
            prompt = {"type": "user_message", "id": f"the prompt of {turn_id}"}
            missing.add(prompt["id"])
            known.append({**event, "type": "prompt_accepted", "items": [prompt]})
        elif turn_id is not None and turn_id not in begun:
            continue  # of a turn that began before, and so stands before all that began in here
        known.append(event)
    messages = read_messages(known)
    last = messages[-limit:] if limit else []
    if len(last) < limit or any(each.item_id in missing for each in last):
        return None
    return last


def holds_open_turns(events: Sequence[Map], summary: Map) -> bool:
    """Whether every turn that is not over was accepted with one of these events.

    They are the last up to the summary's `last_seq`. How many prompts wait is known; whether
    one is being answered besides is nearly always so where anything waits, and is assumed.
    The summary is one of a conversation in memory: of no other is it known what goes on.
    """
    wanted = 0 if summary["state"] == "idle" else summary.get("queued", 0) + 1
    return len(_find_open_turns(events)) >= wanted


def _find_open_turns(events: Sequence[Map]) -> set[str]:
    found: set[str] = set()
    for event in events:
        match event.get("type"):
            case "prompt_accepted":
                found.add(str(event.get("turn_id")))
            case "turn_finished":
                found.discard(str(event.get("turn_id")))
            case _:
                continue
    return found


def is_first_start(event: Map) -> bool:
    """Whether a turn left the queue with this event; another attempt did that before."""
    return event.get("type") == "turn_started" and event.get("attempt", 1) <= 1
