"""Questions: what is shown is what is signed, and an answer is found by what it was about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.conversation import TurnRecord, fold
from askd.core.events import (
    Body,
    Event,
    PromptAccepted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import Text, UserMessage
from askd.core.questions import (
    CLOSED,
    Choice,
    QuestionKind,
    close_elicitations,
    describe_question,
    digest_question,
    find_all_open,
    find_answer,
    find_choices,
    find_number,
    find_open,
    find_parking,
    find_question,
)

TWO = [Choice("compact", "Compact - Summarize"), Choice("reset", "Reset - Clear")]


def asked(number: int, subject: str, kind: QuestionKind = "overflow") -> QuestionAsked:
    detail = describe_question(subject, "Which?", TWO, {"tokens": 9})
    return QuestionAsked("t", f"q{number}", kind, digest_question(kind, detail), detail, 9e9)


def answered(number: int, decision: str = "reset") -> QuestionAnswered:
    return QuestionAnswered("t", f"q{number}", "somebody", decision)


def record_of(*bodies: Body) -> TurnRecord:
    accepted = PromptAccepted("t", "k", (UserMessage("t.0", (Text("hi"),)),))
    whole = [accepted, TurnStarted("t", 1), *bodies]
    events = [Event("c", seq, 1.0 * seq, body) for seq, body in enumerate(whole, 1)]
    return fold("c", events).turns["t"]


def test_what_is_shown_is_described_in_its_order() -> None:
    question = asked(1, "t.1")
    assert question.detail == {
        "subject": "t.1",
        "text": "Which?",
        "tokens": 9,
        "choices": [
            {"decision": "compact", "label": "Compact - Summarize"},
            {"decision": "reset", "label": "Reset - Clear"},
        ],
    }
    assert find_choices(question) == ["compact", "reset"]


def test_facts_for_programs_cannot_take_the_place_of_what_is_shown() -> None:
    detail = describe_question("t.1", "Which?", TWO, {"text": "Other", "subject": "x"})
    assert (detail["text"], detail["subject"]) == ("Which?", "t.1")


@pytest.mark.parametrize("choices", [None, "yes", [1, {"label": "x"}, {"decision": 3}]])
def test_what_is_no_list_of_choices_leaves_the_answer_free(choices: object) -> None:
    assert find_choices(QuestionAsked("t", "q", "approval", "d", {"choices": choices}, 1.0)) == []


@given(st.dictionaries(st.text(), st.text() | st.integers(), max_size=4), st.text(min_size=1))
def test_a_digest_changes_with_what_is_shown_and_with_nothing_else(
    more: dict[str, object], text: str
) -> None:
    detail = describe_question("t.1", "Which?", TWO, more)
    again = describe_question("t.1", "Which?", TWO, dict(reversed(more.items())))
    assert digest_question("overflow", detail) == digest_question("overflow", again)
    other = describe_question("t.1", f"Which?{text}", TWO, more)
    assert digest_question("overflow", detail) != digest_question("overflow", other)
    assert digest_question("overflow", detail) != digest_question("approval", detail)


def test_an_answer_is_found_by_kind_and_subject() -> None:
    record = record_of(asked(1, "t.1"), answered(1, "compact"), asked(2, "t.2"))
    found = find_answer(record, "overflow", "t.1")
    assert found is not None
    assert found.decision == "compact"
    assert find_answer(record, "approval", "t.1") is None
    assert find_answer(record, "overflow", "t.2") is None
    assert find_question(record, "overflow", "t.2") is not None
    assert find_question(record, "overflow", "t.3") is None


def test_the_last_question_about_a_subject_counts() -> None:
    record = record_of(asked(1, "t.1"), answered(1), asked(2, "t.1"), answered(2, "compact"))
    found = find_answer(record, "overflow", "t.1")
    assert found is not None
    assert found.decision == "compact"


def test_the_first_answer_counts() -> None:
    record = record_of(asked(1, "t.1"), answered(1, "reset"), answered(1, "compact"))
    found = find_answer(record, "overflow", "t.1")
    assert found is not None
    assert found.decision == "reset"


def test_a_turn_waits_for_all_its_unanswered_questions_the_first_one_first() -> None:
    one, two, three = asked(1, "t.1"), asked(2, "t.2"), asked(3, "t.3")
    assert find_open(record_of()) is None
    assert find_open(record_of(one)) == one
    assert find_open(record_of(one, two)) == one
    assert find_open(record_of(one, two, answered(1))) == two
    assert find_open(record_of(one, answered(1))) is None
    assert find_all_open(record_of(one, two, three, answered(2))) == [one, three]
    assert find_all_open(record_of(one, two, TurnFinished("t", "failed", 1))) == []


def test_an_elicitation_is_open_and_parks_nothing() -> None:
    parking, eliciting = asked(1, "t.1", "approval"), asked(2, "t.1.1", "elicitation")
    record = record_of(parking, eliciting)
    assert find_all_open(record) == [parking, eliciting]
    assert find_parking(record) == [parking]
    assert find_parking(record_of(eliciting)) == []
    (closing,) = close_elicitations(record)
    assert closing == QuestionAnswered("t", "q2", CLOSED, "cancel")
    assert close_elicitations(record_of(parking, eliciting, closing)) == []
    assert close_elicitations(record_of(eliciting, TurnFinished("t", "failed", 1))) == []


def test_questions_of_a_turn_are_numbered_whatever_became_of_them() -> None:
    assert find_number(record_of()) == 1
    assert find_number(record_of(asked(1, "t.1"), answered(1), asked(2, "t.2"))) == 3
