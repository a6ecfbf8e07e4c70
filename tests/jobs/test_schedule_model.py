"""Schedules against a model: kills, restarts, clocks that jump, pauses; each slot at most once."""

import os

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from askd.core.schedules import Missed
from tests.fakes.schedule_lives import YEARS_S, Away, Hold, Jump, Run, Step, play

EXAMPLES = int(os.environ.get("ASK_MODEL_EXAMPLES", "25"))

spans = st.one_of(
    st.floats(0.1, 400.0),
    st.sampled_from([30.0, 29.999, 30.001, 60.0, 90.0, 4000.0]),
)
jumps = st.one_of(
    st.floats(-4000.0, 4000.0),
    st.sampled_from([YEARS_S, -YEARS_S, 3600.0, -3600.0, 60.0, -60.0, -0.001]),
)
runs = st.builds(Run, spans, st.one_of(st.none(), st.integers(1, 12)), st.booleans())
actions = st.lists(
    st.one_of(runs, runs, st.builds(Away, spans), st.builds(Jump, jumps), st.builds(Hold, spans)),
    min_size=2,
    max_size=9,
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=actions, missed=st.sampled_from(["skip", "once", "all"]))
def test_each_slot_is_sent_once_whatever_happens(steps: list[Step], missed: Missed) -> None:
    trio.run(play, steps, missed, clock=MockClock(autojump_threshold=0))
