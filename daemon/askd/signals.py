"""Signals to the daemon: the first TERM or INT drains, the second ends at once, HUP reads settings.

It decides which signal means what, and does none of it itself.
"""

import logging
import signal
from collections.abc import Callable

import trio

log = logging.getLogger("askd")

WATCHED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def watch_signals(
    reload: Callable[[], None],
    stop: Callable[[float], None],
    drain_s: float,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Watch until cancelled.

    Args:
        reload: reads the settings again.
        stop: ends the daemon; running turns have so many seconds.
        drain_s: how many they have the first time.
    """
    asked = False
    with trio.open_signal_receiver(*WATCHED) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGHUP:
                reload()
            else:
                log.info("%s: stopping.", signal.Signals(number).name)
                stop(0.0 if asked else drain_s)
                asked = True
