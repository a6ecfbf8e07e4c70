"""One proof after the other, each perhaps tried once more; and in the end a table of them all.

A proof that cannot run here is neither held nor broken: it is named as not run, and whoever
asked for it is told by a code of its own.
"""

import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults import programmes
from tests.faults.programmes import CannotRun, Report, Verdict

FINE, WRONG = 0, 1
NOT_RUN = 77
"""Nothing is wrong, but not everything was run. Automake takes this code for a test that was
skipped."""
CI_LIMIT_S = 25 * 60
"""What all proofs in their CI size may take together, on 2 cores."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A proof that is to be run."""

    name: str
    size: int
    seed: int


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one.

    Attributes:
        word: "holds", "broken", "void", "fell" or "NOT RUN".
        code: `FINE`, `WRONG` or `NOT_RUN`.
        took_s: all tries together.
        what: its cases, or why it was not run.
        report: of the last try, if it came to one.
    """

    name: str
    word: str
    code: int
    took_s: float
    what: str
    tries: int = 1
    report: Report | None = None

    def render(self) -> str:
        """For a terminal: a line of the table."""
        again = f"; only at try {self.tries}" if self.tries > 1 and self.code == FINE else ""
        return f"  {self.name:<12}{self.word:<9}{self.took_s:>7.0f} s  {self.what}{again}"


def play(asked: Asked, say: Say, *, tries: int = 1) -> Tried:
    """Run one; if it does not hold, again, up to so many times in all."""
    proof = programmes.load(asked.name)
    what = f"{asked.size:,} {proof.UNIT}"
    say(f"{asked.name}: {what}, seed {asked.seed} ...")
    began = time.monotonic()
    for number in range(1, tries + 1):
        if number > 1:
            say(f"!!! {asked.name} DID NOT HOLD and is tried again: something to mend.")
        report = None
        try:
            with tempfile.TemporaryDirectory(prefix="ask-proof-") as directory:
                report = programmes.run(asked.name, asked.size, asked.seed, Path(directory))
        except CannotRun as reason:
            say(f"!!! {asked.name}: NOT RUN, it cannot run here: {reason}")
            took_s = time.monotonic() - began
            return Tried(asked.name, "NOT RUN", NOT_RUN, took_s, f"cannot run here: {reason}")
        except Exception:
            say(f"{asked.name}: fell\n{traceback.format_exc()}")
            word, code = "fell", WRONG
        else:
            say(report.render())
            word = report.verdict.value
            code = FINE if report.verdict is Verdict.HOLDS else WRONG
        if code == FINE:
            break
    return Tried(asked.name, word, code, time.monotonic() - began, what, number, report)


def find_code(all_tried: Sequence[Tried]) -> int:
    """What a process ends with that ran these: what is wrong weighs more than what was not run."""
    codes = {each.code for each in all_tried}
    return WRONG if WRONG in codes else NOT_RUN if NOT_RUN in codes else FINE


def tabulate(all_tried: Sequence[Tried], limit_s: float | None = None) -> str:
    """For a terminal: each with its time, and the sum; beside it what they may take, if said."""
    total = sum(each.took_s for each in all_tried)
    allowed = "" if limit_s is None else f"  of {limit_s:,.0f} s that all proofs may take"
    skipped = sum(each.code == NOT_RUN for each in all_tried)
    return "\n".join(
        [
            f"proofs run: {len(all_tried) - skipped}, not run: {skipped}",
            *(each.render() for each in all_tried),
            f"  {'together':<21}{total:>7.0f} s{allowed}",
        ]
    )
