"""A prompt is sent until it is stored, and never becomes two turns."""

import os
from pathlib import Path
from typing import Any

import pytest

import ask
from ask.library import begin
from ask.library.begin import begin_turn, follow_job, leave_turn
from ask.library.link import Link
from ask.library.prompts import draft_prompt
from ask.library.values import read_job
from tests.client.library.plays import told
from tests.client.library.test_values import JOB
from tests.fakes.daemon import Dropped, FakeDaemon, Peer, Refusal, Script, answer

Map = dict[str, Any]
Then = list[tuple[Script, Map]]


def open_link() -> Link:
    return Link(os.environ, start=False)


def test_a_daemon_that_is_about_to_stop_is_waited_for(lone_home: Path) -> None:
    draining = Refusal(69, "draining", "The daemon is about to stop.")
    drafted = draft_prompt("hi", {}, {})
    with FakeDaemon(
        lone_home, told(answer("yes")), refuse={"turn/start": [draining] * 3}
    ) as daemon:
        assert begin_turn(open_link(), drafted).result() == "yes"
    assert {each["key"] for each in daemon.asked("turn/start")} == {drafted.key}


def test_a_refusal_is_raised_at_once(lone_home: Path) -> None:
    unknown = Refusal(2, "unknown_model", "No such model.")
    with (
        FakeDaemon(lone_home, refuse={"turn/start": [unknown]}) as daemon,
        pytest.raises(ask.UsageError, match="No such model"),
    ):
        begin_turn(open_link(), draft_prompt("hi", {"model": "x/y"}, {}))
    assert len(daemon.asked("turn/start")) == 1


def test_a_connection_that_is_lost_before_the_answer(lone_home: Path) -> None:
    class Losing(FakeDaemon):
        """Stores the prompt and is gone before it has said so, once."""

        lost = False

        def answer(self, peer: Peer, method: str, params: Map, then: Then) -> Map:
            result = super().answer(peer, method, params, then)
            if method == "turn/start" and not self.lost:
                self.lost = True
                raise Dropped
            return result

    with Losing(lone_home) as daemon:
        turn = begin_turn(open_link(), draft_prompt("hi", {}, {}))
        assert turn.id == "turn-1"
        turn.close()
    first, second = daemon.asked("turn/start")
    assert first == second


def test_the_time_may_be_over_before_it_is_taken(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "ANSWER_LIMIT_S", 0.01)
    late = draft_prompt("hi", {"timeout_s": 0.001}, {})

    class Slow(FakeDaemon):
        """Says hello, and no more."""

        def answer(self, peer: Peer, method: str, params: Map, then: Then) -> Map:
            if method == "turn/start":
                peer.stream.recv(1)  # until the client has left
                raise Dropped
            return super().answer(peer, method, params, then)

    with Slow(lone_home), pytest.raises(ask.TimeLimit, match="before the daemon took"):
        begin_turn(open_link(), late)
    with pytest.raises(ask.NoDaemon, match="No daemon is running"):
        begin_turn(open_link(), draft_prompt("hi", {"timeout_s": 0.01}, {}))


def test_what_is_left_has_a_job(lone_home: Path) -> None:
    named = {"turn/start": {"job_id": "j"}}
    with FakeDaemon(lone_home, results=named) as daemon:
        accepted = leave_turn(open_link(), draft_prompt("hi", {}, {}, detach=True))
    assert accepted["job_id"] == "j"
    (asked,) = daemon.asked("turn/start")
    assert (asked["follow"], asked["options"]) == (False, {"detach": True})


def test_a_job_is_followed_from_its_prompt_on(lone_home: Path) -> None:
    with FakeDaemon(lone_home, told(answer("yes"))) as daemon:
        begin_turn(open_link(), draft_prompt("hi", {}, {})).result()
        (conversation_id,) = daemon.events
        job = read_job({**JOB, "conversation_id": conversation_id, "turn_id": "turn-1", "seq": 2})
        turn = follow_job(open_link(), job)
        assert turn.key is None
        assert [type(event).__name__ for event in turn][:2] == ["Accepted", "Started"]
        assert turn.text == "yes"
        assert len(daemon.asked("turn/start")) == 1


def test_a_job_that_is_no_turn_cannot_be_followed(lone_home: Path) -> None:
    with pytest.raises(ask.NotFound, match="is no turn"):
        follow_job(open_link(), read_job({**JOB, "kind": "title"}))
