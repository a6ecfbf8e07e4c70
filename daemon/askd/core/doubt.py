"""Whether a clock that leaps ahead is to be believed, by one who removes what is old.

A wrong clock at a start (an empty battery, a restored machine) is mostly put
right within minutes; until then everything looks old. So a leap is not acted on
until the clock has stood by it for a day. It reads no clock itself.
"""

from dataclasses import dataclass

LEAP_S = 7 * 86_400.0
"""A longer time in which nothing was heard of the clock is a leap, or a long absence."""
DOUBT_S = 86_400.0
"""For so long a leap is doubted: a machine with a network has the right time by then."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What is known of the clock, in its own unix seconds.

    Attributes:
        believed_at: the last time that was taken for true; None: none was yet.
        doubted_at: the first time after it that was doubted; None: nothing is in doubt.
    """

    believed_at: float | None = None
    doubted_at: float | None = None


def judge(belief: Belief, *, now: float, newest_at: float | None, keep_s: float) -> Belief:
    """What to think of the clock now; believed if `doubted_at` is None.

    A clock that goes back is believed: by it less is old. So is one of which
    nothing is known, if it fits what was written last (`newest_at`).

    Args:
        keep_s: how long things are kept; of a leap, half of it is borne at the most.
    """
    known = belief.believed_at if belief.believed_at is not None else newest_at
    if known is None or now - known <= min(LEAP_S, keep_s / 2):
        return Belief(now)
    if belief.doubted_at is None or now < belief.doubted_at:
        return Belief(belief.believed_at, now)
    if now - belief.doubted_at >= DOUBT_S:
        return Belief(now)
    return belief
