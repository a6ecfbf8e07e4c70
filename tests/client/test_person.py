"""Somebody at a terminal who is asked while a turn is followed: a real one, a scripted daemon."""

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from ask import follow, person
from ask.approve import GUTTER
from ask.connection import connect
from ask.fast import beside
from ask.fast.run import Carried
from ask.follow import Follower
from ask.person import Person
from ask.render import Screen
from tests.client.test_follow import start
from tests.client.test_questions import ALLOW, APPROVAL, DETAIL, PROMPT, SHOWN
from tests.fakes.daemon import FakeDaemon, Refusal, Stage

Captured = pytest.CaptureFixture[str]
CTRL_D = "\x04"


class Desk:
    """A terminal and its person, who types a line whenever asked to.

    Attributes:
        shown: all that was shown to them.
        lines: what they are going to type.
    """

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        self.shown = ""
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.shown += text
        if text.endswith((PROMPT, ALLOW)) and self.lines:
            self.type(self.lines.pop(0))

    def type(self, line: str) -> None:
        os.write(self.ours, line.encode())


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    found = Desk()
    monkeypatch.setattr(person, "STDIN", found.theirs)
    monkeypatch.setattr(person, "say", found.say)
    monkeypatch.setattr(person, "find_terminal", lambda environ: "name:here")
    monkeypatch.setattr(follow, "RECONNECT_PAUSE_S", 0.001)
    yield found
    os.close(found.theirs)
    os.close(found.ours)


def make(*, quiet: bool = False) -> Follower:
    screen = Screen(quiet=quiet)
    return Follower(
        connect=lambda: connect(start=False),
        start=start,
        screen=screen,
        carried=Carried("k"),
        person=Person(screen),
    )


def begin(stage: Stage) -> None:
    stage.start()
    fields = {"question_id": "q1", "kind": "overflow", "digest": "d", "detail": DETAIL}
    stage.event("question_asked", **fields, expires_at=1.0)


def end(stage: Stage, decision: str) -> None:
    stage.event("question_answered", question_id="q1", by="x", decision=decision)
    stage.say_whole("done")
    stage.finish()


@pytest.mark.parametrize("quiet", [False, True])
def test_what_is_typed_is_the_answer(
    lone_home: Path, desk: Desk, capfd: Captured, quiet: bool
) -> None:
    def play(stage: Stage) -> None:
        begin(stage)
        end(stage, stage.wait_for("question/answer")["decision"])

    desk.type("1\n")  # typed ahead, for something else
    desk.lines = ["what?\n", "2\n"]
    with FakeDaemon(lone_home, play) as daemon:
        assert make(quiet=quiet).run().code == 0
    (conversation_id,) = daemon.events
    assert daemon.asked("question/answer") == [
        {
            "conversation_id": conversation_id,
            "question_id": "q1",
            "digest": "d",
            "decision": "reset",
            "terminal": "name:here",
        }
    ]
    assert desk.shown == SHOWN + PROMPT + PROMPT
    assert capfd.readouterr().out == "done"


def test_another_terminal_was_faster(lone_home: Path, desk: Desk) -> None:
    def play(stage: Stage) -> None:
        begin(stage)
        end(stage, "compact")

    with FakeDaemon(lone_home, play) as daemon:
        assert make().run().code == 0
    assert daemon.asked("question/answer") == []
    # Both may have come together; then nobody was asked.
    told = "\nAnswered elsewhere: Compact - Summarize the history and continue\n"
    assert desk.shown in ("", SHOWN + PROMPT + told)


def test_the_end_of_the_input_leaves_it_open(lone_home: Path, desk: Desk) -> None:
    def play(stage: Stage) -> None:
        begin(stage)
        stage.wait_for("daemon/status")  # the client has nothing else to do than to ask that
        end(stage, "continue")

    desk.lines = [CTRL_D]
    with pytest.MonkeyPatch.context() as patch, FakeDaemon(lone_home, play) as daemon:
        patch.setattr("ask.connection.QUIET_S", 0.05)
        assert make().run().code == 0
    assert daemon.asked("question/answer") == []
    assert "No answer; the question stays open for other terminals: ask attach " in desk.shown
    assert desk.shown.endswith(
        "Answered elsewhere: Continue - Keep the history as is (may cause issues)\n"
    )


