"""Cron expressions: read by `cronsim`, by the wall clock of a time zone, as slots in unix seconds.

What it means is what Debian's cron means, daylight saving included: a fixed time that a change of
the clock leaves out comes right after it, one that comes twice counts once, and what repeats
within the hour goes by real time. The library is an extra and is loaded when it is
needed. It reads no clock.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from askd.core.schedules import After
from askd.errors import AskdError, RequestError

NOT_INSTALLED = 'Schedules need a part that is not installed: pip install "askd[cron]"'
CRON_LENGTH = 200
"""Longer than anything that a person could still read."""
SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""As crontab(5) has them."""
FIELDS = ("minute", "hour", "day-of-month", "month", "day-of-week")
FORM = 'Five fields: minute hour day-of-month month day-of-week, as in "0 8 * * 1-5".'
UTC_NAMES = ("UTC", "Etc/UTC")
LOCALTIME = "/etc/localtime"
"""localtime(5): a link to the machine's zone, below a directory `zoneinfo`."""


def read_cron(text: str, zone: str) -> After:
    """The slots of an expression in a time zone.

    Raises:
        AskdError: the library is not installed (not_installed).
        RequestError: it is no expression, or never true (bad_cron); no such zone (bad_zone).
    """
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise AskdError(NOT_INSTALLED, reason="not_installed") from None
    where = find_zone(zone)
    expression = _expand(text)

    def after(at: float) -> Iterator[float]:
        last = at
        try:
            # From a second before: whether that one is a slot itself decides the comparison.
            slots = CronSim(expression, datetime.fromtimestamp(at - 1, where))
        except (OverflowError, ValueError, OSError):
            return  # a clock that was set to a year that no calendar has
        while True:
            try:
                slot = next(slots, None)
            except (OverflowError, ValueError):
                return  # beyond the last year that there is
            if slot is None:
                return
            found = slot.timestamp()
            # A change of the clock makes one moment of two, or leads back before the start.
            if found > last:
                last = found
                yield found

    try:
        CronSim(expression, datetime.fromtimestamp(0, UTC))
    except CronSimError as error:
        raise _explain(text, expression, str(error)) from None
    return after


def find_zone(name: str) -> tzinfo:
    """The time zone of an IANA name; raises `RequestError` (bad_zone)."""
    if name in UTC_NAMES:
        return UTC  # also where no data about zones is installed
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # `ZoneInfoNotFoundError` is the last
        raise RequestError(
            f"There is no time zone {name[:CRON_LENGTH]!r}. Name one as in Europe/Berlin.",
            reason="bad_zone",
        ) from None


def find_machine_zone(localtime: str = LOCALTIME) -> str:
    """The IANA name of the machine's time zone; UTC if nobody says."""
    try:
        _, found, name = os.readlink(localtime).rpartition("zoneinfo/")
        if found:
            find_zone(name)
            return name
    except (OSError, RequestError):
        pass
    return UTC_NAMES[0]


def _expand(text: str) -> str:
    if len(text) > CRON_LENGTH:
        raise RequestError(
            f"A cron expression has {CRON_LENGTH} characters at the most.", reason="bad_cron"
        )
    if text.strip().lower() == "@reboot":
        raise RequestError(
            "@reboot names no time. What is to be done when the daemon starts is for a unit of "
            "systemd, or for cron itself.",
            reason="bad_cron",
        )
    return SHORTHANDS.get(text.strip().lower(), text)


def _explain(text: str, expression: str, why: str) -> RequestError:
    """What is wrong, with the field that it is in."""
    said = expression.split()
    what = why.removeprefix("Bad ")
    data: dict[str, str] = {"hint": FORM}
    if what in FIELDS and len(said) in (5, 6):
        value = said[FIELDS.index(what) + len(said) - 5]
        data["field"] = what
        message = f"Not a cron expression: {text!r}. Its {what} cannot be {value!r}."
    elif text.strip().startswith("@"):
        message = f"Not a cron expression: {text!r}. Words are {', '.join(SHORTHANDS)}."
    elif len(said) not in (5, 6):
        fields = "1 field" if len(said) == 1 else f"{len(said)} fields"
        message = f"Not a cron expression: {text!r}. It has {fields}, and not five."
    else:
        message = f"Not a cron expression: {text!r}."
    return RequestError(message, reason="bad_cron", data=data)
