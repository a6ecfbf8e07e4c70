"""An end in the middle: what may have been done is said, and how to go on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ask.commands import scrub
from ask.commands.doubt import tell_doubt
from ask.connection import Client, ConnectionLost
from ask.exits import Failed
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon

LOST = "The connection to the daemon was lost."


def lose(params: dict[str, Any]) -> dict[str, Any]:
    """A daemon that is killed while it carries a request out."""
    raise ConnectionResetError


def test_only_what_is_in_doubt_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConnectionLost) as lost, tell_doubt(lost="Maybe.", stopped="Stopped."):
        raise ConnectionLost
    assert lost.value.message == f"{LOST} Maybe."
    with pytest.raises(Failed) as refused, tell_doubt(lost="Maybe.", stopped="Stopped."):
        raise Failed(3, "No such conversation.")
    assert refused.value.message == "No such conversation."
    assert capsys.readouterr().err == ""
    with pytest.raises(KeyboardInterrupt), tell_doubt(lost="Maybe.", stopped="Stopped."):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "Stopped.\n"


def test_a_deletion_that_was_lost_may_have_happened(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        daemon.create(name)
    delete: Callable[[dict[str, Any]], dict[str, Any]] = daemon._conversation_delete

    def delete_one(params: dict[str, Any]) -> dict[str, Any]:
        return delete(params) if len(daemon.events) == 3 else lose(params)

    monkeypatch.setattr(daemon, "_conversation_delete", delete_one)
    result = ask("history", "delete", "one", "two", "three", "--yes")
    assert result.code == 69
    assert result.err.splitlines() == [
        "Deleted 1 of 3 conversations for sure; what was asked for last may be gone too.",
        LOST,
        "See what is left: ask list; it can be run again with that.",
    ]


@pytest.fixture
def words(daemon: FakeDaemon, tmp_path: Path) -> dict[str, tuple[str, ...]]:
    """A command line for each request that changes something at once."""
    daemon.create("work")
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    return {
        "fork": ("fork", "work"),
        "scrub": ("history", "scrub", "hunter22", "--yes"),
        "look": ("history", "scrub", "hunter22", "--dry-run"),
        "import": ("history", "import", str(path)),
    }


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("fork", "Nothing was copied."),
        ("scrub", scrub.UNCHANGED),
        ("look", scrub.UNCHANGED),
        ("import", "Nothing was imported."),
    ],
)
def test_ctrl_c_before_anything_was_sent(
    daemon: FakeDaemon,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    words: dict[str, tuple[str, ...]],
    case: str,
    told: str,
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "greet", interrupt)
    result = ask(*words[case])
    assert (result.code, result.err.strip()) == (130, told)


CASES = [
    ("fork", "The copy may have been made. Look: ask list; if it is not there, fork again."),
    ("scrub", scrub.STOPPED),
    ("look", scrub.UNCHANGED),
    ("import", "a.jsonl may have been imported. Run it again: what was imported is not imported"),
]


@pytest.mark.parametrize(("case", "told"), CASES)
def test_a_daemon_that_went_away_leaves_a_doubt(
    daemon: FakeDaemon,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    words: dict[str, tuple[str, ...]],
    case: str,
    told: str,
) -> None:
    method = "scrub" if case == "look" else case
    monkeypatch.setattr(daemon, f"_conversation_{method}", lose)
    result = ask(*words[case])
    assert result.code == 69
    assert result.err.startswith(LOST)
    assert told in result.err


@pytest.mark.parametrize(("case", "told"), CASES)
def test_ctrl_c_says_what_may_have_been_done(
    daemon: FakeDaemon,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    words: dict[str, tuple[str, ...]],
    case: str,
    told: str,
) -> None:
    method = "scrub" if case == "look" else case

    real = Client.call

    def call(client: Client, name: str, *params: Any, **limits: Any) -> dict[str, Any]:
        if name == f"conversation/{method}":
            raise KeyboardInterrupt  # while the answer is awaited
        return real(client, name, *params, **limits)

    monkeypatch.setattr(Client, "call", call)
    result = ask(*words[case])
    assert result.code == 130
    assert told in result.err
