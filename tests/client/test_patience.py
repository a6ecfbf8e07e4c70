"""How long and how often a lost daemon is looked for."""

import math
import time

import pytest

from ask.answers import ConnectionLost
from ask.listener import NoDaemon, Unreachable
from ask.patience import FAR_LIMIT_S, FAR_LONGEST_S, Patience


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def test_a_daemon_of_this_machine_is_looked_for_evenly_and_not_for_ever(clock: Clock) -> None:
    search = Patience(30.0, 0.2)
    for error in (ConnectionLost(), NoDaemon("gone")):
        assert search.find_pause(error) == 0.2
    clock.now += 30.1
    with pytest.raises(ConnectionLost):
        search.find_pause(ConnectionLost())


def test_logins_elsewhere_come_ever_more_seldom(clock: Clock) -> None:
    search = Patience(math.inf, 0.2)
    away = Unreachable("far is away", lasting=False)
    begun, pauses = clock.now, list[float]()
    while clock.now < begun + FAR_LIMIT_S:
        pauses.append(search.find_pause(away))
        clock.now += pauses[-1]
    with pytest.raises(Unreachable, match="far is away"):
        search.find_pause(away)
    assert clock.now - begun == pytest.approx(FAR_LIMIT_S)
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert max(pauses) == FAR_LONGEST_S
    assert len(pauses) < 25


def test_what_lasts_is_not_tried_again(clock: Clock) -> None:
    with pytest.raises(Unreachable):
        Patience(30.0, 0.2).find_pause(Unreachable("Permission denied"))
