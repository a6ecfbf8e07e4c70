"""One gate per provider: when one request hears "too many", all others wait too.

`Gate` is the theory, pure, with the time given to it:

    open ──limited──> shut until a moment ──the moment comes──> half open
      ^                 ^                                          │
      │                 └────────── a probe is limited ────────────┤
      └── probes succeed, each lets two more in ───────────────────┘

Half open, a few requests (probes) go in and the rest wait for their verdict, so
that those who waited do not all come back in the same instant: the number of
those inside doubles with each round of answers, however many wait. A request that
was on its way before the gate shut says nothing about what holds now.

`Limiter` is the shell for trio: it keeps the gates and lets tasks wait, in a line:
who has asked for the longest goes in first, also after being sent away. A task
that is cancelled, or that leaves without a verdict, gives its place back. It
decides nothing about trying the same request again; `retry` does.
"""

import math
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass

import trio

from askd.errors import RateLimited
from askd.providers.base import Endpoint
from askd.providers.http.retry import LONGEST_WAIT_S, write_seconds

FEWEST = 2
"""Probes at first: one alone may be slow, or cancelled."""

MOST = 64
"""Probes; with so many in flight and none refused the gate might as well be open."""

SAME_S = 1.0
"""Who was told of a wait need not hear of another one that ends within this."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Go in. `epoch`: which state of the gate this was; it comes back with the verdict."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Not yet. `until`: when to ask again; infinite: when another request has a verdict."""

    until: float


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not within the longest wait. `until`: when the server wants to be asked again."""

    until: float


class Gate:
    """Whether a request may go to a provider at a time, in seconds of any clock.

    It is shut for `longest_s` at most. A server that asked for more is then asked
    again all the same, by a few: its clock may be wrong, the key another one by now.
    """

    def __init__(self, *, longest_s: float = LONGEST_WAIT_S) -> None:
        self._longest_s = longest_s
        self._epoch = 0  # counts how often it shut
        self._shut_until = -math.inf
        self._wanted = -math.inf  # what the server asked for, which may be hours
        self._places: int | None = None  # half open: how many may be inside; None: all
        self._inside = 0  # requests of this epoch without a verdict

    def plan_entry(self, now: float, *, is_first: bool = True) -> Enter | Wait | Refuse:
        """What a request has to do now; `Enter` takes a place.

        `is_first`: nobody waits who has asked for longer.
        """
        if self._places is not None:
            if now < self._shut_until:
                if self._wanted - now > self._longest_s:
                    return Refuse(self._wanted)
                return Wait(self._shut_until)
            if not is_first or self._inside >= self._places:
                return Wait(math.inf)
            self._inside += 1
        return Enter(self._epoch)

    def leave(self, entry: Enter, *, succeeded: bool) -> None:
        """Give the place back. A success makes room for one more, and at last for everyone."""
        if self._places is None or entry.epoch != self._epoch:
            return
        self._inside -= 1
        if succeeded:
            # One, and not twice as many: the answers of one round would each double them,
            # and all who wait would be inside within milliseconds.
            self._places = self._places + 1 if self._places < MOST else None

    def shut(self, entry: Enter, now: float, wait_s: float) -> None:
        """A request was limited. All that were on their way together shut it but once."""
        until = now + wait_s
        hold = min(until, now + self._longest_s)
        if self._places is None or entry.epoch == self._epoch:
            self._epoch += 1
            self._inside = 0
            self._places = FEWEST
            self._shut_until, self._wanted = hold, until
        else:
            self._shut_until = max(self._shut_until, hold)
            self._wanted = max(self._wanted, until)


class Turn:
    """One request's place in the order of all, kept through all its tries.

    Attributes:
        tell: called with a sentence when there is a wait, once for each.
        told_until: the end of a wait that is told; whoever tells of one itself sets it.
    """

    def __init__(self, number: int, tell: Callable[[str], None] | None) -> None:
        self.number = number
        self.tell = tell
        self.told_until = -math.inf


class Line:
    """A gate and the tasks that wait at it, those with the lowest number first."""

    def __init__(self) -> None:
        self.gate = Gate()
        self._waiting: list[_Waiter] = []

    def join(self, number: int) -> "_Waiter":
        """Wait with the others; whoever joins also leaves."""
        waiter = _Waiter(number)
        insort(self._waiting, waiter, key=lambda each: each.number)
        return waiter

    def leave(self, waiter: "_Waiter") -> None:
        """Wait no more; there may be a place for the next one."""
        self._waiting.remove(waiter)
        self.wake_first()

    def is_first(self, waiter: "_Waiter") -> bool:
        """Whether it is this one's turn."""
        return self._waiting[0] is waiter

    def wake_first(self) -> None:
        """Let the first look again; for the others nothing changes by a place."""
        if self._waiting:
            self._waiting[0].changed.set()

    def wake_all(self) -> None:
        """Let all look again: the wait may have become another one."""
        for waiter in self._waiting:
            waiter.changed.set()


