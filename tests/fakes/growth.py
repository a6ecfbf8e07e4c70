"""How much longer work takes for more of it: a ratio of one run, which a busy machine leaves alone.

Times themselves say nothing here; they are the machine's.
"""

import time
from collections.abc import Callable

FACTOR = 8
"""So much more work is compared."""
LINEAR = 3 * FACTOR
"""The most that counts as in proportion: what grows with the square takes 64 times as long."""
TRIES = 3
"""The best of them counts: what else the machine does only makes it slower."""


def measure(work: Callable[[], object]) -> float:
    """The least CPU time that it took, in seconds."""
    times = []
    for _ in range(TRIES):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def find_growth(make: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times as long `FACTOR` times the size takes; `make` prepares work of a size."""
    return measure(make(FACTOR * size)) / max(measure(make(size)), 1e-4)
