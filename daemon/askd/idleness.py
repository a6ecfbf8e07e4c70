"""When the daemon makes way because nobody needs it: to systemd, or to a newer askd.

It looks now and then and asks for the end; it ends nothing itself.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

import trio

from askd import __version__
from askd.host import find_installed_version

IDLE_EXIT_S = 600.0
"""A socket-activated daemon with nothing to do leaves after this long: systemd starts it again."""
IDLE_LOOK_S = 2.0

log = logging.getLogger("askd")


class Restful(Protocol):
    """A conversation in memory."""

    def is_idle(self) -> bool:
        """Whether nobody would miss it there."""
        ...


async def is_needed(
    count_clients: Callable[[], int],
    live: Callable[[], Iterable[Restful]],
    work: Sequence[Callable[[], Awaitable[int]]],
) -> bool:
    """Whether anybody is connected, any conversation at work, or `work` counts anything.

    `work`: jobs that are not over, schedules that are not paused.
    """
    if count_clients() or any(not session.is_idle() for session in live()):
        return True
    for count in work:
        if await count():
            return True
    return False


async def leave_when_idle(
    is_needed: Callable[[], Awaitable[bool]],
    stop: Callable[[float], None],
    *,
    is_activated: bool,
) -> None:
    """Call `stop` once nobody needs us and somebody will start the next daemon."""
    idle_since = trio.current_time()
    while True:
        await trio.sleep(IDLE_LOOK_S)
        if await is_needed():
            idle_since = trio.current_time()
        elif is_activated and trio.current_time() - idle_since >= IDLE_EXIT_S:
            log.info("Idle for %d s: leaving.", IDLE_EXIT_S)
            return stop(0.0)
        elif (installed := find_installed_version()) not in (None, __version__):
            log.info("askd %s is installed now: leaving, the next client starts it.", installed)
            return stop(0.0)
