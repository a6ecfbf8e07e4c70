"""A prompt that is left: one turn whatever is lost on the way, and one word on stdout."""

import json
import time
from typing import Any

import pytest

from ask import detached
from ask.connection import Client, ConnectionLost, RpcError
from ask.detached import leave_prompt
from ask.exits import Failed
from ask.render import Screen
from ask.signals import TimeIsUp

Captured = pytest.CaptureFixture[str]
ACCEPTED: dict[str, Any] = {
    "turn_id": "t",
    "conversation_id": "0c0ffee0-1111",
    "seq": 2,
    "position": 0,
    "created": True,
    "job_id": "t",
}


class Daemons:
    """Daemons that do what the list says, one after the other."""

    def __init__(self, *outcomes: dict[str, Any] | Exception) -> None:
        self.outcomes = list(outcomes)
        self.closed = 0

    def connect(self) -> Client:
        return self  # type: ignore[return-value]  # what is used of it is here

    def __enter__(self) -> "Daemons":
        return self

    def __exit__(self, *_: object) -> None:
        self.closed += 1

    def start(self, client: Client) -> dict[str, Any]:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def leave(daemons: Daemons, *, as_json: bool = False, quiet: bool = False) -> None:
    leave_prompt(
        daemons.connect, daemons.start, Screen(quiet=quiet), deadline=None, as_json=as_json
    )


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "RETRY_PAUSE_S", 0.001)


def test_the_jobs_id_alone_goes_to_stdout(capfd: Captured) -> None:
    daemons = Daemons(ACCEPTED)
    leave(daemons)
    assert capfd.readouterr() == ("t\n", "0c0ffee0\n")
    assert daemons.closed == 1
    leave(Daemons({**ACCEPTED, "position": 2}))
    out, err = capfd.readouterr()
    assert out == "t\n"
    assert "2" in err.splitlines()[0]
    leave(Daemons({**ACCEPTED, "position": 2}), quiet=True)
    assert capfd.readouterr() == ("t\n", "")


def test_as_json_it_is_all_that_was_answered(capfd: Captured) -> None:
    leave(Daemons(ACCEPTED), as_json=True)
    assert json.loads(capfd.readouterr().out) == ACCEPTED


def test_what_is_lost_on_the_way_is_sent_again(capfd: Captured) -> None:
    draining = RpcError(69, "About to stop.", {"reason": "draining"})
    daemons = Daemons(ConnectionLost(), draining, ACCEPTED)
    leave(daemons)
    assert capfd.readouterr().out == "t\n"
    assert daemons.closed == 3


def test_a_refusal_is_final(capfd: Captured) -> None:
    with pytest.raises(RpcError, match="No key"):
        leave(Daemons(RpcError(4, "No key.", {"reason": "not_configured"}), ACCEPTED))
    assert capfd.readouterr().out == ""


def test_a_daemon_that_does_not_come_back_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "RETRY_LIMIT_S", 0.0)
    with pytest.raises(ConnectionLost):
        leave(Daemons(*[ConnectionLost() for _ in range(99)]))


def test_a_daemon_that_knows_no_such_jobs_is_named(capfd: Captured) -> None:
    with pytest.raises(Failed, match="is older") as caught:
        leave(Daemons({**ACCEPTED, "job_id": None}))
    assert caught.value.hint == "Its answer: ask attach 0c0ffee0"
    assert capfd.readouterr().out == ""


def hang(client: Client) -> dict[str, Any]:
    time.sleep(30)
    return ACCEPTED


def test_a_time_limit_holds_for_the_acceptance_too() -> None:
    with pytest.raises(TimeIsUp):
        leave_prompt(
            Daemons().connect,
            hang,
            Screen(),
            deadline=time.monotonic() - 1,
            as_json=False,
        )


def test_what_is_not_as_it_was_asked_for_is_said(capfd: Captured) -> None:
    leave(Daemons({**ACCEPTED, "warning": "Nobody can be \x1b[31mnotified."}))
    out, err = capfd.readouterr()
    assert (out, err.splitlines()[0]) == ("t\n", "Nobody can be notified.")
    leave(Daemons({**ACCEPTED, "warning": None}))
    assert capfd.readouterr().err == "0c0ffee0\n"
