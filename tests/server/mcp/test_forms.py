"""A question becomes a form with all its choices, and nothing but a person's answer allows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.approval import Grant
from askd.core.approval_questions import describe_approval
from askd.core.elicitations import describe_elicitation
from askd.core.events import QuestionAsked
from askd.core.grants import ALWAYS
from askd.core.overflow import CHOICES, TEXT
from askd.core.questions import QuestionKind, describe_question
from askd.server.mcp.forms import UNHEARD, Decided, Filled, make_form, read_form

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def ask(kind: QuestionKind, text: str, choices: Any, more: Any = None) -> QuestionAsked:
    detail = describe_question("t.1", text, choices, more or {})
    return QuestionAsked("t", "t.q1", kind, "digest", detail, 9.0)


def approve(*, grant: bool = False) -> QuestionAsked:
    said = describe_approval(
        tool="run_command",
        call_id="c1",
        conversation_id="c",
        cwd="/",
        arguments="{}",
        title="Run: ls",
        grant=Grant(tool="run_command", cwd="/", label="ls") if grant else None,
    )
    return ask("approval", said.text, said.choices, said.more)


def elicit(schema: Any = SCHEMA) -> QuestionAsked:
    said = describe_elicitation(
        who="maps", tool="maps__find", call_id="c1", text="Where?", schema=schema
    )
    return ask("elicitation", said.text, said.choices, said.more)


OVERFLOW = ask("overflow", TEXT, CHOICES)


def test_an_approval_shows_what_would_run_and_every_choice() -> None:
    form = make_form(approve(grant=True))
    assert form.message.startswith("Run: ls")
    decision = form.schema["properties"]["decision"]
    assert decision["enum"] == ["yes", ALWAYS, "no"]
    assert decision["enumNames"] == ["Yes", "Always in this conversation: ls", "No"]
    assert form.schema["required"] == ["decision"]
    assert "reason" in form.schema["properties"]
    assert "reason" not in make_form(OVERFLOW).schema["properties"]


@pytest.mark.parametrize(
    ("filled", "decided"),
    [
        (Filled(action="accept", content={"decision": "yes"}), Decided(decision="yes")),
        (
            Filled(action="accept", content={"decision": "no", "reason": " not here "}),
            Decided(decision="no", reason="not here"),
        ),
        (
            Filled(action="accept", content={"decision": "sure"}),
            Decided(decision="no", reason=UNHEARD),
        ),
        (
            Filled(action="accept", content={"decision": ["yes"]}),
            Decided(decision="no", reason=UNHEARD),
        ),
        (Filled(action="accept"), Decided(decision="no", reason=UNHEARD)),
        (Filled(action="decline", content={"decision": "yes"}), Decided(decision="no")),
        (Filled(action="cancel"), Decided(decision="no")),
        (None, Decided(decision="no", reason=UNHEARD)),
    ],
)
def test_an_approval_is_given_by_a_choice_that_was_offered(
    filled: Filled | None, decided: Decided
) -> None:
    assert read_form(approve(), filled) == decided


@given(
    action=st.sampled_from(["decline", "cancel", "maybe", ""]),
    content=st.none() | st.dictionaries(st.sampled_from(["decision", "x"]), st.text() | st.none()),
)
def test_nothing_but_accepting_allows(action: str, content: dict[str, Any] | None) -> None:
    assert read_form(approve(), Filled(action=action, content=content)).decision == "no"


def test_an_overflow_is_compacted_where_nobody_decides() -> None:
    assert read_form(OVERFLOW, Filled(action="decline")).decision == "compact"
    chosen = Filled(action="accept", content={"decision": "continue"})
    assert read_form(OVERFLOW, chosen).decision == "continue"


def test_another_servers_form_is_handed_on() -> None:
    form = make_form(elicit())
    assert "Where?" in form.message
    assert list(form.schema["properties"]) == ["city"]
    filled = Filled(action="accept", content={"city": "Bern"})
    assert read_form(elicit(), filled) == Decided(decision="accept", content={"city": "Bern"})
    assert read_form(elicit(), Filled(action="decline")) == Decided(decision="decline")
    assert read_form(elicit(), Filled(action="nonsense")) == Decided(decision="cancel")
    assert read_form(elicit(), None) == Decided(decision="cancel")


def test_one_without_fields_is_a_yes_or_no() -> None:
    assert make_form(elicit(None)).schema == {"type": "object", "properties": {}}
    filled = Filled(action="accept", content={"x": 1})
    assert read_form(elicit(None), filled) == Decided(decision="accept")
