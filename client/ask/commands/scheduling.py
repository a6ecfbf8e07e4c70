"""Whether schedules do what they are there for: which have trouble, and how the others went last.

One that a person has paused is in order. It changes none.
"""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ask.commands.calls import Map
from ask.commands.findings import Finding
from ask.commands.layout import count, flatten
from ask.commands.schedule_layout import tell_last, tell_next
from ask.commands.schedules import list_schedules
from ask.exits import Failed

if TYPE_CHECKING:
    from ask.connection import Client

CHECK = "schedule"
BAD_ENDS = ("refused", "failed")
SHOWN_ERROR = 200


def fetch_schedules(client: "Client") -> list[Map]:
    """Every schedule, the oldest first; an older daemon has none."""
    try:
        return list_schedules(client)
    except Failed as error:
        if error.data.get("reason") != "unknown_method":
            raise
        return []


def check_schedules(rows: Sequence[Map]) -> Iterator[Finding]:
    """Those with trouble, each; else how many there are. Nothing where there is none."""
    found = [finding for finding in map(judge, rows) if finding is not None]
    if rows and not found:
        nexts = [each for each in rows if each.get("next_at") is not None]
        soonest = min(nexts, key=lambda each: each["next_at"], default=None)
        when = "none is enabled" if soonest is None else f"next {_tell_next(soonest)}"
        yield Finding(CHECK, "ok", f"{count(len(rows), 'schedule')}, {when}")
    yield from found


def judge(schedule: Map) -> Finding | None:
    """What is wrong with a schedule; None: nothing."""
    id = str(schedule["id"])[:8]
    name = flatten(schedule["name"] or id)
    if schedule.get("trouble"):
        if schedule.get("paused_at") is not None:
            state, way = "is paused", f"Go on: ask schedule resume {id}"
        else:
            state, way = "sends nothing", f"All about it: ask schedule show {id}"
        text = f"{name} {state}: {flatten(schedule['trouble'])}"
        return Finding(CHECK, "warn", text, f"{way}; or: ask schedule remove {id}")
    last = schedule.get("last")
    if last is None or last["state"] not in BAD_ENDS:
        return None
    why = flatten(last.get("error") or "")[:SHOWN_ERROR]
    text = f"{name}: {tell_last(last)}{f': {why}' if why else ''}"
    return Finding(CHECK, "warn", text, f"All about it: ask schedule show {id}")


def _tell_next(schedule: Map) -> str:
    return tell_next(schedule, now=time.time())
