"""Whether an answer is painted: cheap signs, and nothing heavy loaded to read them."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ask.markdown import wanted


@contextmanager
def terminal() -> Iterator[None]:
    """Standard output is a terminal; pytest takes it back between a fixture and its test."""
    master, slave = pty.openpty()
    before = os.dup(1)
    os.dup2(slave, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
    for descriptor in (before, master, slave):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"TERM": "xterm-256color"}, None),
        ({"TERM": "xterm", "NO_COLOR": ""}, None),  # as no-color.org has it
        ({"TERM": "xterm", "ASK_RENDER": ""}, None),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "NO_COLOR is set"),
        ({"TERM": "xterm", "ASK_RENDER": "plain"}, "ASK_RENDER is plain"),
        ({"TERM": "dumb"}, "TERM is dumb"),
        ({"TERM": ""}, "TERM is not set"),
        ({}, "TERM is not set"),
    ],
)
def test_the_environment_has_a_say(environ: dict[str, str], why: str | None) -> None:
    assert wanted.find_plainness(environ) == why


def test_on_a_terminal_answers_are_painted() -> None:
    with terminal():
        assert wanted.open_live({"TERM": "xterm"}) is not None
        assert wanted.open_live({"TERM": "dumb"}) is None


@pytest.mark.usefixtures("capfd")
def test_elsewhere_they_are_not() -> None:
    assert wanted.open_live({"TERM": "xterm"}) is None


def test_without_the_extra_they_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "NEEDED", ("rich", "no_such_module_anywhere"))
    assert not wanted.is_installed()
    with terminal():
        assert wanted.open_live({"TERM": "xterm"}) is None


def test_looking_loads_nothing_heavy() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from ask.markdown import wanted, live\n"
        "assert wanted.is_installed(); live.Live(size=lambda: (80, 24))\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    heavy = {"re", "typing", "enum", "dataclasses", "threading", "rich", "pygments", "markdown_it"}
    assert not loaded & heavy
    assert len(loaded) <= 12, sorted(loaded)
