"""Signals to this very process, each for what it means."""

import os
import signal

import trio
import trio.testing

from askd.signals import watch_signals


async def test_each_signal_means_what_it_should() -> None:
    told: list[object] = []
    async with trio.open_nursery() as nursery:
        await nursery.start(watch_signals, lambda: told.append("reload"), told.append, 20.0)
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            before = len(told)
            os.kill(os.getpid(), number)
            with trio.fail_after(5):
                while len(told) == before:
                    await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert told == ["reload", 20.0, 0.0]
