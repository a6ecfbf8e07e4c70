"""A turn as a program sees it: whole, once, with one end, however the connection fares."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pytest

import ask
from ask.library import link as link_module
from ask.library import turn as turn_module
from ask.library.begin import begin_turn
from ask.library.link import Link
from ask.library.prompts import draft_prompt
from ask.library.turn import Turn
from tests.client.library.plays import told
from tests.fakes.daemon import FakeDaemon, Refusal, Stage, answer

Map = dict[str, Any]


@pytest.fixture
def link(lone_home: Path) -> Iterator[Link]:
    """A link to whatever daemon listens."""
    opened = Link(os.environ, start=False)
    yield opened
    opened.close()


def begin(link: Link, prompt: str = "hi", **options: Unpack[ask.Options]) -> Turn:
    return begin_turn(link, draft_prompt(prompt, options, os.environ))


def run_out(turn: Turn) -> None:
    """Let its time be over: it was accepted in time, however busy this machine is."""
    assert turn._draft is not None
    assert turn._draft.deadline is not None
    turn._draft = replace(turn._draft, deadline=time.monotonic())


def names(events: list[ask.Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_events_come_in_order_and_the_last_is_the_end(lone_home: Path, link: Link) -> None:
    with FakeDaemon(lone_home, told(answer("one two", "one ", "two"))) as daemon:
        turn = begin(link, key="k")
        assert (turn.id, turn.key, turn.created, turn.finished) == ("turn-1", "k", True, None)
        events = list(turn)
    assert names(events) == ["Accepted", "Started", *["TextDelta"] * 2, "Message", "Finished"]
    assert (turn.text, turn.outcome) == ("one two", "completed")
    assert turn.finished is events[-1]
    assert list(turn) == [], "it is over"
    assert turn.result() == "one two", "and its answer is known"
    assert daemon.asked("turn/start")[0]["follow"] is True


def test_the_text_is_that_of_the_last_message(lone_home: Path, link: Link) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole("Let me look.")
        stage.item_id = "turn-1.2"
        stage.delta("It is ")
        stage.say_whole("It is blue.")
        stage.item_id = "turn-1.3"
        stage.say_whole("")
        usage = {"input_tokens": 1, "output_tokens": 2}
        stage.finish(usage=usage)

    with FakeDaemon(lone_home, told(play)):
        turn = begin(link)
        assert turn.usage is None
        assert turn.wait().code == 0
        assert turn.result() == "It is blue."
    assert turn.usage == ask.Usage(1, 2)


def test_after_a_person_has_steered_the_text_is_the_answer_to_that(
    lone_home: Path, link: Link
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("Red, ")
        stage.say_whole("Red, ", status="interrupted")
        stage.join(stage.accept_steering("turn-1.s", "No colours."), "turn-1.2")
        stage.say_whole("")
        stage.finish()

    with FakeDaemon(lone_home, told(play)):
        turn = begin(link)
        texts = [turn.text for event in turn if not isinstance(event, ask.Other)]
    assert "Red, " in texts
    assert turn.text == "", "nothing was said to it"


def test_what_others_do_there_is_not_told(lone_home: Path, link: Link) -> None:
    def play(stage: Stage) -> None:
        mine, item_id = stage.turn, stage.item_id
        stage.turn, stage.item_id = {**mine, "turn_id": "other"}, "other.1"
        stage.start()
        stage.delta("not mine")
        stage.finish()
        stage.turn, stage.item_id = mine, item_id
        stage.notify("compaction", {"conversation_id": mine["conversation_id"], **news})
        answer("mine")(stage)

    news = {"state": "started", "text": "Summarising."}
    with FakeDaemon(lone_home, told(play)):
        events = list(begin(link))
    assert names(events) == [
        *("Accepted", "Progress", "Started", "TextDelta", "Message", "Finished"),
    ]


def test_it_goes_on_where_the_connection_was_lost(lone_home: Path, link: Link) -> None:
    def break_off(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.drop()

    def go_on(stage: Stage) -> None:
        stage.delta("two")
        stage.say_whole("one two")
        stage.finish()

    with FakeDaemon(lone_home, told(break_off), go_on) as daemon:
        turn = begin(link, model="p/m")
        events = list(turn)
    pieces = [event.text for event in events if isinstance(event, ask.TextDelta)]
    assert "".join(pieces) == "one two"
    assert names(events).count("Started") == 1
    first, again = daemon.asked("turn/start")
    assert first == again
    assert daemon.asked("conversation/subscribe")[0]["after_seq"] == 3, "nothing twice"


def test_what_comes_after_a_gap_is_read_again(lone_home: Path, link: Link) -> None:
    def leave_out(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.daemon.live[stage.turn["conversation_id"]][(stage.item_id, "text")] = "one two "
        stage.notify("gap", {"conversation_id": stage.turn["conversation_id"]})

    def go_on(stage: Stage) -> None:
        stage.delta("three")
        stage.say_whole("one two three")
        stage.finish()

    with FakeDaemon(lone_home, told(leave_out), go_on):
        assert begin(link).result() == "one two three"


def test_a_daemon_that_stays_away_is_said_and_can_be_waited_for(
    lone_home: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.drop()

    with FakeDaemon(lone_home, told(break_off)) as daemon:
        turn = begin(link)
        for event in turn:
            if isinstance(event, ask.TextDelta):
                break
    with monkeypatch.context() as impatient:
        impatient.setattr(link_module, "RECONNECT_LIMIT_S", 0.0)
        with pytest.raises(ask.NoDaemon) as caught:
            turn.wait()
    error = caught.value
    assert (error.turn_id, error.conversation_id) == (turn.id, turn.conversation_id)
    assert error.text == "one "
    log, turns = daemon.events, daemon._turns
    with FakeDaemon(lone_home, lambda stage: stage.finish()) as daemon:
        daemon.events, daemon._turns = log, turns
        assert turn.wait().code == 0
    assert len(daemon.asked("turn/start")) == 1, "the key is repeated: it may need our secrets"


def test_what_is_in_memory_only_is_gone_with_the_daemon(lone_home: Path, link: Link) -> None:
    def end(stage: Stage) -> None:
        stage.daemon.events.clear()
        stage.drop()

    with FakeDaemon(lone_home, told(end)) as daemon:
        turn = begin(link, ephemeral=True)
        with pytest.raises(ask.ConnectionLost, match="ephemeral"):
            turn.wait()
    assert len(daemon.asked("turn/start")) == 1, "it is not asked in another one"


# ---- how it ends -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "code", "kind"),
    [
        ("failed", 1, ask.TurnFailed),
        ("failed", 5, ask.RateLimited),
        ("failed", 7, ask.Overflow),
        ("completed", 9, ask.AnswerCut),
        ("interrupted", 1, ask.TurnFailed),
        ("failed", 124, ask.TimeLimit),
    ],
)
def test_a_bad_end_is_an_error_with_its_code(
    lone_home: Path, link: Link, outcome: str, code: int, kind: type[ask.Error]
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("so far")
        stage.finish(outcome, code, reason="why")

    with FakeDaemon(lone_home, told(play)):
        turn = begin(link)
        assert turn.wait().outcome == outcome, "reading it raises nothing"
        with pytest.raises(ask.Error) as caught:
            turn.result()
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.reason, caught.value.text) == (code, "why", "so far")
    assert caught.value.turn_id == turn.id


def test_a_turn_that_could_not_be_stored(lone_home: Path, link: Link) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("said")
        unsaved = {"outcome": "completed", "code": 74, "reason": "disk full"}
        stage.notify("turn_unsaved", {**stage.turn, **unsaved})

    with FakeDaemon(lone_home, told(play)):
        turn = begin(link)
        with pytest.raises(ask.StorageFailed, match="disk full") as caught:
            turn.result()
    assert caught.value.text == turn.text == "said"


def test_who_interrupts_it_hears_so(lone_home: Path, link: Link) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.wait_for("turn/interrupt")
        stage.finish("interrupted", 1)

    with FakeDaemon(lone_home, told(play)) as daemon:
        turn = begin(link)
        for event in turn:
            if isinstance(event, ask.TextDelta):
                turn.interrupt()
        with pytest.raises(ask.Interrupted):
            turn.result()
    assert turn.finished is not None
    assert (turn.finished.code, turn.outcome) == (130, "interrupted")
    turn.interrupt()  # there is nothing left to stop
    reference = {"conversation_id": turn.conversation_id, "turn_id": turn.id}
    assert daemon.asked("turn/interrupt") == [reference]


def test_an_interruption_outlives_the_connection(lone_home: Path, link: Link) -> None:
    def drop(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.drop()

    with FakeDaemon(lone_home, told(drop), lambda stage: stage.finish("withdrawn", 1)) as daemon:
        turn = begin(link)
        next(turn)
        turn.interrupt()
        assert turn.wait().code == 130
    assert len(daemon.asked("turn/interrupt")) == 2


def test_the_time_is_over(lone_home: Path, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.finish("withdrawn", 1)

    with FakeDaemon(lone_home, told(play)):
        turn = begin(link, timeout_s=60)
        run_out(turn)
        with pytest.raises(ask.TimeLimit):
            turn.result()

    def wait(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")

    monkeypatch.setattr(turn_module, "STOP_LIMIT_S", 0.01)
    with FakeDaemon(lone_home, told(wait)):
        turn = begin(link, timeout_s=60)
        run_out(turn)
        with pytest.raises(ask.TimeLimit, match="has not ended"):
            turn.result()
        turn.close()


def test_a_running_turn_is_left_to_the_daemon_first(
    lone_home: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep_limit(stage: Stage) -> None:
        stage.start()
        stage.finish("interrupted", 124)

    def forget_limit(stage: Stage) -> None:
        stage.start()
        stage.wait_for("turn/interrupt")
        stage.finish("interrupted", 1)

    for play, spare_s, asked in ((keep_limit, 60.0, 0), (forget_limit, 0.05, 1)):
        monkeypatch.setattr(turn_module, "STOP_AFTER_S", spare_s)
        with FakeDaemon(lone_home, told(play)) as daemon:
            turn = begin(link, timeout_s=60)
            assert any(isinstance(event, ask.Started) for event in turn)
            run_out(turn)
            assert turn.wait().code == 124
        assert len(daemon.asked("turn/interrupt")) == asked


# ---- values of JSON ----------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"age": 3}', '```json\n{"age": 3}\n```'])
def test_an_answer_of_a_schema_is_a_value(lone_home: Path, link: Link, text: str) -> None:
    with FakeDaemon(lone_home, told(answer(text))):
        assert begin(link, schema="age int").json() == {"age": 3}


def test_an_answer_that_is_no_json_is_an_error(lone_home: Path, link: Link) -> None:
    with FakeDaemon(lone_home, told(answer("three"))), pytest.raises(ask.TurnFailed) as caught:
        begin(link).json()
    assert (caught.value.reason, caught.value.text) == ("schema_mismatch", "three")


# ---- questions ---------------------------------------------------------------------


def ask_something(stage: Stage) -> None:
    stage.start()
    choices = [{"decision": "yes", "label": "Yes"}, {"decision": "no", "label": "No"}]
    detail = {"text": "May it?", "choices": choices}
    asked = {"question_id": "q", "kind": "approval", "digest": "d", "expires_at": 9.0}
    stage.event("question_asked", **asked, detail=detail)


def test_a_question_is_decided_by_who_asked(lone_home: Path, link: Link) -> None:
    seen: list[ask.Question] = []

    def decide(question: ask.Question) -> str:
        seen.append(question)
        return question.choices[1].decision

    def end(stage: Stage) -> None:
        ask_something(stage)
        stage.finish()

    with FakeDaemon(lone_home, told(end)) as daemon:
        turn = begin(link, approve="ask", on_question=decide)
        assert turn.wait().code == 0
        link.close()
    assert [question.text for question in seen] == ["May it?"]
    (answered,) = daemon.asked("question/answer")
    assert (answered["decision"], answered["digest"]) == ("no", "d")
    assert daemon.asked("turn/start")[0]["interactive"] is True


def test_a_question_may_be_left_open_or_be_answered_elsewhere(lone_home: Path, link: Link) -> None:
    def end(stage: Stage) -> None:
        ask_something(stage)
        stage.finish()

    late = Refusal(3, "question_not_found", "No open question.")
    with FakeDaemon(lone_home, told(end), told(end), refuse={"question/answer": [late]}) as daemon:
        assert begin(link, on_question=lambda question: None).wait().code == 0
        assert daemon.asked("question/answer") == []
        assert begin(link, on_question=lambda question: "yes").wait().code == 0
        link.close()


# ---- leaving -----------------------------------------------------------------------


def hold(stage: Stage) -> None:
    stage.start()
    stage.delta("one ")


def test_ctrl_c_interrupts_and_nothing_else_does(lone_home: Path, link: Link) -> None:
    with FakeDaemon(lone_home, told(hold), told(hold), told(hold)) as daemon:
        with begin(link) as turn:
            next(turn)
        with pytest.raises(ZeroDivisionError), begin(link) as turn:
            raise ZeroDivisionError
        assert daemon.asked("turn/interrupt") == []
        with pytest.raises(KeyboardInterrupt), begin(link) as turn:
            raise KeyboardInterrupt
        assert [each["turn_id"] for each in daemon.asked("turn/interrupt")] == [turn.id]


def test_a_turn_that_is_left_alone_leaves_no_connection(lone_home: Path, link: Link) -> None:
    with FakeDaemon(lone_home, told(hold)):  # which waits for its clients to leave
        for event in begin(link):
            if isinstance(event, ask.TextDelta):
                break


def test_it_is_read_in_the_thread_that_began_it(lone_home: Path, link: Link) -> None:
    with FakeDaemon(lone_home, told(hold)):
        turn = begin(link)
        link.close()
        with pytest.raises(ask.UsageError, match="closed"):
            next(turn)
        turn.close()
