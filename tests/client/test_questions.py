"""Questions at a terminal: the words, what counts as an answer, and who was first."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.connection import ConnectionLost, RpcError
from ask.exits import Failed
from ask.questions import Asker, lay_out_question, read_choice, read_question, tell_where

DETAIL: dict[str, Any] = {
    "text": "⚠️  Your conversation history is getting too large.\nChoose how you'd like to proceed:",
    "prompt": "Enter your choice (1-3):",
    "choices": [
        {"decision": "compact", "label": "Compact - Summarize the history and continue"},
        {"decision": "reset", "label": "Reset - Clear the history and start fresh"},
        {
            "decision": "continue",
            "label": "Continue - Keep the history as is (may cause issues)",
        },
    ],
}
SHOWN = """\
⚠️  Your conversation history is getting too large.
Choose how you'd like to proceed:

1. Compact - Summarize the history and continue
2. Reset - Clear the history and start fresh
3. Continue - Keep the history as is (may cause issues)

"""
PROMPT = "Enter your choice (1-3): "


def asked(question_id: str = "q1", turn_id: str = "t", **detail: Any) -> dict[str, Any]:
    return {
        "type": "question_asked",
        "conversation_id": "c" * 36,
        "turn_id": turn_id,
        "question_id": question_id,
        "kind": "overflow",
        "digest": f"digest of {question_id}",
        "detail": {**DETAIL, **detail},
    }


def answered(question_id: str = "q1", decision: str = "reset") -> dict[str, Any]:
    return {
        "type": "question_answered",
        "turn_id": "t",
        "question_id": question_id,
        "decision": decision,
    }


@dataclass
class Desk:
    """An asker whose words and whose answers are kept."""

    shown: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)
    refusal: Failed | None = None

    def write(self, text: str) -> None:
        self.shown += text

    def send(self, params: dict[str, Any]) -> None:
        self.sent.append(params)
        if self.refusal is not None:
            raise self.refusal

    def take(self) -> str:
        shown, self.shown = self.shown, ""
        return shown


def seat(*events: dict[str, Any], can_answer: bool = True) -> tuple[Desk, Asker]:
    desk = Desk()
    asker = Asker(desk.write, can_answer=can_answer)
    for event in events:
        asker.take(event)
    return desk, asker


def test_it_is_shown_word_for_word_and_once() -> None:
    desk, asker = seat(asked())
    asker.show()
    assert desk.take() == SHOWN + PROMPT
    assert not asker.is_due
    asker.show()
    assert desk.take() == ""
    assert asker.waits


def test_the_number_of_a_choice_is_the_answer() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    asker.answer(" 2 ", desk.send)
    assert desk.sent == [
        {
            "conversation_id": "c" * 36,
            "question_id": "q1",
            "digest": "digest of q1",
            "decision": "reset",
        }
    ]
    asker.take(answered())
    assert desk.take() == ""  # whoever chose knows it
    assert not asker.waits


@pytest.mark.parametrize("line", ["", "4", "0", "-1", "two", "1.", "compact", "１", "²", "11111"])
def test_other_input_asks_again(line: str) -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    asker.answer(line, desk.send)
    assert desk.sent == []
    assert desk.take() == PROMPT
    assert asker.waits


def test_what_was_answered_elsewhere_is_said_on_a_line_of_its_own() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    asker.take(answered(decision="compact"))
    assert desk.take() == ("\nAnswered elsewhere: Compact - Summarize the history and continue\n")
    assert not asker.waits
    asker.answer("1", desk.send)
    assert desk.sent == []


def test_who_was_slower_hears_what_was_decided() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    desk.refusal = RpcError(3, "No open question.", {"reason": "question_not_found"})
    asker.answer("1", desk.send)
    asker.take(answered(decision="reset"))
    assert desk.take() == "Answered elsewhere: Reset - Clear the history and start fresh\n"


def test_an_answer_that_could_not_be_stored_is_asked_for_again() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    desk.refusal = RpcError(74, "The disk is full.", {"reason": "storage_failed"})
    asker.answer("1", desk.send)
    assert desk.take() == f"The disk is full.\n{PROMPT}"
    desk.refusal = None
    asker.answer("3", desk.send)
    assert [each["decision"] for each in desk.sent] == ["compact", "continue"]


def test_an_answer_that_met_no_daemon_is_asked_for_anew() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    desk.refusal = ConnectionLost()
    with pytest.raises(ConnectionLost):
        asker.answer("1", desk.send)
    assert (asker.is_due, asker.waits) == (True, False)
    asker.take(answered())  # it had come in all the same: nobody is asked
    assert not asker.is_due
    assert desk.take() == ""


def test_nobody_is_asked_what_was_answered_already() -> None:
    desk, asker = seat(asked(), answered())
    assert not asker.is_due
    asker.show()
    assert desk.shown == ""


def test_nobody_in_time() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    asker.take(answered(decision="expired"))
    assert desk.take() == "\nNobody answered in time.\n"


def test_a_turn_that_ends_takes_its_question_with_it() -> None:
    desk, asker = seat(asked(), asked("q2", "other"))
    asker.show()
    desk.take()
    asker.take({"type": "turn_finished", "turn_id": "t"})
    assert desk.take() == "\n"
    assert not asker.waits
    assert asker.is_due  # the next one
    asker.show()
    assert asker.waits


def test_the_end_of_the_input_is_no_answer() -> None:
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    asker.give_up()
    assert desk.take() == (
        "\nNo answer; the question stays open for other terminals: ask attach cccccccc\n"
    )
    assert not asker.waits
    asker.take(answered(decision="reset"))
    assert desk.take() == "Answered elsewhere: Reset - Clear the history and start fresh\n"


def test_who_only_watches_sees_it_without_being_asked() -> None:
    desk, asker = seat(asked(), can_answer=False)
    asker.show()
    assert desk.take() == SHOWN
    assert not asker.waits


def test_control_sequences_are_taken_out() -> None:
    desk, asker = seat(asked(text="\x1b[2Jtool \x1b]0;x\x07", prompt="\x1b[31mWhich?"))
    asker.show()
    assert "\x1b" not in desk.shown
    assert "\x07" not in desk.shown


@pytest.mark.parametrize(
    "detail", [None, "x", {}, {"choices": []}, {"choices": ["x"]}, {"choices": [{"label": "x"}]}]
)
def test_what_has_no_choices_is_not_asked(detail: Any) -> None:
    assert read_question({**asked(), "detail": detail}) is None


def test_a_question_without_words_of_its_own() -> None:
    question = read_question({**asked(), "detail": {"choices": [{"decision": "a"}]}})
    assert question is not None
    assert question.prompt == "Enter your choice (1-1):"
    assert lay_out_question(question) == "\n\n1. a\n\n"


@given(st.text(max_size=6))
def test_only_numbers_of_choices_are_decisions(line: str) -> None:
    question = read_question(asked())
    assert question is not None
    decision = read_choice(question, line)
    expected = {"1": "compact", "2": "reset", "3": "continue"}
    assert decision == expected.get(line.strip().lstrip("0") if line.strip().isascii() else "")


@pytest.mark.parametrize(
    ("by", "where"),
    [
        ("tty:/dev/pts/3:1234:567", " (in /dev/pts/3)"),
        ("tmux:/tmp/tmux-0/default,17:%4", " (in the tmux pane %4)"),
        ("name:left screen", " (in left screen)"),
        ("expiry", ""),
        ("ask", ""),
        ("", ""),
    ],
)
def test_where_it_was_answered_is_said_as_people_call_it(by: str, where: str) -> None:
    assert tell_where(by) == where
    desk, asker = seat(asked())
    asker.show()
    desk.take()
    asker.take({**answered(), "by": by})
    said = "Answered elsewhere: Reset - Clear the history and start fresh"
    assert desk.take() == f"\n{said}{where}\n"


def test_an_answer_says_which_terminal_it_comes_from() -> None:
    desk, asker = seat(asked())
    asker.terminal = "tty:/dev/pts/9:1:2"
    asker.show()
    asker.answer("1", desk.send)
    assert desk.sent[0]["terminal"] == "tty:/dev/pts/9:1:2"
