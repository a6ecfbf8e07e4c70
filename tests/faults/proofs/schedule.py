"""Schedules over restarts, kills, pauses, suspended machines and clocks that are set."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio
from trio.testing import MockClock

from askd.core.schedules import Missed
from askd.store.batch import Change
from tests.fakes.schedule_lives import (
    SENT_TWICE,
    YEARS_S,
    Away,
    Fused,
    Hold,
    Jump,
    Run,
    Step,
    Wall,
    play,
)
from tests.faults.programmes import Outcome

CLAIM = (
    "Each slot of a schedule is sent exactly once, and missed ones by its policy, whatever kills,"
    " restarts, pauses, suspends and jumps of the clock by up to ten years come between."
)
CONTROL = "A scheduler that forgets, when the clock goes back, what it sent behind the new time."
UNIT = "lives"
CI = 12
FULL = 2000

STEPS = 50
"""Of one life."""
FURTHEST_S = 2 * YEARS_S
"""A clock strays no further from the truth, or it would show years that no calendar has."""
POLICIES: tuple[Missed, ...] = ("skip", "once", "all")
ENOUGH_HARMS = 3
"""So many show what a house built wrong does."""

T = TypeVar("T")


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """Lives in memory; nothing is written into the directory."""
    harms = []
    for number in range(size):
        harm = live(number, seed, Fused)
        if harm is not None:
            harms.append(harm)
    return Outcome(size, tuple(harms), {"steps": f"{size * STEPS:,}"})


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The same lives, until a few slots were sent twice."""
    harms: list[str] = []
    cases = 0
    while cases < size and len(harms) < ENOUGH_HARMS:
        harm = live(cases, seed, Forgetful)
        if harm is not None and SENT_TWICE in harm:
            harms.append(harm)
        cases += 1
    return Outcome(cases, tuple(harms))


def live(number: int, seed: int, make_store: Callable[[Wall], Fused]) -> str | None:
    """One life; the sentence of what broke the claim, or None."""
    chance = random.Random(f"{seed}:{number}")
    missed = chance.choice(POLICIES)
    session = chance.choice((None, None, None, "work"))
    steps = draw_steps(chance)
    try:
        trio.run(play, steps, missed, make_store, session, clock=MockClock(autojump_threshold=0))
    except AssertionError as error:
        return f"life {number} (missed: {missed}): {error}"
    return None


def draw_steps(chance: random.Random) -> list[Step]:
    """What happens in a life, in its order."""
    set_by = 0.0
    steps: list[Step] = []
    while len(steps) < STEPS:
        match chance.choice(("run", "run", "away", "jump", "hold")):
            case "run":
                fuse = chance.choice((None, None, chance.randint(1, 12)))
                steps.append(Run(draw_span(chance), fuse, chance.random() < 0.5))
            case "away":
                steps.append(Away(draw_span(chance)))
            case "hold":
                steps.append(Hold(draw_span(chance)))
            case _:
                by_s = draw_jump(chance)
                if abs(set_by + by_s) <= FURTHEST_S:
                    set_by += by_s
                    steps.append(Jump(by_s))
    return steps


def draw_span(chance: random.Random) -> float:
    """Seconds that something lasts: often at the very edge of a minute."""
    edges = (30.0, 29.999, 30.001, 60.0, 90.0)
    if chance.random() < 0.02:
        return 4000.0
    return chance.choice(edges) if chance.random() < 0.4 else chance.uniform(0.1, 240.0)


def draw_jump(chance: random.Random) -> float:
    """Seconds by which the clock is set."""
    known = (YEARS_S, -YEARS_S, 3600.0, -3600.0, 60.0, -60.0, -0.001)
    return chance.choice(known) if chance.random() < 0.6 else chance.uniform(-4000.0, 4000.0)


class Forgetful(Fused):
    """The control's store: what lies ahead of the clock is forgotten, as if it never was."""

    async def apply(self, change: Change[T]) -> T:
        self.connection.execute("DELETE FROM slots WHERE slot > ?", (self.now(),))
        self.connection.execute(
            "DELETE FROM keys WHERE key LIKE 'schedule:%'"
            " AND CAST(substr(key, 10 + instr(substr(key, 10), ':')) AS REAL) > ?",
            (self.now(),),
        )
        return await super().apply(change)
