"""Commands and paths that try to leave a workspace, under each sandbox, and in a race."""

import random
from pathlib import Path

import trio

from tests.faults.escapes import make_world
from tests.faults.escapes_attempts import (
    CONFINERS,
    Attempt,
    list_commands,
    list_paths,
    list_unconfined,
    lose_by_names,
    lose_race,
    race,
)
from tests.faults.programmes import Outcome
from tests.faults.test_races_of_commands import DOORS

CLAIM = (
    "No command confined by bubblewrap or Landlock and no path given to a file tool reads or "
    "changes anything outside of the workspace, also while every path is swapped under it, and "
    "no process outlives its command."
)
CONTROL = (
    "The same commands run unconfined, and paths are compared by `realpath` before they are opened."
)
UNIT = "attempts"
CI = 1_000
FULL = 100_000

SHARE = 20
"""One in so many is a case of the table, until all of it is tried; the others are turns of a
race."""
AT_ONCE = 2
"""More commands at once than the least machine has cores would only wait for each other."""
COMMANDS_OF_CONTROL = 8
TRIES = 10
"""On a busy machine the other side of a race may not have had its turn; once is enough."""
NAMES = 50_000
"""Tries of a race against names: some hundred are enough where both sides run."""


async def _try_all(attempts: list[Attempt]) -> list[str]:
    harms: list[str] = []
    limit = trio.CapacityLimiter(AT_ONCE)

    async def go(attempt: Attempt) -> None:
        async with limit:
            harm = await attempt()
        if harm is not None:
            harms.append(harm)

    async with trio.open_nursery() as nursery:  # in it: each attempt
        for attempt in attempts:
            nursery.start_soon(go, attempt)
    return harms


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """A sample of the table (in full: all of it), then the races."""
    commands, paths = list_commands(), list_paths()
    table = [*((each, True) for each in commands), *((each, False) for each in paths)]
    chosen = random.Random(seed).sample(table, min(len(table), max(size // SHARE, 1)))
    turns = max(size // (len(CONFINERS) * len(DOORS)), 1)

    async def run() -> tuple[int, list[str]]:
        harms = await _try_all([attempt for attempt, is_command in chosen if is_command])
        for attempt, is_command in chosen:
            harm = None if is_command else await attempt()
            harms += [harm] if harm is not None else []
        raced = 0
        for confiner in CONFINERS:
            count, lost = await race(confiner, turns)
            raced += count
            harms += lost
        return raced, harms

    raced, harms = trio.run(run)
    figures = {
        "cases": f"{len(chosen)} of {len(table)}, each under one of its ways to be confined",
        "races": f"{raced:,} turns at {len(DOORS)} doors, by {' and '.join(CONFINERS)}",
    }
    return Outcome(len(chosen) + raced, tuple(harms), figures)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """A few of the commands where nothing confines them, and both races."""
    table = list_unconfined()
    chosen = random.Random(seed).sample(table, min(len(table), COMMANDS_OF_CONTROL))

    async def run() -> list[str]:
        return await _try_all(chosen) + await lose_race(TRIES)

    harms = trio.run(run)
    with make_world() as world:
        harms += lose_by_names(world, NAMES)
    return Outcome(len(chosen) + 2, tuple(harms))
