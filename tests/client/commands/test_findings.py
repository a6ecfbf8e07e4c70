"""How a finding is written: sizes, ages, one line and one for what to do."""

import pytest

from ask.commands.findings import Finding, lay_out_age, lay_out_finding, lay_out_size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (45_300_000, "45 MB"),
        (999_500_000, "1.0 GB"),
        (12_340_000_000, "12.3 GB"),
    ],
)
def test_sizes(number: int, text: str) -> None:
    assert lay_out_size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "now"), (59, "now"), (60, "1 minute"), (7200, "2 hours"), (3 * 86_400, "3 days")],
)
def test_ages(seconds: float, text: str) -> None:
    assert lay_out_age(seconds) == text


def test_a_terminal_obeys_nothing_that_was_found() -> None:
    finding = Finding("store", "fail", "a\x1b[2Jb", "do\x07 this")
    assert lay_out_finding(finding) == "fail  store: ab\n      do this"
    assert lay_out_finding(Finding("store", "ok", "fine")) == "ok    store: fine"
