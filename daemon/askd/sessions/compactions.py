"""What is known of one session's compactions: whether one is under way, when the last one was.

In memory, and forgotten with the session: what matters for longer is in the log (the
last change of the view) and among the jobs. It begins none; it says whether one may
begin by itself, and lets others wait for the end of the one that runs.
"""

import math
from dataclasses import dataclass
from typing import Literal

import trio

from askd.core.events import Event, ViewChanged
from askd.providers.base import Caller

COOL_DOWN_S = 60.0
"""Between two compactions that nobody asked for. What did not help will not help a moment later."""

BEGIN_S = 60.0
"""A job that has not begun by then was cancelled, or waits behind many others: no one waits on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a compaction came to.

    Attributes:
        state: `idle`: there was nothing to do.
        text: a sentence for people.
        why: what kept it from being done.
    """

    state: Literal["finished", "idle", "failed"]
    text: str
    tokens_before: int | None = None
    tokens_after: int | None = None
    why: str | None = None


class Ending:
    """How one compaction ends."""

    def __init__(self) -> None:
        self._over = trio.Event()
        self._result: Settled | None = None

    def set(self, result: Settled) -> None:
        """It has ended."""
        self._result = result
        self._over.set()

    async def wait(self) -> Settled:
        """Wait for it."""
        await self._over.wait()
        assert self._result is not None
        return self._result


class Compactions:
    """Of one session.

    Attributes:
        announced: people were told that one has begun, and not yet how it ended.
        last_caller: what the caller of the last turn lent it. The summary that its turn made
            necessary is asked for with the same keys: they live as long as the session.
    """

    def __init__(self) -> None:
        self.announced = False
        self.last_caller = Caller()
        self._awaited_until = -math.inf
        self._running = 0
        self._last_at: float | None = None
        self._last_turn: str | None = None
        self._ending = Ending()

    def observe(self, event: Event) -> None:
        """Take a committed event."""
        if isinstance(event.body, ViewChanged) and event.body.kind == "compact":
            self._last_at = event.at

    def keep_caller(self, caller: Caller | None) -> None:
        """Somebody asks, and lends this for it; None: nobody who would."""
        if caller is not None:
            self.last_caller = caller

    # ---- one that is under way -------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Whether one runs, or a job for one was written just now and has not ended."""
        return self._running > 0 or trio.current_time() < self._awaited_until

    def expect(self) -> None:
        """A job was written, or will be tried again."""
        self._awaited_until = trio.current_time() + BEGIN_S

    def begin(self) -> None:
        """One runs."""
        self._running += 1

    def pause(self) -> None:
        """It does not run any more, and will be tried again."""
        self._running -= 1

    def settle(self, result: Settled, *, at: float) -> None:
        """It is over; whoever waits hears how. `at` in unix seconds."""
        self._awaited_until = -math.inf
        self._last_at = at
        ending, self._ending = self._ending, Ending()
        ending.set(result)

    def listen(self) -> Ending:
        """The end of the one that is under way, or of the next one."""
        return self._ending

    def give_up(self) -> None:
        """Whoever waited has waited long enough: it is not waited for again."""
        self._awaited_until = -math.inf

    # ---- whether one may begin by itself ---------------------------------------

    def may_begin(self, turn_id: str, now: float) -> bool:
        """Whether this turn may have one made: its first, and none was made just before."""
        if turn_id == self._last_turn:
            return False
        # A wall clock that was set back must not put it off for longer.
        return self._last_at is None or not 0 <= now - self._last_at < COOL_DOWN_S

    def spend(self, turn_id: str) -> None:
        """This turn has had its one."""
        self._last_turn = turn_id
