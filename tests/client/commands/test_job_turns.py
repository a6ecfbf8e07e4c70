"""A job that is a turn: what was asked and said, followed to its end, and its question answered."""

import threading
import time
from typing import Any

import pytest

from ask.approve import Sight
from ask.commands import job_turns
from tests.client.commands.conftest import Ask, Run
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import NOW, Refusal
from tests.client.commands.job_records import job
from tests.client.commands.process import LIMIT_S
from tests.client.test_questions import APPROVAL, DETAIL, FORM

Map = dict[str, Any]


def add_turn(daemon: FakeDaemon, conversation_id: str, turn_id: str, **fields: Any) -> Map:
    """The job of a turn that was accepted already."""
    seq = next(
        event["seq"]
        for event in daemon.events[conversation_id]
        if event["type"] == "prompt_accepted" and event["turn_id"] == turn_id
    )
    state = fields.pop("state", "completed")
    record = job(
        turn_id, state, kind="turn", conversation_id=conversation_id, turn_id=turn_id, seq=seq
    )
    daemon.jobs.append({**record, **fields})
    return daemon.jobs[-1]


def ask_question(
    daemon: FakeDaemon, conversation_id: str, kind: str = "overflow", **detail: Any
) -> str:
    """A turn that waits for a person; the id of its job."""
    turn_id = daemon.accept(conversation_id, "too much")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    asked = {"question_id": "q1", "kind": kind, "digest": "d", "detail": detail or DETAIL}
    question = {**asked, "expires_at": NOW}
    daemon.append(conversation_id, "question_asked", turn_id=turn_id, **question)
    add_turn(daemon, conversation_id, turn_id, state="running", question=question)
    return turn_id


def test_show_and_logs_tell_of_the_own_turn_alone(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.say(conversation_id, "before")
    turn_id = daemon.say(conversation_id, "mine")
    daemon.say(conversation_id, "after")
    add_turn(daemon, conversation_id, turn_id)
    shown = ask("jobs", "show", turn_id).out
    assert shown.startswith(f"Job: {turn_id}\nKind: turn\n")
    assert shown.endswith("\n\n> mine\n\nYou said: mine\n")
    assert "before" not in shown
    assert "after" not in shown
    assert ask("jobs", "logs", turn_id).out == "> mine\n\nYou said: mine\n\n"
    assert "mine" not in ask("jobs", "show", turn_id, "--json").out


def test_a_call_that_did_not_run_is_not_shown_as_one_that_did(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "do it")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    said = {"type": "assistant_message", "id": f"{turn_id}.1", "parts": []}
    calls = [
        {"call_id": each, "name": "run_command", "arguments": f'{{"command": "make {each}"}}'}
        for each in "abc"
    ]

    def add(item: Map) -> None:
        daemon.append(conversation_id, "item_added", turn_id=turn_id, completion=1, item=item)

    add({**said, "calls": calls})
    done = {"type": "tool_output", "name": "run_command", "parts": []}
    add({**done, "id": f"{turn_id}.1.1", "call_id": "a", "synthetic": "denied", "is_error": True})
    failed = [{"type": "text", "text": "no\n[exit code 2]"}]
    add({**done, "id": f"{turn_id}.1.2", "call_id": "b", "parts": failed, "is_error": True})
    add({**done, "id": f"{turn_id}.9.1", "call_id": "c", "synthetic": "denied"})  # another's
    add_turn(daemon, conversation_id, turn_id)
    assert ask("jobs", "show", turn_id).out.endswith(
        "\n\n[run_command] make a (not run)\n[run_command] make b (exit code 2)\n"
        "[run_command] make c\n"
    )


def test_a_long_answer_is_shown_in_part_and_logged_whole(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    text = "x" * (job_turns.ANSWER_LIMIT + 1)
    daemon.answer = lambda prompt: [text, "\x1b[31m!"]
    turn_id = daemon.say(conversation_id, "go on")
    add_turn(daemon, conversation_id, turn_id)
    shown = ask("jobs", "show", turn_id).out
    assert text not in shown
    assert "chars total)" in shown
    assert "\x1b" not in shown
    assert ask("jobs", "logs", turn_id).out == f"> go on\n\n{text}!\n\n"


def test_the_answer_alone_is_what_a_pipe_gets(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "hi")
    add_turn(daemon, conversation_id, turn_id)
    none = ask("jobs", "logs", "-q", turn_id)
    assert (none.code, none.out) == (0, ""), "nothing is said yet"
    for attempt, text in ((1, "half"), (2, "whole\x1b[31m!")):
        daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=attempt)
        item = {"type": "assistant_message", "id": f"i{attempt}"}
        parts = [{"type": "text", "text": text}]
        fields = {"turn_id": turn_id, "completion": 1, "item": {**item, "parts": parts}}
        daemon.append(conversation_id, "item_added", **fields)
    assert ask("jobs", "logs", "-q", turn_id).out == "whole!\n"
    daemon.jobs.append(job("cccc", "completed"))
    title = ask("jobs", "logs", "-q", "cccc")
    assert title.code == 2
    assert "is no turn" in title.err


def test_the_answer_alone_is_waited_for(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "hi")
    add_turn(daemon, conversation_id, turn_id, state="running")
    follower = run("jobs", "logs", "-q", "-f", turn_id)
    until = time.monotonic() + LIMIT_S
    while not daemon.called("conversation/subscribe"):
        assert time.monotonic() < until
        time.sleep(0.01)
    daemon.say(conversation_id, "hi", turn_id=turn_id)
    assert follower.end() == (0, "You said: hi\n")


def test_what_another_attempt_replaced_is_not_what_was_said(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "hi")
    item = {"type": "assistant_message", "id": "i", "parts": [{"type": "text", "text": "half"}]}
    fields = {"turn_id": turn_id, "completion": 1, "item": item}
    daemon.append(conversation_id, "item_added", **fields, status="superseded")
    daemon.say(conversation_id, "hi", turn_id=turn_id)
    add_turn(daemon, conversation_id, turn_id)
    assert ask("jobs", "show", turn_id).out.endswith("\n\n> hi\n\nYou said: hi\n")


def test_a_running_turn_is_shown_so_far_and_followed_to_its_end(
    daemon: FakeDaemon, ask: Ask, run: Run
) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "now")
    add_turn(daemon, conversation_id, turn_id, state="running")
    daemon.hold.clear()
    reached = threading.Event()
    daemon.holding = reached.set
    turn = threading.Thread(
        target=daemon.say, args=(conversation_id, "now"), kwargs={"turn_id": turn_id}
    )
    turn.start()
    assert reached.wait(LIMIT_S)
    assert ask("jobs", "show", turn_id).out.endswith("\n\n> now\n\nYou said: \n")
    assert ask("jobs", "logs", turn_id).out == "> now\n\nYou said: \n"
    follower = run("jobs", "logs", "-f", turn_id)
    follower.wait_for("You said: ")
    daemon.hold.set()
    turn.join()
    code, out = follower.end()
    assert (code, out) == (0, "> now\n\nYou said: now\n\n")


