"""How running turns come to their ends when the daemon leaves.

They may end by themselves for as long as somebody has patience, and are interrupted then.
It closes nothing and does not decide that it is time to leave.
"""

import math
from collections.abc import Awaitable, Callable

import trio


async def end_turns(
    drain: Callable[[float], Awaitable[None]], wait_deadline: Callable[[], Awaitable[None]]
) -> None:
    """Return when all turns have ended.

    Args:
        drain: lets turns end and interrupts them after so many seconds; may be called again.
        wait_deadline: returns when patience is over; that may be said later than this begins.
    """

    async def lose_patience() -> None:
        await wait_deadline()
        await drain(0.0)

    # In it: the one who loses patience, gone when the turns are.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lose_patience)
        await drain(math.inf)
        nursery.cancel_scope.cancel()
