"""The collector lets be what was there when the daemon began; no thread waits long for another."""

import gc
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from askd.interpreter import YOUNG_LIMIT, settle_in


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Knot:
    """Garbage that only the collector can find."""

    def __init__(self) -> None:
        self.itself = self


def test_what_stays_is_not_looked_through_again() -> None:
    kept = Knot()
    settle_in()
    assert gc.get_freeze_count() > 0
    assert not any(each is kept for each in gc.get_objects())


def test_what_comes_later_is_still_found() -> None:
    settle_in()
    gc.collect()
    knots = [Knot() for _ in range(100)]
    assert any(each is knots[0] for each in gc.get_objects())
    del knots
    gc.collect()
    assert not any(isinstance(each, Knot) for each in gc.get_objects())


def test_the_young_are_looked_through_by_themselves() -> None:
    settle_in()
    looked = gc.get_stats()[0]["collections"]
    _keep = [Knot() for _ in range(2 * YOUNG_LIMIT)]
    assert gc.get_stats()[0]["collections"] > looked


def test_a_busy_thread_is_not_waited_for_long() -> None:
    """As a ratio within one run: the same waits beside the same busy thread."""
    as_python_has_it = _time_waits()
    settle_in()
    assert _time_waits() < as_python_has_it / 2


def _time_waits() -> float:
    """The seconds for forty short waits, as for a disk, beside a thread that only computes."""
    begun, over = threading.Event(), threading.Event()

    def compute() -> None:
        while not over.is_set():
            begun.set()
            sum(range(1_000))

    busy = threading.Thread(target=compute)
    busy.start()
    try:
        assert begun.wait(10)
        began = time.perf_counter()
        for _ in range(40):
            time.sleep(0.000_1)
        return time.perf_counter() - began
    finally:
        over.set()
        busy.join()