def test_an_answer_that_is_refused_is_asked_for_again(lone_home: Path, desk: Desk) -> None:
    def play(stage: Stage) -> None:
        begin(stage)
        stage.wait_for("question/answer")
        end(stage, stage.wait_for("question/answer")["decision"])

    desk.lines = ["1\n", "3\n"]
    refusal = Refusal(74, "storage_failed", "The answer was not stored: the disk is full")
    with FakeDaemon(lone_home, play, refuse={"question/answer": [refusal]}) as daemon:
        assert make().run().code == 0
    assert [each["decision"] for each in daemon.asked("question/answer")] == [
        *("compact", "continue"),
    ]
    assert desk.shown == (f"{SHOWN}{PROMPT}The answer was not stored: the disk is full\n{PROMPT}")


def test_a_daemon_that_ends_meanwhile_is_answered_when_it_is_back(
    lone_home: Path, desk: Desk
) -> None:
    """Shown again only if an answer was lost on the way; the last one goes to the successor."""

    def play(stage: Stage) -> None:
        begin(stage)
        stage.drop()

    def again(stage: Stage) -> None:
        params = stage.wait_for("question/answer")
        end(stage, params["decision"])

    desk.lines = ["2\n", "2\n"]
    with FakeDaemon(lone_home, play, again) as daemon:
        assert make().run().code == 0
    assert [each["interactive"] for each in daemon.asked("conversation/subscribe")][-1] is True
    assert daemon.asked("question/answer")[-1]["decision"] == "reset"
    assert desk.shown.count(SHOWN) == 2 - len(desk.lines)


def ask_to_allow(stage: Stage, *bodies: str) -> None:
    stage.start()
    for number, body in enumerate(bodies, start=1):
        detail = {**APPROVAL, "title": f"Run: {number}", "body": body}
        fields = {"question_id": f"q{number}", "kind": "approval", "digest": f"d{number}"}
        stage.event("question_asked", **fields, detail=detail, expires_at=1.0)


def test_calls_are_allowed_one_after_the_other(lone_home: Path, desk: Desk) -> None:
    def play(stage: Stage) -> None:
        ask_to_allow(stage, "ls", "rm -rf ~")
        for number in (1, 2):
            answered = stage.wait_for("question/answer")
            fields = {"question_id": f"q{number}", "by": "x", "decision": answered["decision"]}
            stage.event("question_answered", **fields)
        stage.say_whole("done")
        stage.finish()

    desk.type("y\ny\n")  # typed ahead, for something else
    desk.lines = ["a\n", "n because it deletes\n"]
    with FakeDaemon(lone_home, play) as daemon:
        assert make().run().code == 0
    said = [(e["digest"], e["decision"], e.get("reason")) for e in daemon.asked("question/answer")]
    assert said == [("d1", "always", None), ("d2", "no", "it deletes")]
    assert desk.shown.index(f"{GUTTER}ls\n") < desk.shown.index(f"{GUTTER}rm -rf ~\n")


def test_where_a_pipe_is_read_the_answer_comes_from_the_terminal(
    lone_home: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(person, "STDIN", reader)
    monkeypatch.setattr(beside, "has_input", lambda: True)
    monkeypatch.setattr(beside, "TERMINAL", os.ttyname(desk.theirs))
    before = len(os.listdir("/proc/self/fd"))

    def play(stage: Stage) -> None:
        begin(stage)
        end(stage, stage.wait_for("question/answer")["decision"])

    desk.lines = ["2\n"]
    with FakeDaemon(lone_home, play) as daemon:
        assert make().run().code == 0
    assert [each["decision"] for each in daemon.asked("question/answer")] == ["reset"]
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(reader)
    os.close(writer)


def test_a_terminal_that_is_gone_leaves_it_to_others(
    lone_home: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(person, "STDIN", reader)

    def play(stage: Stage) -> None:
        begin(stage)
        end(stage, "compact")

    with FakeDaemon(lone_home, play) as daemon:
        assert make().run().code == 0
    assert daemon.asked("question/answer") == []
    assert PROMPT not in desk.shown
    os.close(reader)
    os.close(writer)
