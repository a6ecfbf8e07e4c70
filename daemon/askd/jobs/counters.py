"""What the worker has done since it started: tries by kind and end, and what they took.

Numbers for whoever looks after a daemon. They are not stored and decide nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from askd.store.log import Fence

End = Literal["completed", "failed", "discarded", "cancelled", "stopped"]
"""How a try ended. `failed`: it is tried again; `stopped`: the daemon's end cut it short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """One kind's tries since the start of the daemon; times in seconds.

    Attributes:
        ends: how many tries ended in which way.
        running: tries that are under way.
        queue_s, queue_max_s: from due to begun, all tries together and the longest.
        run_s, run_max_s: from begun to ended, the same.
        oldest_s: how long the oldest of those under way has been; 0: none is.
    """

    kind: str
    ends: Mapping[str, int]
    running: int
    queue_s: float
    queue_max_s: float
    run_s: float
    run_max_s: float
    oldest_s: float


class Counters:
    """Tries as they begin and end; times on the monotonic clock."""

    def __init__(self) -> None:
        self._begun: dict[str, dict[Fence, float]] = {}
        self._ends: dict[str, Counter[str]] = {}
        self._queue: dict[str, tuple[float, float]] = {}
        self._run: dict[str, tuple[float, float]] = {}

    def begin(self, kind: str, fence: Fence, *, waited_s: float, at: float) -> None:
        """A try has begun."""
        self._begun.setdefault(kind, {})[fence] = at
        self._queue[kind] = _add(self._queue.get(kind), waited_s)

    def end(self, kind: str, fence: Fence, how: End, *, at: float) -> None:
        """It has ended."""
        began = self._begun[kind].pop(fence)
        self._ends.setdefault(kind, Counter())[how] += 1
        self._run[kind] = _add(self._run.get(kind), at - began)

    def running(self, kind: str) -> int:
        """Tries of a kind that are under way."""
        return len(self._begun.get(kind, ()))

    def read(self, *, at: float) -> Sequence[KindCount]:
        """Every kind of which there was a try, by name."""
        return [
            KindCount(
                kind=kind,
                ends=dict(self._ends.get(kind, {})),
                running=len(begun),
                queue_s=self._queue[kind][0],
                queue_max_s=self._queue[kind][1],
                run_s=self._run.get(kind, (0.0, 0.0))[0],
                run_max_s=self._run.get(kind, (0.0, 0.0))[1],
                oldest_s=at - min(begun.values(), default=at),
            )
            for kind, begun in sorted(self._begun.items())
        ]


def _add(so_far: tuple[float, float] | None, seconds: float) -> tuple[float, float]:
    total, longest = so_far or (0.0, 0.0)
    return total + seconds, max(longest, seconds)
