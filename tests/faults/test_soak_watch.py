"""What the soak measures by: the slope of what grows, and what a process is made of."""

import mmap
import os
from pathlib import Path

import pytest

from tests.faults.soak_watch import MIB, count_descriptors, find_slope, read_memory


@pytest.mark.parametrize(
    ("points", "slope"),
    [
        ([], 0.0),
        ([(5.0, 7.0)], 0.0),
        ([(5.0, 7.0), (5.0, 9.0)], 0.0),
        ([(0.0, 3.0), (10.0, 3.0), (20.0, 3.0)], 0.0),
        ([(0.0, 1.0), (10.0, 6.0), (20.0, 11.0)], 0.5),
        ([(0.0, 11.0), (20.0, 1.0)], -0.5),
    ],
)
def test_the_slope(points: list[tuple[float, float]], slope: float) -> None:
    assert find_slope(points) == pytest.approx(slope)


def test_what_saturates_has_a_slope_only_before_it_does() -> None:
    points = [(float(turn), min(float(turn), 40.0)) for turn in range(100)]
    assert find_slope(points[:40]) == pytest.approx(1.0)
    assert find_slope(points[40:]) == pytest.approx(0.0)


def test_memory_that_is_kept_and_descriptors_that_are_open_are_seen() -> None:
    pid = os.getpid()
    memory = read_memory(pid)
    # Of its own: the process may have room left from what it has freed.
    with mmap.mmap(-1, 16 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept.write(b"x" * (16 * MIB))
        assert read_memory(pid) - memory > 8 * MIB
    before = count_descriptors(pid)
    with Path(os.devnull).open("rb"):
        assert count_descriptors(pid) == before + 1
