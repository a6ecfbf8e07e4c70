"""What a proof is: a claim, so many cases of it, and a control that must show the harm.

Each module of `tests.faults.proofs` is one proof. A claim that holds while its control shows
nothing has proved nothing: the same cases, judged by the same judge, have to find the harm in a
house that is built wrong.
"""

import importlib
import pkgutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol, cast

from tests.faults import proofs

SHOWN_HARMS = 20
"""So many are printed; all are counted."""
ALONE = frozenset({"autostart", "canaries", "frames", "full_disk", "kill", "peers", "soak"})
"""They judge by time and memory beside a baseline, or mount a file system: they need a machine for
themselves. The test suite leaves them out, and the check runs them behind it, one by one."""
CI_SEED = 20261123
"""In their CI size the cases are the same each time."""


class CannotRun(Exception):
    """This machine lacks what the proof needs: it is not run, and nothing is known.

    The message says what is missing, for a person.
    """


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of so many cases.

    Attributes:
        cases: how many were run, in the proof's own unit.
        harms: a sentence for each that broke the claim.
        figures: what was measured beside, by what it is: "ready, p99" -> "0.31 s".
    """

    cases: int
    harms: tuple[str, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)


class Proof(Protocol):
    """A module of `tests.faults.proofs`.

    Attributes:
        CLAIM: what holds, in a sentence.
        CONTROL: how the control's house is built wrong, in a sentence.
        UNIT: what a case is, in the plural: "kills".
        CI: how many cases the check runs, in the test suite or behind it.
        FULL: how many cases make the claim.
    """

    CLAIM: str
    CONTROL: str
    UNIT: str
    CI: int
    FULL: int

    @staticmethod
    def prove(size: int, seed: int, directory: Path) -> Outcome:
        """Run so many cases in an empty directory; equal seeds make equal cases."""
        ...

    @staticmethod
    def control(size: int, seed: int, directory: Path) -> Outcome:
        """The same against a house that is built wrong, of up to so many: its harms are wanted."""
        ...


class Verdict(Enum):
    """What a proof came to."""

    HOLDS = "holds"
    BROKEN = "broken"
    VOID = "void"
    """The control showed no harm: nothing is known."""


@dataclass(frozen=True, slots=True)
class Report:
    """A proof that was run, and its control."""

    name: str
    proof: Proof
    size: int
    seed: int
    proved: Outcome
    controlled: Outcome
    took_s: float

    @property
    def verdict(self) -> Verdict:
        """Broken weighs more than void: a harm that was seen was seen."""
        if self.proved.harms:
            return Verdict.BROKEN
        return Verdict.HOLDS if self.controlled.harms else Verdict.VOID

    def render(self) -> str:
        """For a terminal: a few lines."""
        lines = [
            f"{self.name}: {self.verdict.value} ({self.took_s:.0f} s)",
            f"  {self.proved.cases:,} {self.proof.UNIT}, {len(self.proved.harms)} harms",
            f"  control: {self.controlled.cases:,}, {len(self.controlled.harms)} harms",
            *(f"  {what}: {figure}" for what, figure in self.proved.figures.items()),
            *(f"  harm: {harm}" for harm in self.proved.harms[:SHOWN_HARMS]),
        ]
        return "\n".join(lines)


def list_names() -> list[str]:
    """The names of all proofs, in their order on the page."""
    return sorted(module.name for module in pkgutil.iter_modules(proofs.__path__))


def load(name: str) -> Proof:
    """A proof by its name.

    Raises:
        ModuleNotFoundError: there is none.
    """
    return cast("Proof", importlib.import_module(f"{proofs.__name__}.{name}"))


def run(name: str, size: int, seed: int, directory: Path) -> Report:
    """Run a proof and its control, each in a directory of its own."""
    proof = load(name)
    began = time.monotonic()
    outcomes = []
    for part, ask in (("proof", proof.prove), ("control", proof.control)):
        place = directory / part
        place.mkdir(parents=True)
        outcomes.append(ask(size, seed, place))
    proved, controlled = outcomes
    return Report(name, proof, size, seed, proved, controlled, time.monotonic() - began)
