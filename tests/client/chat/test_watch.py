"""A terminal at a conversation: what is heard, what is lost and found again, its end."""

import threading

import pytest

from ask.chat.desk import DELETED, DELETED_CHAT
from ask.chat.present import LEAVES, Q_LEAVES
from ask.chat.watch import DETACHED
from ask.exits import DONE, NOT_FOUND
from tests.client.chat.terminal import open_terminal
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal
from tests.client.test_questions import ALLOW, APPROVAL

QUESTION = {"kind": "approval", "question_id": "q", "digest": "d", "detail": APPROVAL}


def start(daemon: FakeDaemon, text: str = "long") -> tuple[str, str]:
    """A conversation with a turn that goes on; the ids of both."""
    conversation_id = daemon.create("talk", live=True)
    turn_id = daemon.accept(conversation_id, text)
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    return conversation_id, turn_id


# ---- attached --------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["\x03", "\x04"])
@pytest.mark.parametrize("read_only", [False, True])
def test_who_is_attached_leaves_and_stops_nothing(
    daemon: FakeDaemon, key: str, read_only: bool
) -> None:
    conversation_id, _ = start(daemon)
    with open_terminal(conversation_id, detaches=True, read_only=read_only) as terminal:
        terminal.wait_for("> (from another terminal) long")
        assert (Q_LEAVES if read_only else LEAVES) in terminal.present.word_status(80)
        terminal.type(key)
        assert terminal.end() == DONE
    left = f"{DETACHED}\nThe turn goes on: ask attach {conversation_id[:8]}\n"
    assert terminal.paper.above.endswith(left)
    assert daemon.called("turn/interrupt") == []


def test_of_a_call_from_before_a_line_is_shown(daemon: FakeDaemon) -> None:
    conversation_id, turn_id = start(daemon)
    call = {"call_id": "c", "name": "run_command", "arguments": f'{{"command": "{"x" * 9000}"}}'}
    item = {"type": "assistant_message", "id": "i", "parts": [], "calls": [call]}
    fields = {"turn_id": turn_id, "completion": 1, "status": "complete"}
    daemon.append(conversation_id, "item_added", item=item, **fields)
    output = {"type": "tool_output", "id": "o", "call_id": "c", "name": "t", "parts": []}
    daemon.append(conversation_id, "item_added", item=output, **fields)
    with open_terminal(conversation_id, detaches=True, until_idle=True) as terminal:
        terminal.wait_for("[run_command]")
    assert terminal.paper.above.count("\n") < 12
    assert max(len(line) for line in terminal.paper.above.split("\n")) < 80


def test_who_is_attached_takes_part(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    with open_terminal(conversation_id, detaches=True) as terminal:
        terminal.type("mine\r")
        terminal.wait_for("> mine\n\nYou said: mine\n")
        terminal.type("last\r\x03")  # what was typed before leaving is answered
        assert terminal.end() == DONE
    assert [each["parts"][0]["text"] for each in daemon.called("turn/start")] == ["mine", "last"]


def test_who_only_watches_types_nothing_and_answers_nothing(daemon: FakeDaemon) -> None:
    conversation_id, turn_id = start(daemon)
    with open_terminal(conversation_id, read_only=True) as terminal:
        daemon.append(conversation_id, "question_asked", turn_id=turn_id, **QUESTION)
        terminal.wait_for("3. No")
        terminal.type("y1 hello\r/exit\r")
        answered = {"question_id": "q", "decision": "no", "by": "tty:pts/9:1"}
        daemon.append(conversation_id, "question_answered", turn_id=turn_id, **answered)
        terminal.wait_for("Answered elsewhere: No")
        assert ALLOW not in terminal.paper.above + terminal.paper.drawn
        terminal.type("q")
        assert terminal.end() == DONE
    assert not {"question/answer", "turn/start"} & {name for name, _ in daemon.calls}
    (asked,) = daemon.called("conversation/subscribe")
    assert asked["interactive"] is False


@pytest.mark.parametrize("read_only", [False, True])
def test_until_idle_it_stays_as_long_as_anything_goes_on(
    daemon: FakeDaemon, read_only: bool
) -> None:
    conversation_id = daemon.create("talk", live=True)
    daemon.hold.clear()
    turn = threading.Thread(target=daemon.say, args=(conversation_id, "one"))
    reached = threading.Event()
    daemon.holding = reached.set
    turn.start()
    assert reached.wait(10)
    with open_terminal(conversation_id, read_only=read_only, until_idle=True) as terminal:
        terminal.wait(lambda: terminal.present.tail)
        daemon.hold.set()
        turn.join()
        assert terminal.end() == DONE
    assert terminal.paper.above.endswith("> (from another terminal) one\n\nYou said: one\n")


def test_for_eyes_alone_no_daemon_is_started(daemon: FakeDaemon) -> None:
    conversation_id, _ = start(daemon)
    with open_terminal(conversation_id, read_only=True) as terminal:
        terminal.wait(lambda: terminal.watch.view.running)
        assert not terminal.reader.needed
    with open_terminal(conversation_id, detaches=True) as terminal:
        terminal.wait(lambda: terminal.watch.view.running)
        terminal.wait(lambda: terminal.reader.needed)


# ---- what can be lost ------------------------------------------------------------------


def test_a_lost_connection_is_told_and_comes_back(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    with open_terminal(conversation_id) as terminal:
        terminal.type("one\r")
        terminal.wait_for("You said: one")
        daemon.drop()
        terminal.type("two\r")
        terminal.wait_for("You said: two")
        assert terminal.paper.above.count("You said: one") == 1
        terminal.wait(lambda: not terminal.present.lost)


def test_a_conversation_that_is_deleted_elsewhere_ends_the_chat(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    with open_terminal(conversation_id) as terminal:
        daemon.refusals["turn/start"] = Refusal("conversation_not_found", "Not there.")
        terminal.type("hello\r")
        terminal.end()
        assert terminal.error is not None
        assert (terminal.error.code, terminal.error.message) == (NOT_FOUND, DELETED_CHAT)


def test_a_conversation_that_is_deleted_ends_a_watch(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    daemon.refusals["conversation/subscribe"] = Refusal("conversation_not_found", "Not there.")
    with open_terminal(conversation_id, read_only=True) as terminal:
        terminal.end()
        assert terminal.error is not None
        assert (terminal.error.code, terminal.error.message) == (NOT_FOUND, DELETED)


# ---- the status ------------------------------------------------------------------------


def test_who_comes_and_what_leaves_the_window_is_in_the_status(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    daemon.context = [{"type": "user_message", "id": "i", "tokens": 4_096}]
    with open_terminal(conversation_id) as terminal:
        terminal.wait(lambda: "4k of 8k (50 %)" in terminal.present.word_status(80))
        rows = [{"client": "ask", "tty": tty, "pid": 0} for tty in ("pts/8", "pts/9\x1b[31m")]
        told = {"conversation_id": conversation_id, "attached": 3, "clients": rows}
        daemon.publish(conversation_id, "attached", told)
        shown = "also pts/8, pts/9\\x1b[31m"
        terminal.wait(lambda: shown in terminal.present.word_status(80))
        daemon.context = []
        daemon.append(conversation_id, "view_changed", kind="clear", turn_id=None)
        terminal.wait(lambda: "0 of 8k (0 %)" in terminal.present.word_status(80))
        daemon.publish(conversation_id, "attached", {**told, "attached": 1, "clients": []})
        terminal.wait(lambda: "also" not in terminal.present.word_status(80))
        terminal.type("\x04")
        assert terminal.end() == DONE
