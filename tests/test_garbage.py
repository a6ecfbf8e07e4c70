"""The garbage collector lets be what was there when the daemon began."""

import gc
from collections.abc import Iterator

import pytest

from askd.garbage import YOUNG_LIMIT, spare_what_stays


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Knot:
    """Garbage that only the collector can find."""

    def __init__(self) -> None:
        self.itself = self


def test_what_stays_is_not_looked_through_again() -> None:
    kept = Knot()
    spare_what_stays()
    assert gc.get_freeze_count() > 0
    assert not any(each is kept for each in gc.get_objects())


def test_what_comes_later_is_still_found() -> None:
    spare_what_stays()
    gc.collect()
    knots = [Knot() for _ in range(100)]
    assert any(each is knots[0] for each in gc.get_objects())
    del knots
    gc.collect()
    assert not any(isinstance(each, Knot) for each in gc.get_objects())


def test_the_young_are_looked_through_by_themselves() -> None:
    spare_what_stays()
    looked = gc.get_stats()[0]["collections"]
    _keep = [Knot() for _ in range(2 * YOUNG_LIMIT)]
    assert gc.get_stats()[0]["collections"] > looked
