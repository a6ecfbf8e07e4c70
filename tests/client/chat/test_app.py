"""A chat with an editor: prompts, commands, questions and keys, at a daemon of the real wire."""

import threading
from typing import Any

import pytest

from ask.chat.app import GRACE_S
from ask.chat.slash import HOW_TO_LEAVE
from ask.exits import DONE, TERMINATED
from ask.feed import Heard, News
from tests.client.chat.terminal import LIMIT_S, open_terminal
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

APPROVAL = {
    "kind": "approval",
    "question_id": "q",
    "digest": "d",
    "detail": {
        "text": "Write notes.md",
        "title": "Write notes.md",
        "body": "new",
        "choices": [
            {"decision": "yes", "label": "Yes"},
            {"decision": "always", "label": "Always"},
            {"decision": "no", "label": "No"},
        ],
    },
}


def ask_something(daemon: FakeDaemon, **fields: Any) -> str:
    """A conversation in which a turn of somebody else waits for a word; its id."""
    conversation_id = daemon.create("talk", live=True)
    turn_id = daemon.accept(conversation_id, "please")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    asked = {**APPROVAL, **fields}
    daemon.append(conversation_id, "question_asked", turn_id=turn_id, expires_at=4e9, **asked)
    return conversation_id


def test_a_prompt_begins_a_conversation_and_is_answered_above(daemon: FakeDaemon) -> None:
    with open_terminal() as terminal:
        terminal.type("hello\r")
        terminal.wait_for("> hello\n\nYou said: hello\n")
        terminal.type("again\r")
        terminal.wait_for("\n> again\n\nYou said: again\n")
        assert terminal.paper.above.count("You said: hello") == 1
    first, second = daemon.called("turn/start")
    assert first["target"] == {"kind": "new"}
    assert second["target"]["kind"] == "id"