def test_a_lost_connection_is_made_again(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "now")
    add_turn(daemon, conversation_id, turn_id, state="running")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    follower = run("jobs", "logs", "-f", turn_id)
    follower.wait_for("> now\n\n")
    for connection in list(daemon.connections):
        connection.shutdown(2)
    daemon.append(conversation_id, "turn_finished", turn_id=turn_id, outcome="failed", code=1)
    code, out = follower.end()
    assert (code, out) == (0, "> now\n\n* The turn failed.\n\n")


def test_only_a_turn_is_followed(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa", "running"), job("bbbb", "completed", kind="turn", turn_id="t")]
    other = ask("jobs", "logs", "-f", "aaaa")
    assert (other.code, other.err) == (2, "The job aaaa is no turn, and nothing is said in it.\n")
    gone = ask("jobs", "logs", "-f", "bbbb")
    assert (gone.code, gone.err) == (2, "The turn of the job bbbb cannot be read.\n")
    assert ask("jobs", "show", "bbbb").code == 0


def test_a_question_is_shown_with_how_to_answer_it(daemon: FakeDaemon, ask: Ask) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True))
    shown = ask("jobs", "show", turn_id).out
    assert "\n2. Reset - Clear the history and start fresh\n" in shown
    assert shown.endswith(f"\n\nAnswer it: ask jobs show {turn_id[:8]} --answer 1|2|3\n")


@pytest.mark.parametrize("said", ["2", "reset"])
def test_it_is_answered_by_number_or_word(daemon: FakeDaemon, ask: Ask, said: str) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True))
    result = ask("jobs", "show", turn_id, "--answer", said)
    assert result.code == 0
    assert result.err == "Answered: Reset - Clear the history and start fresh\n"
    (params,) = [params for method, params in daemon.calls if method == "question/answer"]
    assert (params["decision"], params["digest"], params["terminal"]) == ("reset", "d", "name:here")


def test_a_call_is_shown_whole_and_in_rows(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    detail = {**APPROVAL, "body": "true" + " " * 32 + "1. Yes" + "\n+\x1b[2J" * 50}
    turn_id = ask_question(daemon, daemon.create("work", live=True), "approval", **detail)
    shown = ask("jobs", "show", turn_id).out
    assert "\nRun: make test\n  | true" + " " * 32 + "1. Yes\n" in shown
    seen = Sight(columns=40, rows=5, coloured=True)
    monkeypatch.setattr(job_turns, "find_sight", lambda descriptor, environ: seen)
    shown = ask("jobs", "show", turn_id).out
    assert "\n  | true" + " " * 32 + "\n  | 1. Yes\n" in shown
    assert shown.count("  | +\\x1b[2J\n") == 50
    assert "\x1b" not in shown


def test_a_call_is_answered_with_a_reason(daemon: FakeDaemon, ask: Ask) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True), "approval", **APPROVAL)
    result = ask("jobs", "show", turn_id, "--answer", "n because it deletes")
    assert (result.code, result.err) == (0, "Answered: No\n")
    (params,) = [params for method, params in daemon.calls if method == "question/answer"]
    assert (params["decision"], params["reason"]) == ("no", "it deletes")
    assert ask("jobs", "show", turn_id, "--answer", "y but").code == 2


