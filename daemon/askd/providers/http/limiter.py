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

`Limiter` is the shell for trio: it keeps the gates and lets tasks wait. A task
that is cancelled, or that leaves without a verdict, gives its place back. It
decides nothing about trying the same request again; `retry` does.
"""

import math
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

    def plan_entry(self, now: float) -> Enter | Wait | Refuse:
        """What a request has to do now; `Enter` takes a place."""
        if self._places is not None:
            if now < self._shut_until:
                if self._wanted - now > self._longest_s:
                    return Refuse(self._wanted)
                return Wait(self._shut_until)
            if self._inside >= self._places:
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


class Pass:
    """A place in a gate. Whoever took it says what came of it, and always leaves."""

    def __init__(self, limiter: "Limiter", gate: Gate, entry: Enter) -> None:
        self._limiter = limiter
        self._gate = gate
        self._entry = entry
        self._is_inside = True

    def leave(self, *, succeeded: bool = False) -> None:
        """Give the place back; `succeeded`: the server answers, those who wait may come."""
        if self._is_inside:
            self._is_inside = False
            self._gate.leave(self._entry, succeeded=succeeded)
            self._limiter.wake()

    def limit(self, wait_s: float) -> None:
        """The server wants everybody to wait; it may say so even inside an answer."""
        self.leave()
        self._gate.shut(self._entry, trio.current_time(), wait_s)
        self._limiter.wake()


class Limiter:
    """The gates of all providers, and the tasks that wait at them."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now  # unix seconds, to say when
        self._gates: dict[tuple[str, str], Gate] = {}
        self._changed = trio.Event()

    async def enter(self, endpoint: Endpoint, *, tell: Callable[[str], None] | None = None) -> Pass:
        """Wait until a request may go to this provider, and take a place.

        Args:
            tell: called with a sentence when there is a wait, once for each.

        Raises:
            RateLimited: the wait would be too long; `data` has `retry_at`, and `final`.
        """
        gate = self._gates.setdefault((endpoint.provider, endpoint.base_url), Gate())
        told: float | None = None
        while True:
            now = trio.current_time()
            match gate.plan_entry(now):
                case Enter() as entry:
                    return Pass(self, gate, entry)
                case Refuse(until=until):
                    raise RateLimited(
                        f"{endpoint.provider} takes no more requests for now. "
                        f"Try again in {write_seconds(until - now)}.",
                        data={"retry_at": self._now() + until - now, "final": True},
                    )
                case Wait(until=until):
                    if tell is not None and told != until:
                        told = until
                        tell(_describe(endpoint.provider, until - now))
                    await self._sleep(until)

    def wake(self) -> None:
        """Let all who wait look again."""
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def _sleep(self, until: float) -> None:
        with trio.move_on_at(until):
            await self._changed.wait()


def _describe(provider: str, wait_s: float) -> str:
    if wait_s == math.inf:
        return f"{provider} had too many requests; waiting for the first of them to be answered"
    return f"{provider} had too many requests; waiting {write_seconds(wait_s)} as it asks"
