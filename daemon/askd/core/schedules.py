"""Schedules: a prompt that the daemon sends by itself, and which of its moments are due.

Pure. A slot is a moment that the cron expression names, in unix seconds, by its time zone. What
is due follows from two instants, the last slot that was handled and now, so that neither a
restart nor a clock that was set can make a slot happen twice. It reads no clock, and
knows no cron: whoever asks brings the slots.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, assert_never

from askd.core.events import PromptAccepted

Missed = Literal["skip", "once", "all"]
"""What becomes of slots for which nobody was there in time."""
MISSED_LIMIT = 24
"""With `all`, prompts that are made up for at one time: a day of hourly ones. Each costs."""
WAITING_LIMIT = 24
"""Prompts of one schedule that are not over: whoever does not answer in time gets no more."""
ON_TIME_S = 60.0
"""A slot is missed when it is older than this: less is what waking up takes."""
COUNTED = 100
"""Slots that are looked at; of those further back nobody needs the number."""

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86_400.0
WINDOWS_S = (_MINUTE_S, _HOUR_S, _DAY_S, 7 * _DAY_S, 31 * _DAY_S, 366 * _DAY_S)
"""How far back slots are looked for, one after the other, until there are enough of them."""
CALENDAR_END = 253_402_214_400.0
"""The last day of the year 9999, which no calendar of ours goes beyond: a clock may."""

After = Callable[[float], Iterator[float]]
"""The slots after a moment: in order, each once, endless or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One schedule; times in unix seconds.

    Attributes:
        name: what people call it; an id does as well.
        cron: when, as it was written.
        zone: whose wall clock that is, as the IANA database names it.
        missed: what becomes of slots that were missed.
        session: the conversation's id or name, as it was said; None: each firing begins one.
        conversation_id: that conversation, once it is known.
        prompt: what is sent; turn and key are empty.
        paused_at: nothing is sent since then; None: it is not paused.
        paused_why: a sentence, if it was not a person who paused it.
        damage: a sentence: what of it cannot be read any more. Nothing is sent then.
    """

    id: str
    name: str | None
    cron: str
    zone: str
    missed: Missed
    session: str | None
    conversation_id: str | None
    prompt: PromptAccepted
    created_at: float
    paused_at: float | None = None
    paused_why: str | None = None
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class Fire:
    """The prompt is to be sent for this slot, and for `skipped` before it that get none."""

    slot: float
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Skip:
    """So many slots up to this one get no prompt."""

    slot: float
    skipped: int


def find_due(after: After, *, since: float, until: float) -> list[float]:
    """The newest slots with `since < slot <= until`, the oldest of them first.

    At most `COUNTED`: after ten years there may be millions, and they are looked for from
    the end.
    """
    until = min(until, CALENDAR_END)
    for window_s in (*WINDOWS_S, float("inf")):
        start = max(since, until - window_s)
        found = deque(takewhile(lambda slot: slot <= until, after(start)), maxlen=COUNTED)
        if start == since or len(found) == COUNTED:
            return list(found)
    raise AssertionError("the last window reaches back to the beginning")


def plan_slots(due: Sequence[float], *, now: float, missed: Missed) -> list[Fire | Skip]:
    """What to do about the slots that are due, in order; `due`: the oldest first."""
    if not due:
        return []
    match missed:
        case "once":
            return [Fire(due[-1], len(due) - 1)]
        case "all":
            chosen = due[-MISSED_LIMIT:]
        case "skip":
            chosen = [slot for slot in due if now - slot <= ON_TIME_S][-MISSED_LIMIT:]
            if not chosen:
                return [Skip(due[-1], len(due))]
        case _:
            assert_never(missed)
    first, *rest = chosen
    return [Fire(first, len(due) - len(chosen)), *(Fire(slot) for slot in rest)]


def find_next(after: After, now: float) -> float | None:
    """The next slot; None: there is none any more."""
    return next(after(now), None)


def make_key(schedule_id: str, slot: float) -> str:
    """The key of a slot's prompt: the same slot is the same turn, for ever."""
    return f"schedule:{schedule_id}:{slot:.0f}"
