"""Grants: what was answered with "always" counts from then on, and nothing else does."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from askd.core.approval import Grant
from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    Event,
    PromptAccepted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
)
from askd.core.grants import decode_grant, encode_grant, find_covered, find_grants
from askd.core.items import Text, UserMessage
from askd.core.questions import QuestionKind
from tests.core.values import JSON, make

PUSH = Grant(tool="run_command", cwd="/w", only="git push", label="git push")
WRITE = Grant(tool="write_file", cwd="/w", label="writing files here")


def asked(
    id: str, detail: Mapping[str, Any], kind: QuestionKind = "approval", turn: str = "t"
) -> QuestionAsked:
    return QuestionAsked(turn, id, kind, "0" * 64, detail, 9e9)


def talk(*bodies: Body) -> Conversation:
    start: list[Body] = []
    for turn in ("t", "u"):
        said = UserMessage(f"{turn}.user", (Text("Go."),))
        start += [PromptAccepted(turn, "k", (said,)), TurnStarted(turn, 1)]
    return fold("c", [Event("c", seq, 1.0, body) for seq, body in enumerate([*start, *bodies], 1)])


def test_that_always_grants_what_its_question_offered() -> None:
    found = find_grants(
        talk(
            asked("q1", {"grant": encode_grant(PUSH)}),
            QuestionAnswered("t", "q1", "somebody", "always"),
            asked("q2", {"grant": encode_grant(WRITE)}, turn="u"),
            QuestionAnswered("u", "q2", "somebody", "always"),
        )
    )

    assert found == [PUSH, WRITE]


def test_that_a_grant_outlives_its_turn() -> None:
    found = find_grants(
        talk(
            asked("q1", {"grant": encode_grant(PUSH)}),
            QuestionAnswered("t", "q1", "somebody", "always"),
            TurnFinished("t", "completed", 0),
        )
    )

    assert found == [PUSH]


@pytest.mark.parametrize("decision", ["yes", "no", "expired", "Always", ""])
def test_that_no_other_answer_grants_anything(decision: str) -> None:
    found = find_grants(
        talk(
            asked("q1", {"grant": encode_grant(PUSH)}),
            QuestionAnswered("t", "q1", "somebody", decision),
        )
    )

    assert found == []


def test_that_only_the_first_answer_counts() -> None:
    found = find_grants(
        talk(
            asked("q1", {"grant": encode_grant(PUSH)}),
            QuestionAnswered("t", "q1", "somebody", "no"),
            QuestionAnswered("t", "q1", "another", "always"),
        )
    )

    assert found == []


def test_that_another_kind_of_question_grants_nothing() -> None:
    found = find_grants(
        talk(
            asked("q1", {"grant": encode_grant(PUSH)}, kind="overflow"),
            QuestionAnswered("t", "q1", "somebody", "always"),
        )
    )

    assert found == []


def test_that_the_same_is_granted_once() -> None:
    found = find_grants(
        talk(
            asked("q1", {"grant": encode_grant(PUSH)}),
            QuestionAnswered("t", "q1", "somebody", "always"),
            asked("q2", {"grant": encode_grant(PUSH)}),
            QuestionAnswered("t", "q2", "somebody", "always"),
        )
    )

    assert found == [PUSH]


def test_that_always_covers_no_question_about_a_tool_that_has_changed() -> None:
    """What it is limited to is how its server described it."""
    now = Grant(tool="time__now", cwd="/w", only="digest 1", label="time: now")
    same, changed = replace(now, label="time: NOW"), replace(now, only="digest 2")
    elsewhere = replace(now, cwd="/v")
    questions = [
        asked(f"q{k}", {"confined": True, "grant": encode_grant(each)})
        for k, each in enumerate([now, same, changed, elsewhere])
    ]
    found = find_covered(talk(*questions), questions[0])
    assert [each.question_id for each in found] == ["q1"]


@given(make(Grant))
def test_that_a_grant_is_read_back_as_it_was_written(grant: Grant) -> None:
    assert decode_grant(encode_grant(grant)) == (grant if grant.tool else None)


@given(JSON)
def test_that_anything_else_grants_nothing(value: Any) -> None:
    assert decode_grant(value) is None


@pytest.mark.parametrize("left_out", ["tool", "only"])
def test_that_a_grant_of_which_something_is_lost_is_none(left_out: str) -> None:
    """Without its command it would cover every one."""
    kept = {name: value for name, value in encode_grant(PUSH).items() if name != left_out}

    assert decode_grant(kept) is None


def test_that_always_answers_the_open_questions_of_the_same_and_of_nothing_else() -> None:
    same = {"grant": encode_grant(WRITE), "confined": True}
    conversation = talk(
        asked("q1", same),
        asked("q2", same),
        asked("q3", {"grant": encode_grant(PUSH), "confined": True}),
        asked("q4", {**same, "confined": False}),
        asked("q5", {"grant": None, "confined": True}),
        asked("q6", same),
        QuestionAnswered("t", "q6", "somebody", "no"),
    )
    first = conversation.open_questions["q1"]

    assert [each.question_id for each in find_covered(conversation, first)] == ["q2"]
    assert find_covered(conversation, conversation.open_questions["q5"]) == []
