"""The proofs in the size for the suite, each with its control; and that verdicts are true."""

from pathlib import Path

import pytest

from tests.faults import page, programmes
from tests.faults.programmes import ALONE, CI_SEED, CannotRun, Outcome, Report, Verdict


@pytest.mark.parametrize("name", sorted({*programmes.list_names()} - ALONE))
def test_it_holds_and_its_control_does_not(name: str, tmp_path: Path) -> None:
    try:
        report = programmes.run(name, programmes.load(name).CI, CI_SEED, tmp_path)
    except CannotRun as reason:
        pytest.skip(f"cannot run here: {reason}")
    assert report.verdict is Verdict.HOLDS, report.render()


class Made:
    """A proof that runs nothing."""

    CLAIM = "Nothing is lost."
    CONTROL = "All is lost."
    UNIT = "kills"
    CI = 1
    FULL = 10

    @staticmethod
    def prove(size: int, seed: int, directory: Path) -> Outcome:
        return Outcome(size)

    @staticmethod
    def control(size: int, seed: int, directory: Path) -> Outcome:
        return Outcome(size)


@pytest.mark.parametrize(
    ("proved", "controlled", "verdict"),
    [
        ((), ("lost",), Verdict.HOLDS),
        ((), (), Verdict.VOID),
        (("lost",), ("lost",), Verdict.BROKEN),
        (("lost",), (), Verdict.BROKEN),
    ],
)
def test_what_a_run_comes_to(
    proved: tuple[str, ...], controlled: tuple[str, ...], verdict: Verdict
) -> None:
    report = Report("made", Made, 1, 1, Outcome(1, proved), Outcome(1, controlled), 1.0)
    assert report.verdict is verdict
    rendered = page.render({"made": page.describe(report)})
    assert "| [made](#made) | 1 kills of 10 |" in rendered
    assert verdict.value in report.render()
    assert verdict.value in rendered


def test_the_page_is_what_the_last_runs_came_to() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(page.read())
    assert set(page.read()) <= set(programmes.list_names())
