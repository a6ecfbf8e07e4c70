"""The job queue over kills, takeovers, odd clocks, cancelling, tries again, and poison."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import trio
from trio.testing import MockClock

from askd.store.log import Committed, Write
from tests.fakes.schedule_lives import Fused, Wall
from tests.faults.job_lives import Harm, Life
from tests.faults.programmes import Outcome

CLAIM = (
    "No job has its effect twice, none runs on in the name of an earlier start, no key is open"
    " twice, and one that always fails is discarded after its tries, whatever kills, takeovers,"
    " late writers, cancelling and clocks that are ten years off come between."
)
CONTROL = "A queue that completes a job without looking at the fence."
UNIT = "lives"
CI = 40
FULL = 2000

STEPS = 50
"""Of one life."""
ENOUGH_HARMS = 3
"""So many show what a house built wrong does."""


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """Lives in memory; nothing is written into the directory."""
    harms = [harm for number in range(size) if (harm := live(number, seed, Fused)) is not None]
    return Outcome(size, tuple(harms), {"steps": f"{size * STEPS:,}"})


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The same lives, until a few did harm."""
    harms: list[str] = []
    cases = 0
    while cases < size and len(harms) < ENOUGH_HARMS:
        harm = live(cases, seed, Unfenced)
        harms += [] if harm is None else [harm]
        cases += 1
    return Outcome(cases, tuple(harms))


def live(number: int, seed: int, make_store: Callable[[Wall], Fused]) -> str | None:
    """One life; the sentence of what broke the claim, or None."""
    life = Life(f"{seed}:{number}", make_store)
    found: list[str] = []
    with unheard():
        try:
            trio.run(life.live, STEPS, clock=MockClock(autojump_threshold=0))
        except* Harm as group:
            found.append(str(find_first(group)))
    return f"life {number}: {found[0]}" if found else None


def find_first(group: BaseExceptionGroup[Harm]) -> Harm:
    """The first of what may be nested."""
    first = group.exceptions[0]
    return first if isinstance(first, Harm) else find_first(first)


@contextmanager
def unheard() -> Iterator[None]:
    """The worker tells of each try that fails, with its traceback: thousands are meant to."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


class Unfenced(Fused):
    """The control's store: whoever brings an effect has it stored, and the job is completed."""

    async def append(self, write: Write) -> Committed:
        committed = await super().append(replace(write, fulfils=None))
        if write.fulfils is not None:
            self.connection.execute(
                "UPDATE jobs SET state = 'completed', owner = NULL, finished_at = ? WHERE id = ?",
                (self.now(), write.fulfils.job_id),
            )
        return committed
