"""Draining: turns end before the daemon does, or are left so that the next one can go on.

A turn that nobody watches and that can be run again as if nothing had been is not
interrupted for a restart: its next attempt is the next daemon's. It starts nothing
and accepts nothing; that nobody else does is up to whoever drains.
"""

import contextlib
from collections.abc import Callable, Sequence, Set

import trio

from askd.core.outcome import FAILED
from askd.core.recovery import DRAINED, can_repeat
from askd.core.turn import Interrupted
from askd.errors import NotFound
from askd.sessions.live import LiveSession

INTERRUPT_WAIT_S = 10.0
"""How long interrupted turns may take to write down their end."""
PARKED_LOOK_S = 0.2
"""How often it is looked whether a turn that was waited for waits for a person by now."""
STOPPED = DRAINED


class Drain:
    """Waits for the turns that run, then for those that it had to interrupt."""

    def __init__(
        self, live: Callable[[], Sequence[LiveSession]], *, harmless_tools: Callable[[], Set[str]]
    ) -> None:
        self._live = live
        self._harmless_tools = harmless_tools
        self._patience: list[trio.CancelScope] = []

    async def run(self, wait_s: float) -> None:
        """Let turns end for so long, interrupt those that do not; return when they have ended.

        One with less patience ends that of those that wait already.
        """
        with trio.move_on_after(wait_s) as patience:
            self._patience.append(patience)
            await _wait_ended(self._live())
        for each in self._patience:
            each.cancel()
        stopped = [each for each in self._live() if each.running and not self._is_left(each)]
        for session in stopped:
            if session.running is not None:
                session.running.post(Interrupted(FAILED, "interrupted", STOPPED))
        with trio.move_on_after(INTERRUPT_WAIT_S):
            await _wait_ended(stopped)

    def _is_left(self, session: LiveSession) -> bool:
        """Whether the next daemon will run the turn again."""
        turn_id = session.running.turn_id if session.running else ""
        record = session.conversation.turns.get(turn_id)
        if record is None or session.ephemeral or session.is_stale:
            return False
        return record.attempt > 0 and can_repeat(record, self._harmless_tools())


async def _wait_ended(sessions: Sequence[LiveSession]) -> None:
    """Wait until none of them runs a turn; one that parks meanwhile is the next daemon's."""
    for session in list(sessions):
        while session.running is not None:
            with contextlib.suppress(NotFound), trio.move_on_after(PARKED_LOOK_S) as look:
                await session.wait_finished(session.running.turn_id)
            if not look.cancelled_caught:
                break
