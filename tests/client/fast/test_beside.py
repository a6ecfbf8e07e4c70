"""The terminal beside standard input: there, not there, or not wanted."""

import os
import pty
from collections.abc import Iterator

import pytest

from ask.fast import beside
from ask.fast.caller import is_interactive


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A terminal that is this process's own, as far as the module knows."""
    ours, theirs = pty.openpty()
    name = os.ttyname(theirs)
    monkeypatch.setattr(beside, "TERMINAL", name)
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    yield name
    os.close(ours)
    os.close(theirs)


def count_open() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_who_pipes_something_in_can_be_asked(stdin: int, terminal: str) -> None:
    before = count_open()
    assert is_interactive()
    assert count_open() == before
    descriptor = beside.open_terminal()
    assert descriptor is not None
    assert os.ttyname(descriptor) == terminal
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_null_is_nobody(terminal: str) -> None:
    before = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    try:
        assert not is_interactive()
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(null)


def test_without_a_terminal_there_is_nobody(
    stdin: int, terminal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "TERMINAL", "/dev/null/none")
    assert not is_interactive()


def test_who_does_not_see_the_question_is_not_asked(
    stdin: int, terminal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: False)
    assert not is_interactive()
