"""The lines of the table: what was measured, what was wanted, and whether it holds."""

from dataclasses import dataclass

from tests.bench.measure import Pairing, cpu, wall


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: what was measured, against what.
        figure: what came of it, for people.
        target: what is wanted, for people.
        holds: None: there is no target, or it could not be measured.
        must: a release waits until it holds (bold in the table).
        ratio: the figure as a number.
    """

    name: str
    figure: str
    target: str
    holds: bool | None
    must: bool = False
    ratio: float | None = None

    def render(self) -> str:
        """The line in Markdown."""
        verdict = {True: "yes", False: "**no**", None: "-"}[self.holds]
        target = f"**{self.target}**" if self.must else self.target
        return f"| {self.name} | {self.figure} | {target} | {verdict} |"


def ratio_row(name: str, pairing: Pairing, limit: float, *, must: bool) -> Row:
    """A row for "at most `limit` times"."""
    ratio, (low, high) = pairing.ratio(wall), pairing.spread(wall)
    figure = f"{ratio:.2f}× wall ({low:.2f}–{high:.2f}), {pairing.ratio(cpu):.2f}× CPU"
    return Row(name, figure, f"≤ {limit}× wall", ratio <= limit, must, ratio)
