"""Thoughts are dimmed, harmless, and on lines of their own."""

import os

import pytest

from ask.thoughts import Thoughts

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def styled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is a terminal."""
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)


def test_dimmed_until_something_else_follows(capfd: Captured, styled: None) -> None:
    thoughts = Thoughts()
    thoughts.show("hm")
    states = [thoughts.running]
    thoughts.show("")
    thoughts.show(", yes")
    thoughts.end()
    thoughts.end()
    assert [*states, thoughts.running] == [True, False]
    assert capfd.readouterr() == ("", "\x1b[2mhm\x1b[0m\x1b[2m, yes\x1b[0m\n")


def test_a_line_that_has_an_end_gets_no_other(capfd: Captured, styled: None) -> None:
    thoughts = Thoughts()
    thoughts.show("hm\n")
    thoughts.end()
    assert capfd.readouterr().err == "\x1b[2mhm\n\x1b[0m"


def test_nothing_that_a_terminal_obeys(capfd: Captured, styled: None) -> None:
    thoughts = Thoughts()
    thoughts.show("a\x1b]0;ti")
    thoughts.show("tle")
    thoughts.end()
    thoughts.show("b\x1b[0m")  # a sequence that was never closed ends with its thought
    assert capfd.readouterr().err == "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m"


@pytest.mark.parametrize("quiet", [True, False])
def test_elsewhere_there_are_none(capfd: Captured, quiet: bool) -> None:
    thoughts = Thoughts(quiet=quiet)
    thoughts.show("hm")
    thoughts.end()
    assert not thoughts.running
    assert capfd.readouterr().err == ""


def test_quiet_on_a_terminal(capfd: Captured, styled: None) -> None:
    Thoughts(quiet=True).show("hm")
    assert capfd.readouterr().err == ""
