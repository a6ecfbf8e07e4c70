"""A daemon's memory, descriptors and log, looked at while it works."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024
LOOK_S = 0.05
"""The log is looked at so often: a checkpoint takes longer to be worth it."""
MEMORY_S = 0.5


def read_memory(pid: int) -> int:
    """Bytes of memory that are the process's own: what it was given, without mapped files."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("a process without memory")


def count_descriptors(pid: int) -> int:
    """How many it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def find_slope(points: list[tuple[float, float]]) -> float:
    """By the least squares, how much the second grows for one of the first."""
    if len(points) < 2:
        return 0.0
    across = sum(x for x, _ in points) / len(points)
    height = sum(y for _, y in points) / len(points)
    spread = sum((x - across) ** 2 for x, _ in points)
    if not spread:
        return 0.0
    return sum((x - across) * (y - height) for x, y in points) / spread


@dataclass
class Watch:
    """Looks in a thread of its own.

    Attributes:
        count: how many turns there were.
        memory: with each count of turns, bytes.
        longest_log: the most bytes that the write-ahead log had.
    """

    pid: int
    log: Path
    count: Callable[[], int]
    memory: list[tuple[float, float]] = field(default_factory=list)
    longest_log: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Until it is told to end, or the process is gone."""
        next_look = 0.0
        while not self._over.wait(LOOK_S):
            try:
                self.longest_log = max(self.longest_log, self.log.stat().st_size)
                if time.monotonic() >= next_look:
                    self.memory.append((self.count(), read_memory(self.pid)))
                    next_look = time.monotonic() + MEMORY_S
            except (FileNotFoundError, ProcessLookupError, AssertionError):
                continue

    def end(self) -> None:
        """No look after this."""
        self._over.set()
