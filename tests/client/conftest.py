"""A home, a terminal and a standard input that are the test's, with nothing of the caller's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ask.fast import beside
from ask.protocol.names import SECRET_NAMES


@pytest.fixture
def lone_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ASK_HOME in the process's environment; where its daemon would listen."""
    home = tmp_path / "h"
    for name in (*SECRET_NAMES, "OPENAI_BASE_URL", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    for name in [each for each in os.environ if each.startswith("ASK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASK_HOME", str(home))
    return home / "run" / "askd.sock"


@pytest.fixture(autouse=True)
def no_terminal_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests sits at a terminal perhaps; it is none of theirs."""
    monkeypatch.setattr(beside, "TERMINAL", "/dev/null/none")


@pytest.fixture
def stdin() -> Iterator[int]:
    """The writing end of a pipe that is standard input."""
    before = os.dup(0)
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    yield writer
    os.dup2(before, 0)
    os.close(before)