def answered(daemon: FakeDaemon) -> list[Map]:
    return [params for method, params in daemon.calls if method == "question/answer"]


FIELDS = {
    "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 3}},
    "required": ["name"],
}


def test_a_form_is_shown_with_how_to_fill_it_in(daemon: FakeDaemon, ask: Ask) -> None:
    form = {**FORM, "message": "Who\x1b[2J?", "schema": FIELDS}
    turn_id = ask_question(daemon, daemon.create("work", live=True), "elicitation", **form)
    shown = ask("jobs", "show", turn_id).out
    assert 'Asked by the server "here", in a call of here__ask:\n  | Who\\x1b[2J?\n' in shown
    assert "Field 2 of 2, may be left out:\n  | size\nA whole number [3]\n" in shown
    line = f"ask jobs show {turn_id[:8]} --answer accept --content NAME=VALUE (or decline, cancel)"
    assert shown.endswith(f"\n\nAnswer it: {line}\n")


@pytest.mark.parametrize(
    ("said", "content"),
    [
        (["name=Ada"], {"name": "Ada", "size": 3}),
        (["name=Ada", "size=4"], {"name": "Ada", "size": 4}),
        (['{"name": "Ada"}'], {"name": "Ada"}),
        ([], {"size": 3}),
    ],
)
def test_a_form_is_filled_in_by_words(
    daemon: FakeDaemon, ask: Ask, said: list[str], content: Map
) -> None:
    form = {**FORM, "schema": FIELDS}
    turn_id = ask_question(daemon, daemon.create("work", live=True), "elicitation", **form)
    words = [word for each in said for word in ("--content", each)]
    result = ask("jobs", "show", turn_id, "--answer", "accept", *words)
    assert result.err == "Answered: Send it\n"
    (params,) = answered(daemon)
    assert (params["decision"], params["content"]) == ("accept", content)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--answer", "accept", "--content", "nose=1"], "is no NAME=VALUE of a field"),
        (["--answer", "accept", "--content", "size=x"], "This is a whole number."),
        (["--answer", "accept", "--content", '{"name": '], "--content: "),
        (["--answer", "accept", "--content", '{"size": NaN}'], "--content: "),
        (["--answer", "accept", "--content", '{"size": 99999999999999999999}'], "too large"),
        (["--answer", "accept", "--content", '{"name": "\\ud800"}'], "--content: "),
        (["--answer", "accept", "--content", "name=\udcff"], "--content: "),
        (["--answer", "decline", "--content", "name=Ada"], "goes with --answer accept"),
        (["--content", "name=Ada"], "goes with --answer accept"),
        (["--answer", "4"], "is no choice"),
    ],
)
def test_what_cannot_be_content_is_refused_and_nothing_is_answered(
    daemon: FakeDaemon, ask: Ask, words: list[str], why: str
) -> None:
    form = {**FORM, "schema": FIELDS}
    turn_id = ask_question(daemon, daemon.create("work", live=True), "elicitation", **form)
    result = ask("jobs", "show", turn_id, *words)
    assert result.code == 2
    assert why in result.err
    assert answered(daemon) == []


def test_a_no_to_a_form_carries_nothing(daemon: FakeDaemon, ask: Ask) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True), "elicitation", **FORM)
    assert ask("jobs", "show", turn_id, "--answer", "decline").err == "Answered: Decline\n"
    (params,) = answered(daemon)
    assert params["decision"] == "decline"
    assert params.get("content") is None


def test_an_approval_takes_no_content(daemon: FakeDaemon, ask: Ask) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True), "approval", **APPROVAL)
    assert ask("jobs", "show", turn_id, "--answer", "yes", "--content", "a=b").code == 2
    assert answered(daemon) == []


@pytest.mark.parametrize("said", ["0", "4", "Reset", "", "two"])
def test_what_is_no_choice_is_refused_with_the_choices(
    daemon: FakeDaemon, ask: Ask, said: str
) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True))
    result = ask("jobs", "show", turn_id, "--answer", said)
    assert (result.code, result.out) == (2, "")
    assert "1 or compact, 2 or reset, 3 or continue" in result.err
    assert not any(method == "question/answer" for method, _ in daemon.calls)


def test_where_nothing_is_asked_nothing_is_answered(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.jobs = [job("aaaa", "running")]
    result = ask("jobs", "show", "aaaa", "--answer", "1")
    assert (result.code, result.err) == (2, "The job aaaa waits for no answer.\n")


def test_somebody_was_faster(daemon: FakeDaemon, ask: Ask) -> None:
    turn_id = ask_question(daemon, daemon.create("work", live=True))
    daemon.refusals["question/answer"] = Refusal("question_not_found", "No open question: id=q1.")
    result = ask("jobs", "show", turn_id, "--answer", "1")
    assert (result.code, result.out) == (3, "")
    assert "No open question" in result.err
