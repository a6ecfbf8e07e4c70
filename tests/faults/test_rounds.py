"""What holds, what is tried again, what falls, and what cannot run here: each is told apart."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults import __main__, page, programmes, rounds
from tests.faults.programmes import CannotRun, Outcome
from tests.faults.proofs import full_disk
from tests.faults.rounds import FINE, NOT_RUN, WRONG, Asked

GOOD, BAD = Outcome(3), Outcome(3, ("lost",))
LACKING = CannotRun("No disk here.")


class Played:
    """A proof whose runs come to what was said beforehand, one after the other."""

    CLAIM = "Nothing is lost."
    CONTROL = "All is lost."
    UNIT = "kills"
    CI = 3
    FULL = 10

    def __init__(self, ends: Sequence[Outcome | Exception]) -> None:
        self._ends = iter(ends)

    def prove(self, size: int, seed: int, directory: Path) -> Outcome:
        end = next(self._ends)
        if isinstance(end, Exception):
            raise end
        return end

    @staticmethod
    def control(size: int, seed: int, directory: Path) -> Outcome:
        return BAD


@pytest.mark.parametrize(
    ("ends", "tries", "word", "code", "last"),
    [
        ([GOOD], 1, "holds", FINE, 1),
        ([BAD, GOOD], 1, "broken", WRONG, 1),
        ([BAD, GOOD], 2, "holds", FINE, 2),
        ([ValueError("odd"), GOOD], 2, "holds", FINE, 2),
        ([BAD, BAD, GOOD], 2, "broken", WRONG, 2),
        ([BAD, ValueError("odd")], 2, "fell", WRONG, 2),
        ([LACKING, GOOD], 2, "NOT RUN", NOT_RUN, 1),
    ],
)
def test_what_comes_of_one(
    ends: list[Outcome | Exception],
    tries: int,
    word: str,
    code: int,
    last: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proof = Played(ends)
    monkeypatch.setattr(programmes, "load", lambda name: proof)
    said: list[str] = []
    tried = rounds.play(Asked("made", 3, 1), said.append, tries=tries)
    assert (tried.word, tried.code, tried.tries) == (word, code, last)
    assert ("tried again" in "\n".join(said)) is (last > 1)
    assert ("try 2" in tried.render()) is (last > 1 and code == FINE)
    # A report of an earlier try is not the last one's.
    assert (tried.report is not None) is (word in {"holds", "broken"})


@pytest.mark.parametrize(
    ("ends", "code", "told"),
    [
        ({"a": GOOD, "b": GOOD}, FINE, "proofs run: 2, not run: 0"),
        ({"a": LACKING, "b": GOOD}, NOT_RUN, "proofs run: 1, not run: 1"),
        ({"a": LACKING, "b": BAD}, WRONG, "proofs run: 1, not run: 1"),
    ],
)
def test_a_run_says_what_it_left_out_and_how_long_all_took(
    ends: dict[str, Outcome | Exception],
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(programmes, "list_names", lambda: sorted(ends))
    monkeypatch.setattr(programmes, "load", lambda name: Played([ends[name]] * 2))
    monkeypatch.setattr(sys, "argv", ["faults", "--ci"])
    assert __main__.main() == code
    out = capsys.readouterr().out
    assert told in out
    assert f"of {rounds.CI_LIMIT_S:,} s that all proofs may take" in out
    assert ("No disk here." in out) is (LACKING in ends.values())


def test_alone_are_those_that_the_suite_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(programmes.list_names()) > programmes.ALONE
    monkeypatch.setattr(programmes, "load", lambda name: Played([GOOD]))
    monkeypatch.setattr(sys, "argv", ["faults", "--ci", "--alone", "--again"])
    assert __main__.main() == FINE
    table = capsys.readouterr().out.partition("not run: 0\n")[2].splitlines()
    assert [line.split()[0] for line in table] == [*sorted(programmes.ALONE), "together"]


@pytest.mark.parametrize(
    "arguments", [["--write", "--again"], ["--alone", "peers"], ["there-is-none"]]
)
def test_what_makes_no_sense_together_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["faults", *arguments])
    monkeypatch.setattr(page, "write", lambda report: pytest.fail("it was written"))
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 2


def test_a_machine_that_mounts_nothing_cannot_fill_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    tried = rounds.play(Asked("full_disk", full_disk.CI, 1), lambda line: None)
    assert tried.code == NOT_RUN
    assert "refused" in tried.what