class _Waiter:
    """A task in a line; only that task sleeps by it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.changed = trio.Event()

    async def sleep(self, until: float) -> None:
        """Until this moment, or until somebody wakes it."""
        with trio.move_on_at(until):
            await self.changed.wait()
        self.changed = trio.Event()


class Pass:
    """A place in a gate. Whoever took it says what came of it, and always leaves."""

    def __init__(self, line: Line, entry: Enter) -> None:
        self._line = line
        self._entry = entry
        self._is_inside = True

    def leave(self, *, succeeded: bool = False) -> None:
        """Give the place back; `succeeded`: the server answers, those who wait may come."""
        if self._is_inside:
            self._is_inside = False
            self._line.gate.leave(self._entry, succeeded=succeeded)
            self._line.wake_first()

    def limit(self, wait_s: float) -> None:
        """The server wants everybody to wait; it may say so even inside an answer."""
        self.leave()
        self._line.gate.shut(self._entry, trio.current_time(), wait_s)
        self._line.wake_all()


class Limiter:
    """The gates of all providers, and the tasks that wait at them."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now  # unix seconds, to say when
        self._lines: dict[tuple[str, str], Line] = {}
        self._last_number = 0

    def take_turn(self, tell: Callable[[str], None] | None = None) -> Turn:
        """The next place in the order; `tell` is called with a sentence for each wait."""
        self._last_number += 1
        return Turn(self._last_number, tell)

    async def enter(self, endpoint: Endpoint, turn: Turn | None = None) -> Pass:
        """Wait until a request may go to this provider, and take a place; None: behind all others.

        Raises:
            RateLimited: the wait would be too long; `data` has `retry_at`, and `final`.
        """
        turn = turn or self.take_turn()
        line = self._lines.setdefault((endpoint.provider, endpoint.base_url), Line())
        waiter = line.join(turn.number)
        try:
            while True:
                now = trio.current_time()
                match line.gate.plan_entry(now, is_first=line.is_first(waiter)):
                    case Enter() as entry:
                        return Pass(line, entry)
                    case Refuse(until=until):
                        raise RateLimited(
                            f"{endpoint.provider} takes no more requests for now. "
                            f"Try again in {write_seconds(until - now)}.",
                            data={"retry_at": self._now() + until - now, "final": True},
                        )
                    case Wait(until=until):
                        if turn.tell is not None and abs(until - turn.told_until) > SAME_S:
                            turn.told_until = until
                            turn.tell(_describe(endpoint.provider, until - now))
                        await waiter.sleep(until)
        finally:
            line.leave(waiter)


def _describe(provider: str, wait_s: float) -> str:
    if wait_s == math.inf:
        return f"{provider} had too many requests; waiting for the first of them to be answered"
    return f"{provider} had too many requests; waiting {write_seconds(wait_s)} as it asks"
