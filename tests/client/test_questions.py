"""Questions at a terminal: the words, what counts as an answer, and who was first."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.approve import Sight
from ask.connection import ConnectionLost, RpcError
from ask.exits import Failed
from ask.questions import (
    Answer,
    Asker,
    lay_out_question,
    read_answer,
    read_choice,
    read_question,
)
from ask.terminal import tell_where

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
    asker.take({**answered(decision="expired"), "by": "expiry"})
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
        ("at:box:tty:/dev/pts/3:1234:567", " (on box, in /dev/pts/3)"),
        ("at:box:tmux:/tmp/tmux-0/default,17:%4", " (on box, in the tmux pane %4)"),
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


# ---- approvals ---------------------------------------------------------------------


APPROVAL: dict[str, Any] = {
    "text": "Run: make test\n\nmake test",
    "title": "Run: make test",
    "body": "make test\nand more",
    "choices": [
        {"decision": "yes", "label": "Yes"},
        {"decision": "always", "label": "Always in this conversation: make"},
        {"decision": "no", "label": "No"},
    ],
}
ALLOW = "Allow it? (1-3 or y/a/n; n REASON tells why) "


def asked_to_allow(question_id: str = "q1", **detail: Any) -> dict[str, Any]:
    return {
        **asked(question_id),
        "kind": "approval",
        "detail": {**APPROVAL, **detail},
    }


def test_an_approval_as_it_is_shown() -> None:
    desk, asker = seat(asked_to_allow())
    asker.show()
    assert desk.take() == (
        "Run: make test\n  | make test\n  | and more\n\n"
        "1. Yes\n2. Always in this conversation: make\n3. No\n\n" + ALLOW
    )


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1", Answer("yes")),
        (" y ", Answer("yes")),
        ("Yes", Answer("yes")),
        ("y.", Answer("yes")),
        ("a", Answer("always")),
        ("always", Answer("always")),
        ("3", Answer("no")),
        ("N", Answer("no")),
        ("no", Answer("no")),
        ("n because it deletes", Answer("no", "it deletes")),
        ("3 because it deletes", Answer("no", "it deletes")),
        ("no, it deletes  too much ", Answer("no", "it deletes  too much")),
        ("n: Because, really", Answer("no", "really")),
        ("n because", Answer("no")),
        ("n \x1b[A up", Answer("no", "up")),
        ("", None),
        ("y but not now", None),
        ("1 2", None),
        ("yesterday", None),
        ("nope", None),
        ("4 because", None),
        ("² because", None),
        ("m", None),
    ],
)
def test_an_approval_is_answered_by_number_letter_or_word(line: str, answer: Answer | None) -> None:
    question = read_question(asked_to_allow())
    assert question is not None
    assert read_answer(question, line) == answer


def test_a_reason_goes_with_the_no() -> None:
    desk, asker = seat(asked_to_allow())
    asker.show()
    asker.answer("n because it deletes", desk.send)
    assert (desk.sent[0]["decision"], desk.sent[0]["reason"]) == ("no", "it deletes")


def test_a_reason_that_is_too_long_is_asked_for_again() -> None:
    desk, asker = seat(asked_to_allow())
    asker.show()
    desk.take()
    desk.refusal = RpcError(2, "A reason has 1,000 characters at most.", {"reason": "bad_params"})
    asker.answer("n " + "x" * 1001, desk.send)
    assert desk.take() == f"A reason has 1,000 characters at most.\n{ALLOW}"


def test_letters_are_no_answer_to_another_question() -> None:
    question = read_question(asked())
    assert question is not None
    assert read_answer(question, "2") == Answer("reset")
    for line in ("r", "reset", "2 because"):
        assert read_answer(question, line) is None


def test_without_always_there_are_two_ways() -> None:
    yes, _, no = APPROVAL["choices"]
    question = read_question(asked_to_allow(choices=[yes, no]))
    assert question is not None
    assert question.prompt == "Allow it? (1-2 or y/n; n REASON tells why)"
    assert read_answer(question, "2 because so") == Answer("no", "so")
    assert read_answer(question, "a") is None


def test_all_of_it_is_shown_on_request() -> None:
    desk, asker = seat(asked_to_allow(body="\n".join(map(str, range(9)))))
    asker.look = lambda: Sight(40, 2)
    asker.show()
    assert "  | 1\n  ... 7 more lines: m shows it\n" in desk.take()
    asker.answer("m", desk.send)
    shown = desk.take()
    assert "  | 8\n\n1. Yes" in shown
    assert shown.endswith(ALLOW)
    assert desk.sent == []


def test_who_only_watches_is_told_where_all_of_it_is() -> None:
    desk, asker = seat(asked_to_allow(), can_answer=False)
    asker.look = lambda: Sight(40, 1)
    asker.show()
    assert "  ... 1 more line: ask attach, then m\n" in desk.shown


def test_several_are_asked_one_after_the_other() -> None:
    desk, asker = seat(*(asked_to_allow(each, title=f"Run: {each}") for each in ("q1", "q2")))
    asker.show()
    assert "Run: q1" in desk.take()
    asker.answer("y", desk.send)
    asker.take(answered("q1", "yes"))
    asker.show()
    assert "Run: q2" in desk.take()
    asker.answer("n", desk.send)
    assert [(each["question_id"], each["decision"]) for each in desk.sent] == [
        *(("q1", "yes"), ("q2", "no")),
    ]


def test_a_reason_that_was_given_elsewhere_is_told_in_one_safe_line() -> None:
    desk, asker = seat(asked_to_allow())
    asker.show()
    desk.take()
    reason = "it\x1b]52;c;eA==\x07 deletes\n1. Yes"
    asker.take({**answered(decision="no"), "by": "tmux:/tmp/t,1:%3", "reason": reason})
    assert desk.take() == (
        "\nAnswered elsewhere: No (in the tmux pane %3): it\\x1b]52;c;eA==\\x07 deletes 1. Yes\n"
    )


def test_labels_keep_to_their_lines() -> None:
    choices = [{"decision": "yes", "label": "Yes\n2. No\x1b[2J" + "x" * 99}]
    desk, asker = seat(asked_to_allow(choices=choices))
    asker.look = lambda: Sight(40, 9)
    asker.show()
    rows = ["1. Yes 2. No\\x1b[2J" + "x" * 21, "   " + "x" * 37, "   " + "x" * 37, "   xxxx"]
    assert "\n" + "\n".join(rows) + "\n\n" in desk.shown


def test_what_always_would_allow_is_never_cut() -> None:
    choices = [{"decision": "always", "label": "Always in this conversation: make test"}]
    desk, asker = seat(asked_to_allow(choices=choices))
    asker.look = lambda: Sight(40, 9)
    asker.show()
    assert "\n1. Always in this conversation: make\n   test\n\n" in desk.shown


def test_what_its_turn_still_says_stands_on_a_line_of_its_own() -> None:
    """Stopped while it asks: its calls get their outputs before the turn ends."""
    desk, asker = seat(asked_to_allow())
    asker.show()
    desk.take()
    asker.take({"type": "item_added", "turn_id": "t", "item": {"type": "tool_output"}})
    assert desk.take() == "\n"
    asker.take({"type": "turn_finished", "turn_id": "t"})
    asker.take({"type": "item_added", "turn_id": "u", "item": {"type": "user_message"}})
    assert desk.take() == ""


# ---- what a server wants to know ---------------------------------------------------------

FORM: dict[str, Any] = {
    "text": "The server 'here' asks.",
    "server": "here",
    "tool": "here__ask",
    "message": "Who are you?",
    "choices": [
        {"decision": "accept", "label": "Send it"},
        {"decision": "decline", "label": "Decline"},
        {"decision": "cancel", "label": "Cancel"},
    ],
    "schema": {"properties": {"name": {"type": "string"}}, "required": ["name"]},
}
SEND = "Send it? (1-3 or y/d/c) "


def wanted(**detail: Any) -> dict[str, Any]:
    event = {**asked(), "kind": "elicitation"}
    return {**event, "detail": {**FORM, **detail}}


def test_a_form_is_asked_for_field_by_field_and_sent_once() -> None:
    desk, asker = seat(wanted())
    asker.show()
    shown = desk.take()
    assert shown.startswith(
        'Asked by the server "here", in a call of here__ask:\n  | Who are you?\n'
    )
    assert shown.endswith("\n\nField 1 of 1, required:\n  | name\nA text: ")
    asker.answer("", desk.send)
    assert desk.take().startswith("This is required.\nField 1 of 1")
    asker.answer("Ada", desk.send)
    assert desk.take().endswith(SEND)
    assert desk.sent == []
    asker.answer("what?", desk.send)
    assert desk.take().endswith(SEND)
    asker.answer("y", desk.send)
    (params,) = desk.sent
    assert (params["decision"], params["content"]) == ("accept", {"name": "Ada"})
    asker.take(answered(decision="accept"))
    assert desk.take() == ""
    assert not asker.waits


def test_a_no_carries_nothing_of_what_was_filled_in() -> None:
    desk, asker = seat(wanted())
    asker.show()
    asker.answer("Ada", desk.send)
    asker.answer("d", desk.send)
    (params,) = desk.sent
    assert params["decision"] == "decline"
    assert "content" not in params


def test_a_field_that_the_daemon_refuses_is_asked_for_again_alone() -> None:
    fields = {"name": {"type": "string"}, "mail": {"type": "string", "format": "email"}}
    desk, asker = seat(wanted(schema={"properties": fields, "required": []}))
    asker.show()
    asker.answer("Ada", desk.send)
    asker.answer("no@where@all", desk.send)
    desk.refusal = RpcError(2, "no", {"reason": "bad_params", "fields": {"mail": "No\nmail."}})
    asker.answer("y", desk.send)
    assert '"mail": No mail.\nField 2 of 2' in desk.take()
    desk.refusal = None
    asker.answer("a@b", desk.send)
    asker.answer("y", desk.send)
    assert desk.sent[-1]["content"] == {"name": "Ada", "mail": "a@b"}


def test_where_nobody_can_answer_all_of_a_form_is_shown() -> None:
    desk, asker = seat(wanted(), can_answer=False)
    asker.show()
    shown = desk.take()
    assert "Field 1 of 1, required:\n  | name\nA text\n" in shown
    assert shown.endswith("1. Send it\n2. Decline\n3. Cancel\n\n")


def test_a_wish_without_fields_is_a_choice() -> None:
    desk, asker = seat(wanted(schema=None))
    asker.show()
    assert desk.take().endswith("3. Cancel\n\nAnswer? (1-3 or y/d/c) ")
    asker.answer("yes", desk.send)
    (params,) = desk.sent
    assert params["decision"] == "accept"
    assert "content" not in params


def test_all_of_a_long_message_is_shown_when_it_is_asked_for() -> None:
    desk = Desk()
    asker = Asker(desk.write, look=lambda: Sight(columns=40, rows=6))
    asker.take(wanted(message="\n".join(f"line {n}" for n in range(20))))
    asker.show()
    assert "... 14 more rows: /more shows it" in desk.take()
    asker.answer("/more", desk.send)
    shown = desk.take()
    assert "  | line 19\n" in shown
    assert shown.endswith("A text: ")


def test_a_form_that_is_answered_elsewhere_or_whose_call_ends_is_dropped() -> None:
    for by, said in (
        ("name:there", "Answered elsewhere: Send it (in there)"),
        ("closed", "Not asked any more: the call that asked has ended."),
    ):
        desk, asker = seat(wanted(), {**wanted(), "question_id": "q2"})
        asker.show()
        asker.answer("Ada", desk.send)
        desk.take()
        asker.take({**answered(decision="accept"), "by": by})
        assert desk.take() == f"\n{said}\n"
        asker.show()
        assert "Field 1 of 1" in desk.take(), "the next one begins anew"
