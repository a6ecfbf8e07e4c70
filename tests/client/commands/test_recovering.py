"""A repair asks first, stops the daemon, and ends as its child does."""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from ask.commands import recovering
from ask.exits import Failed
from tests.client.commands.conftest import Typed


class Child:
    """A child process that ends as it is told."""

    started: Sequence[Any] = ()
    ends: Sequence[Any] = (0,)
    looked: Sequence[Any] = ()
    finds = 0

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        assert list(words[:4]) == [sys.executable, "-P", "-m", "askd"]
        is_look = words[5:6] == ["--look"]
        if is_look:
            type(self).looked = (*self.looked, list(words[4:]))
        else:
            type(self).started = (*self.started, list(words[4:]))
        self._ends = iter((self.finds,) if is_look else self.ends)

    def wait(self) -> int:
        end = next(self._ends)
        if isinstance(end, BaseException):
            raise end
        return int(end)


@pytest.fixture
def child(home: Path, monkeypatch: pytest.MonkeyPatch) -> type[Child]:
    class Own(Child):
        pass

    monkeypatch.setattr(subprocess, "Popen", Own)
    monkeypatch.setattr(recovering, "stop_daemon", lambda wait_s: None)
    return Own


@pytest.mark.parametrize(("ends", "code"), [((0,), 0), ((74,), 74), ((-9,), 137)])
def test_the_childs_end_is_ours(child: type[Child], ends: tuple[int], code: int) -> None:
    child.ends = ends
    assert recovering.restore("b", yes=True) == code
    assert recovering.rebuild(None, yes=True) == code
    assert recovering.rebuild("d", yes=True) == code
    assert child.started == (["restore", "b"], ["rebuild"], ["rebuild", "d"])


def test_what_speaks_against_it_is_found_before_the_daemon_is_stopped(
    child: type[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[float] = []
    monkeypatch.setattr(recovering, "stop_daemon", stopped.append)
    child.finds = 3
    assert recovering.restore("typo", yes=True) == 3
    assert recovering.rebuild("d", yes=True) == 3
    assert child.looked == (["restore", "--look", "typo"], ["rebuild", "--look", "d"])
    assert (child.started, stopped) == ((), [])


def test_a_daemon_that_was_stopped_is_named(
    child: type[Child], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recovering, "stop_daemon", lambda wait_s: 7)
    recovering.rebuild(None, yes=True)
    assert capsys.readouterr().err == "askd stopped (pid 7); the next command starts it.\n"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (130, ""),  # the child has said it
        (0, "It was done before it could be stopped.\n"),
        (-2, "It was stopped. Look at what there is: ask doctor\n"),
    ],
)
def test_ctrl_c_waits_for_the_childs_own_end(
    child: type[Child], capsys: pytest.CaptureFixture[str], code: int, told: str
) -> None:
    child.ends = (KeyboardInterrupt(), code)
    with pytest.raises(KeyboardInterrupt):
        recovering.rebuild(None, yes=True)
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("typed", "done"), [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_person_is_asked(
    child: type[Child],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    done: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    assert recovering.restore("b", yes=False) == 0
    assert bool(child.started) == done
    said = capsys.readouterr().err
    assert "Put b in the place of the database" in said
    assert ("Nothing was changed." in said) != done


def test_without_a_terminal_nobody_can_be_asked(
    child: type[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(click.UsageError):
        recovering.rebuild(None, yes=False)
    assert child.started == ()


def test_without_askd_nothing_is_stopped(
    child: type[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Failed) as caught:
        recovering.rebuild(None, yes=True)
    assert caught.value.code == 69
    assert child.started == ()


def test_ctrl_c_before_it_began_says_that_nothing_was_changed(
    child: type[Child], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(wait_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recovering, "stop_daemon", stop)
    with pytest.raises(KeyboardInterrupt):
        recovering.rebuild(None, yes=True)
    assert capsys.readouterr().err == "Nothing was changed.\n"
