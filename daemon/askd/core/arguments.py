"""Arguments of calls: their one spelling, and what stands for those that are too large to keep.

A call of any size must fit an event, and an event one message of the wire. What is larger
is left out whole, for half of it would be other arguments than those that were meant: a
sentence stands in its place, as JSON that is no object, so that nothing can run with it.
"""

import json

from askd.core.pairs import fit_name

ARGUMENTS_LIMIT_BYTES = 256 * 1024
"""Of one call: as much as a part of a message, and more than models write in one answer."""
ANSWER_LIMIT_BYTES = 2 * ARGUMENTS_LIMIT_BYTES
"""Of all calls of one answer together: they stand in one event."""

_BEGINNING = "[Left out: "
REFUSAL = (
    _BEGINNING + "these arguments have {size:,} bytes; {limit:,} is the most for one call, and "
    "twice that for all calls of one answer. The call was not run. Do it in several smaller "
    "steps.]"
)
WARNING = (
    "The model called {name} with {size:,} bytes of arguments, more than can be kept; the call is "
    "not run, and the model is told so."
)


def canonical_arguments(text: str) -> str:
    """The same for all ways to write the same arguments; what is no JSON stays as it is."""
    try:
        value = json.loads(text or "{}")
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def measure_arguments(text: str) -> int:
    """Bytes of arguments as they are stored."""
    return len(text.encode("utf-8", "replace"))


def leave_out_arguments(size: int) -> str:
    """What stands for arguments of so many bytes."""
    return json.dumps(REFUSAL.format(size=size, limit=ARGUMENTS_LIMIT_BYTES))


def find_refusal(arguments: str) -> str | None:
    """The sentence for the model, if it stands in the place of arguments."""
    if not arguments.startswith(f'"{_BEGINNING}'):
        return None
    try:
        return str(json.loads(arguments))
    except ValueError:
        return None


def warn_of_size(name: str, size: int) -> str:
    """The sentence for those who watch."""
    return WARNING.format(name=fit_name(name), size=size)