def test_while_an_answer_comes_one_types_on_and_it_waits(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    daemon.hold.clear()
    talk = threading.Thread(target=daemon.say, args=(conversation_id, "one two"))
    talk.start()
    with open_terminal(conversation_id) as terminal:
        terminal.wait(lambda: terminal.present.tail)
        assert "> (from another terminal) one two\n" in terminal.paper.above
        terminal.type("mine")
        terminal.wait(lambda: terminal.chat.buffer.text == "mine")
        daemon.accept(conversation_id, "a third")
        terminal.wait(lambda: terminal.present.waiting == ["(another terminal) a third"])
        assert "1 queued" in terminal.present.word_status(80)
        daemon.hold.set()
        talk.join()
        terminal.wait_for("You said: one two\n")
        assert terminal.chat.buffer.text == "mine"


def test_several_lines_are_one_prompt(daemon: FakeDaemon) -> None:
    pasted = "\n".join(f"line {number}" for number in range(200))
    with open_terminal() as terminal:
        terminal.type("one\x1b\rtwo\nthree\r")
        terminal.type(f"\x1b[200~{pasted}\x1b[201~\r")
        terminal.wait(lambda: len(daemon.called("turn/start")) == 2)
    texts = [each["parts"][0]["text"] for each in daemon.called("turn/start")]
    assert texts == ["one\ntwo\nthree", pasted]


def test_commands_are_shown_kept_and_never_sent(daemon: FakeDaemon) -> None:
    with open_terminal() as terminal:
        terminal.type("/model fake/echo\r")
        terminal.wait_for("> /model fake/echo\nFurther prompts go to fake/echo.\n")
        terminal.type("/modle\r")
        terminal.wait_for("Did you mean /model?")
        terminal.type("//help\r")
        terminal.wait_for("You said: /help")
        terminal.type("/exit\r")
        assert terminal.end() == DONE
    (sent,) = daemon.called("turn/start")
    assert sent["options"] == {"model": "fake/echo"}
    assert daemon.called("conversation/note")[-1]["text"] == "User executed command: /exit"
    assert "* User executed" not in terminal.paper.above


def test_a_refused_prompt_comes_back_to_the_line(daemon: FakeDaemon) -> None:
    daemon.refusals["turn/start"] = Refusal("not_configured", "No model.", hint="Set a key.")
    with open_terminal() as terminal:
        terminal.type("hello\r")
        terminal.wait_for("No model.")
        terminal.wait(lambda: terminal.chat.buffer.text == "hello")


# ---- Ctrl-C and Ctrl-D -----------------------------------------------------------------


def test_ctrl_c_stops_the_turn_and_a_second_one_leaves(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    turn_id = daemon.accept(conversation_id, "long")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    with open_terminal(conversation_id) as terminal:
        terminal.wait(lambda: terminal.chat.view.running == turn_id)
        terminal.type("half")
        terminal.wait(lambda: terminal.chat.buffer.text == "half")
        terminal.type("\x03")
        terminal.wait(lambda: daemon.called("turn/interrupt"))
        assert terminal.chat.buffer.text == "half"
        terminal.type("\x03")
        assert terminal.end() == DONE
        assert f"is told to stop: ask attach {conversation_id[:8]}" in terminal.paper.above
    assert [each["turn_id"] for each in daemon.called("turn/interrupt")] == [turn_id]


def test_who_presses_ctrl_c_twice_at_once_has_stopped_it_too(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    turn_id = daemon.accept(conversation_id, "long")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    with open_terminal(conversation_id) as terminal:
        terminal.wait(lambda: terminal.chat.view.running == turn_id)
        terminal.type("\x03\x03")
        assert terminal.end() == DONE
        terminal.wait(lambda: daemon.called("turn/interrupt"))


def test_a_prompt_on_its_way_is_stopped_whatever_is_heard_meanwhile(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    with open_terminal(conversation_id) as terminal:
        terminal.wait(lambda: daemon.called("conversation/context"))
        with daemon._lock:  # it accepts nothing yet
            terminal.type("one\r")
            terminal.wait(lambda: terminal.present.sending)
            terminal.type("\x03")
            terminal.wait(lambda: terminal.chat._stopping == "")
            news = News("progress", {"kind": "waiting", "text": "soon"})
            terminal.reader.reports.put(Heard([news]))
            terminal.watch.wake()
            terminal.wait(lambda: terminal.chat.view.doing == "soon")
        terminal.wait(lambda: daemon.called("turn/interrupt"))


def test_a_prompt_that_was_refused_leaves_nothing_to_stop(daemon: FakeDaemon) -> None:
    daemon.refusals["turn/start"] = Refusal("internal", "Not now.")
    with open_terminal() as terminal:
        terminal.wait(lambda: daemon.called("config/read"))
        with daemon._lock:
            terminal.type("one\r")
            terminal.wait(lambda: terminal.present.sending)
            terminal.type("\x03")
            terminal.wait(lambda: terminal.chat._stopping == "")
        terminal.wait_for("Not now.")
        terminal.wait(lambda: terminal.chat._stopping is None)


def test_ctrl_c_without_a_turn_empties_the_line_and_then_says_how_to_leave(
    daemon: FakeDaemon,
) -> None:
    with open_terminal() as terminal:
        terminal.type("half a line\x03")
        terminal.wait(lambda: not terminal.chat.buffer.text)
        assert HOW_TO_LEAVE not in terminal.paper.above
        terminal.type("\x03")
        terminal.wait_for(HOW_TO_LEAVE)
        terminal.type("x\x04")  # with something typed, it takes away what is under the cursor
        terminal.wait(lambda: terminal.chat.buffer.text == "x")
        terminal.type("\x15\x04")
        assert terminal.end() == DONE


def test_steering_is_one_prompt_that_joins(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    turn_id = daemon.accept(conversation_id, "long")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    with open_terminal(conversation_id) as terminal:
        terminal.wait(lambda: terminal.chat.view.running == turn_id)
        terminal.type("/steer the other way\r")
        terminal.wait_for("Said to the turn that runs: it stops where it is, and answers this.")
        terminal.wait_for("> the other way")
        (asked,) = [params for name, params in daemon.calls if name.startswith("turn/")]
        assert (asked["busy"], asked["parts"][0]["text"]) == ("steer", "the other way")


# ---- questions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "decision"), [("y", "yes"), ("a", "always"), ("3", "no"), ("n because\r", "no")]
)
def test_an_approval_is_answered_by_a_key_or_a_line(
    daemon: FakeDaemon, typed: str, decision: str
) -> None:
    conversation_id = ask_something(daemon)
    clock = [100.0]
    with open_terminal(conversation_id, clock=clock) as terminal:
        terminal.wait_for("Write notes.md\n  | new\n\n1. Yes\n2. Always\n3. No\n")
        assert terminal.present.label.startswith("Allow it?")
        clock[0] += GRACE_S
        terminal.type(typed)
        terminal.wait(lambda: daemon.called("question/answer"))
        terminal.wait(lambda: terminal.present.label == "> ")
    (answer,) = daemon.called("question/answer")
    assert (answer["decision"], answer["digest"]) == (decision, "d")


def test_a_key_that_was_meant_for_something_else_answers_nothing(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    clock = [100.0]
    with open_terminal(conversation_id, clock=clock) as terminal:
        terminal.type("my draft")
        terminal.wait(lambda: terminal.chat.buffer.text == "my draft")
        turn_id = daemon.accept(conversation_id, "please")
        daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
        daemon.append(conversation_id, "question_asked", turn_id=turn_id, **APPROVAL)
        terminal.wait_for("Write notes.md")
        terminal.wait(lambda: terminal.chat.buffer.text == "")
        terminal.type("y")
        terminal.wait(lambda: terminal.chat.buffer.text == "y")
        assert daemon.called("question/answer") == []
        terminal.type("\x15")
        answered = {"question_id": "q", "decision": "no", "by": "tty:pts/9:1"}
        daemon.append(conversation_id, "question_answered", turn_id=turn_id, **answered)
        terminal.wait_for("Answered elsewhere: No")
        terminal.wait(lambda: terminal.chat.buffer.text == "my draft")


def test_all_of_it_can_be_seen(daemon: FakeDaemon) -> None:
    with open_terminal(ask_something(daemon)) as terminal:
        terminal.wait_for("1. Yes")
        terminal.type("/more\r")
        terminal.wait(lambda: terminal.paper.above.count("  | new\n") == 2)
        assert terminal.present.label.startswith("Allow it?")
        assert daemon.called("question/answer") == []


def test_commands_can_be_typed_while_something_is_asked(daemon: FakeDaemon) -> None:
    conversation_id = ask_something(daemon)
    with open_terminal(conversation_id) as terminal:
        terminal.wait_for("1. Yes")
        terminal.type("/model\r")
        terminal.wait_for("Model: ")
        assert daemon.called("question/answer") == []


# ---- the end, and the edge ----------------------------------------------------------


def test_a_narrow_terminal_is_enough(daemon: FakeDaemon) -> None:
    with open_terminal() as terminal:
        terminal.paper.size = terminal.paper.size._replace(columns=20, rows=6)
        daemon.answer = lambda text: ["\u4e2d" * 100, "\n" * 50, "end"]
        terminal.type("hello\r")
        terminal.wait_for("end")


def test_leaving_waits_for_what_was_typed_before(daemon: FakeDaemon) -> None:
    with open_terminal() as terminal:
        terminal.type("one\r\x04")
        assert terminal.end() == DONE
    with open_terminal() as terminal:
        terminal.type("two\r/exit\r")
        assert terminal.end() == DONE
    texts = [each["parts"][0]["text"] for each in daemon.called("turn/start")]
    assert texts == ["one", "two"]


@pytest.mark.parametrize("answers", [True, False])
def test_a_signal_to_end_waits_for_what_was_typed_but_not_for_long(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    monkeypatch.setattr("ask.chat.app.SENT_LIMIT_S", LIMIT_S if answers else 0.1)
    with open_terminal(daemon.create("talk", live=True)) as terminal:
        terminal.wait(lambda: daemon.called("conversation/context"))
        loop = terminal.chat.app.loop
        assert loop is not None
        with daemon._lock:
            terminal.type("one\rtwo\r")
            terminal.wait(lambda: len(terminal.present.sending) == 2)
            loop.call_soon_threadsafe(terminal.chat._end, TERMINATED)
            if not answers:
                assert terminal.end() == TERMINATED
        assert terminal.end() == TERMINATED
    if answers:
        texts = [each["parts"][0]["text"] for each in daemon.called("turn/start")]
        assert texts == ["one", "two"]


def test_leaving_does_not_wait_for_an_answer(daemon: FakeDaemon) -> None:
    with open_terminal(daemon.create("talk", live=True)) as terminal:
        terminal.wait(lambda: not daemon.calls or daemon.called("conversation/context"))
        with daemon._lock:  # it says nothing more
            terminal.type("/usage\r")
            terminal.wait_for("> /usage")
            terminal.type("\x04")
            assert terminal.end() == DONE
