"""How schedules are laid out as text: a row each, or all about one.

Times are shown by the clock of whoever looks, whatever zone a schedule has. Values in, lines
out; the caller strips control sequences.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ask.commands.layout import flatten
from ask.graphemes import find_width, fit
from ask.hits import INDENT, SHORT_ID

NARROW_COLUMNS = 12
"""What a prompt keeps on a narrow terminal."""
PROMPT_COLUMNS = 60
"""What it is shown of where nothing is cut."""
NO_SCHEDULES = (
    'Nothing is scheduled.\nTo begin: ask schedule add --cron "0 8 * * 1-5" -s morning "..."'
)
STATES = {"accepted": "at work", "completed": "done"}
"""Words for people, where the daemon's are others."""
MISSED = {
    "skip": "nothing is sent for them",
    "once": "one prompt for all of them",
    "all": "one prompt for each of the last 24",
}

Record = Mapping[str, Any]


def lay_out_schedules(schedules: Sequence[Record], columns: int | None, *, now: float) -> list[str]:
    """One a line: short id, name, cron, next time, how it went last, prompt; troubles below."""
    cells = [
        (
            str(each["id"])[:SHORT_ID],
            flatten(each["name"] or each["session"] or "-"),
            flatten(each["cron"]),
            tell_next(each, now=now),
            tell_last(each.get("last")),
        )
        for each in schedules
    ]
    widths = [max((find_width(row[at]) for row in cells), default=0) for at in range(5)]
    lines = []
    for each, row in zip(schedules, cells, strict=True):
        line = "  ".join(fit(cell, width) for cell, width in zip(row, widths, strict=True))
        room = PROMPT_COLUMNS if columns is None else columns - find_width(line) - 2
        prompt = flatten(each["prompt"])
        if find_width(prompt) > room:
            prompt = fit(prompt, max(NARROW_COLUMNS, room))
        lines.append(f"{line}  {prompt}".rstrip())
        why = each.get("trouble") or _find_error(each.get("last"))
        if why:
            lines.append(f"{INDENT}{flatten(why)}")
    return lines


def lay_out_schedule(schedule: Record, *, now: float) -> list[str]:
    """All about one, and what it did lately, the last first."""
    options = schedule.get("options") or {}
    lines = [
        f"Schedule: {schedule['id']}",
        f"Name: {flatten(schedule['name'] or 'none')}",
        f"When: {flatten(schedule['cron'])} ({schedule['zone']})",
        f"Next: {tell_next(schedule, now=now)}",
        f"Missed: {MISSED.get(schedule['missed'], schedule['missed'])}",
        f"Conversation: {_tell_conversation(schedule)}",
    ]
    if schedule.get("trouble"):
        lines.insert(4, f"Trouble: {flatten(schedule['trouble'])}")
    if schedule.get("cwd"):
        lines.append(f"Directory: {flatten(schedule['cwd'])}")
    for name in ("model", "tools", "approve", "notify"):
        if options.get(name) is not None:
            value = options[name]
            lines.append(f"{name.capitalize()}: {flatten(_tell_option(value))}")
    if options.get("timeout_s") is not None:
        lines.append(f"Timeout: {options['timeout_s']:g} s")
    first, *rest = str(schedule["prompt"]).splitlines() or [""]
    lines += [f"Prompt: {first}", *(f"{INDENT}{line}" for line in rest)]
    slots = schedule.get("slots") or ()
    if slots:
        lines += ["Lately:", *(f"{INDENT}{line}" for each in slots for line in _lay_out_slot(each))]
    return lines


def _tell_option(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(value)
        case _:
            return str(value)


def tell_next(schedule: Record, *, now: float) -> str:
    """When it comes next, and in how long."""
    if schedule.get("paused_at") is not None:
        return "paused"
    next_at = schedule.get("next_at")
    if next_at is None:
        return "never"
    return f"{_tell_time(next_at)} (in {tell_span(next_at - now)})"


def tell_last(slot: Record | None) -> str:
    """How it went last; `-`: nothing was done yet."""
    if slot is None:
        return "-"
    state = STATES.get(slot["state"], str(slot["state"]))
    return f"{state} {_tell_time(slot['slot'] or slot['at'])}"


def tell_span(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h`, `5 days`."""
    for unit, length_s, most in (("s", 1, 60), ("min", 60, 60), ("h", 3600, 48)):
        number = max(0, round(seconds / length_s))
        if number < most:
            return f"{number} {unit}"
    return f"{round(seconds / 86_400)} days"


def _lay_out_slot(slot: Record) -> list[str]:
    when = "by hand" if slot["slot"] is None else "for " + _tell_time(slot["slot"])
    parts = [_tell_time(slot["at"]), when, STATES.get(slot["state"], str(slot["state"]))]
    if slot.get("skipped"):
        passed = slot["skipped"]
        parts.append(
            f"{passed} passed over" if slot["state"] == "skipped" else f"after {passed} missed"
        )
    if slot.get("job_id"):
        parts.append(f"job {str(slot['job_id'])[:SHORT_ID]}")
    lines = ["  ".join(parts)]
    error = _find_error(slot)
    return [*lines, f"{INDENT}{flatten(error)}"] if error else lines


def _find_error(slot: Record | None) -> str | None:
    if slot is None or slot["state"] == "completed":
        return None
    return slot.get("error") or None


def _tell_conversation(schedule: Record) -> str:
    id = schedule.get("conversation_id")
    if schedule["session"] is None:
        return "a new one each time"
    name = flatten(schedule["session"])
    return f"{name} (not there yet)" if id is None else f"{name} ({str(id)[:SHORT_ID]})"


def _tell_time(at: float) -> str:
    moment = datetime.fromtimestamp(at)
    return moment.strftime("%a %Y-%m-%d %H:%M" + (":%S" if moment.second else ""))
