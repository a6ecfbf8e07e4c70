"""What `ask doctor` finds: one line a check, and a line for what to do about it."""

from dataclasses import dataclass
from typing import Literal

from ask.terminal import strip_controls

State = Literal["ok", "warn", "fail"]

WAYS_BACK = "ask doctor --rebuild, or ask doctor --restore BACKUP"
"""What to do when the database is damaged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `hint` says what to do, empty if it is in order."""

    check: str
    state: State
    text: str
    hint: str = ""


def lay_out_finding(finding: Finding) -> str:
    """One line for the finding, and one for what to do."""
    line = f"{finding.state:<4}  {finding.check}: {finding.text}"
    return strip_controls(f"{line}\n      {finding.hint}" if finding.hint else line)


def lay_out_size(number: int) -> str:
    """Bytes for people: `812 B`, `45 kB`, `1.2 GB`."""
    if number < 1000:
        return f"{number} B"
    if number < 999_500:
        return f"{number / 1000:.0f} kB"
    if number < 999_500_000:
        return f"{number / 1e6:.0f} MB"
    return f"{number / 1e9:.1f} GB"


def lay_out_age(seconds: float) -> str:
    """How long ago: `3 days`, `1 hour`, `now`."""
    for unit, length_s in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        number = int(seconds // length_s)
        if number >= 1:
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    return "now"
