"""A home of its own for each test, a daemon in it, and `ask` as a function."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ask.commands.root import main
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.process import Process


@dataclass(frozen=True, slots=True)
class Result:
    """What a command line left behind."""

    code: int
    out: str
    err: str


class Typed(io.StringIO):
    """Lines that a person types: a stdin that says it is a terminal."""

    def isatty(self) -> bool:
        return True


Ask = Callable[..., Result]
Run = Callable[..., Process]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ASK_HOME and a terminal called `here`."""
    monkeypatch.setenv("ASK_HOME", str(tmp_path / "h"))
    monkeypatch.setenv("ASK_TERMINAL", "here")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("ASK_SOCKET", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "h"


@pytest.fixture
def units(home: Path) -> Path:
    """Where units of this user would stand; not there yet."""
    return home.parent / "config" / "systemd" / "user"


@pytest.fixture
def daemon(home: Path) -> Iterator[FakeDaemon]:
    """A daemon that the client finds."""
    with FakeDaemon(home / "run" / "askd.sock") as fake:
        yield fake


@pytest.fixture
def ask(home: Path, capfd: pytest.CaptureFixture[str]) -> Ask:
    """Run a command line in this process."""

    def run(*words: str) -> Result:
        capfd.readouterr()
        code = main(list(words))
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def run(home: Path) -> Iterator[Run]:
    """Start `ask` processes; all have ended when the test has."""
    started: list[Process] = []

    def start(*words: str, **fields: Any) -> Process:
        started.append(Process(*words, **fields))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.end()
