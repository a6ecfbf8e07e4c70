"""The question of an approval: what runs is what is shown, and an answer is bound to all of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.approval import Grant
from askd.core.approval_questions import (
    ARGUMENT_BYTES,
    BODY_CHARACTERS,
    TEXT_CHARACTERS,
    TITLE_CHARACTERS,
    UNCONFINED,
    ApprovalQuestion,
    cut_middle,
    describe_approval,
    digest_arguments,
)
from askd.core.grants import decode_grant
from askd.core.questions import describe_question, digest_question

GRANT = Grant(tool="run_command", cwd="/w", only="git push", label="git push")
PLAIN: dict[str, Any] = {
    "tool": "run_command",
    "call_id": "call_1",
    "conversation_id": "c",
    "cwd": "/w",
    "arguments": '{"command": "git push"}',
    "title": "Run: git push",
}


def digest(question: ApprovalQuestion) -> str:
    detail = describe_question("t.c1.1", question.text, question.choices, question.more)
    return digest_question("approval", detail)


def test_what_a_person_is_shown() -> None:
    question = describe_approval(
        **PLAIN, body="git push origin\n", grant=GRANT, confinement="No network."
    )

    assert question.text == "Run: git push\n\ngit push origin\n\nNo network."
    assert [(each.decision, each.label) for each in question.choices] == [
        ("yes", "Yes"),
        ("always", "Always in this conversation: git push"),
        ("no", "No"),
    ]


def test_that_always_is_offered_only_where_it_would_mean_something() -> None:
    question = describe_approval(**PLAIN)

    assert [each.decision for each in question.choices] == ["yes", "no"]
    assert question.more["grant"] is None


def test_that_the_grant_is_what_the_question_holds() -> None:
    assert decode_grant(describe_approval(**PLAIN, grant=GRANT).more["grant"]) == GRANT


def test_that_what_nothing_confines_is_said_to_be_so() -> None:
    question = describe_approval(**PLAIN, confined=False, confinement="All is well.")

    assert question.text == f"Run: git push\n\n{UNCONFINED}"
    assert question.more["confined"] is False
    assert "All is well" not in json.dumps(dict(question.more))


@pytest.mark.parametrize(
    "other",
    [
        {"tool": "write_file"},
        {"call_id": "call_2"},
        {"conversation_id": "d"},
        {"cwd": "/x"},
        {"cwd": None},
        {"arguments": '{"command": "git pull"}'},
        {"title": "Run: git pull"},
        {"body": "more"},
        {"grant": GRANT},
        {"confined": False},
        {"confinement": "No network."},
    ],
)
def test_that_an_answer_is_bound_to_all_of_it(other: dict[str, Any]) -> None:
    assert digest(describe_approval(**{**PLAIN, **other})) != digest(describe_approval(**PLAIN))


def test_that_the_same_arguments_are_the_same_question_however_they_are_written() -> None:
    one = describe_approval(**{**PLAIN, "arguments": '{"a": 1, "b": "\\u00e9"}'})
    other = describe_approval(**{**PLAIN, "arguments": '{"b":"é",\n"a":1}'})

    assert one == other
    assert one.more["arguments"] == '{"a":1,"b":"é"}'


def test_that_an_answer_is_bound_to_arguments_that_are_not_kept() -> None:
    """What stands behind the part that a question keeps counts all the same."""
    long = "x" * (2 * ARGUMENT_BYTES)
    one = describe_approval(**{**PLAIN, "arguments": json.dumps({"a": long + "1"})})
    other = describe_approval(**{**PLAIN, "arguments": json.dumps({"a": long + "2"})})

    assert one.more["arguments"] == other.more["arguments"]
    assert len(one.more["arguments"].encode()) == ARGUMENT_BYTES
    assert digest(one) != digest(other)


def test_that_a_long_body_is_cut_and_says_so() -> None:
    question = describe_approval(**PLAIN, body="a" * BODY_CHARACTERS + "b" * 1000 + "end")

    assert len(question.more["body"]) < BODY_CHARACTERS + 100
    assert "[... 1003 characters are not shown ...]" in question.more["body"]
    assert question.more["body"].endswith("end")
    assert question.text.endswith("end")
    assert len(question.text) < TEXT_CHARACTERS + 200


def test_that_an_event_with_it_fits_a_message() -> None:
    """In the largest characters that there are, with room for what stands around it."""
    emoji = "\U0001f600" * 200_000
    question = describe_approval(**{**PLAIN, "arguments": emoji, "title": emoji}, body=emoji)
    detail = describe_question("t.c1.1", question.text, question.choices, question.more)

    assert len(json.dumps(detail, ensure_ascii=False).encode()) < 640 * 1024


def test_that_a_title_stays_one_line() -> None:
    question = describe_approval(**{**PLAIN, "title": "Run: a\nYes\n" + "b" * 1000})

    assert "\n" not in question.more["title"]
    assert question.more["title"].startswith("Run: a Yes bbb")
    assert len(question.more["title"]) < TITLE_CHARACTERS + 100


@given(st.text(), st.integers(8, 40))
def test_that_a_cut_keeps_both_ends_and_counts_the_rest(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)

    if len(text) <= limit:
        assert cut == text
        return
    head, tail = limit * 3 // 4, limit // 4
    assert cut.startswith(text[:head])
    assert cut.endswith(text[-tail:])
    assert f" {len(text) - head - tail} characters" in cut


@pytest.mark.parametrize("text", ["{", "nul", "[" * 100_000, "\ud800", '{"a": NaN'])
def test_that_what_is_no_json_has_a_digest_too(text: str) -> None:
    assert len(digest_arguments(text)) == 64


@given(st.text(), st.text(), st.text())
def test_that_whatever_a_model_says_makes_a_question(title: str, body: str, said: str) -> None:
    question = describe_approval(
        **{**PLAIN, "title": title, "arguments": json.dumps({"command": said})}, body=body
    )

    assert len(digest(question)) == 64
