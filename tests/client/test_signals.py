"""What wakes a waiting `ask` up, and what ends its waiting."""

import os
import select
import signal
import time

import pytest

from ask.signals import TimeIsUp, catch_signals, limit_time

FOREVER_S = 30.0


def test_a_signal_is_noted_and_wakes() -> None:
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    with catch_signals(lambda number, frame: noted.append(number)) as wake:
        os.kill(os.getpid(), signal.SIGINT)
        assert select.select([wake], [], [], FOREVER_S)[0] == [wake]
    assert noted == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) == before


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with catch_signals(lambda number, frame: None):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("left_s", [0.02, -1.0])
def test_a_wait_ends_when_its_time_is_up(left_s: float) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with (
        pytest.raises(TimeIsUp, match="Too late") as caught,
        limit_time(time.monotonic() + left_s, "Too late."),
    ):
        select.select([], [], [], FOREVER_S)
    assert (caught.value.code, caught.value.data) == (124, {"reason": "time_limit"})
    assert signal.getsignal(signal.SIGALRM) == before


@pytest.mark.parametrize("left_s", [None, FOREVER_S])
def test_what_is_done_in_time_is_left_alone(left_s: float | None) -> None:
    with limit_time(None if left_s is None else time.monotonic() + left_s, "Too late."):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
