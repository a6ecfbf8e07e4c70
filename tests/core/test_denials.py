"""Why a call was not run, for the model and for people."""

from typing import get_args

import pytest

from askd.core.approval import Approval, ApprovalRules, Wanted, decide
from askd.core.denials import (
    FOR_MODELS,
    TITLE_CHARACTERS,
    Cause,
    Denial,
    deny_call,
    explain_need,
    find_cause,
    read_refusal,
    tell_denial,
)
from askd.core.events import QuestionAnswered
from askd.core.items import ToolCall, join_text
from askd.core.questions import EXPIRED, EXPIRY

CALL = ToolCall("a", "run_command", '{"command": "ls"}')
WANTED = Wanted(tool="run_command", needs="ask", command="ls")


@pytest.mark.parametrize(
    ("wanted", "rules", "said", "cause"),
    [
        (WANTED, ApprovalRules(), None, "nobody"),
        (WANTED, ApprovalRules(), "deny", "prompt"),
        (WANTED, ApprovalRules(policy="deny"), None, "settings"),
        (WANTED, ApprovalRules(policy="auto"), "deny", "prompt"),
        (WANTED, ApprovalRules(tools={"run_command": "deny"}), "auto", "settings"),
        (WANTED, ApprovalRules(commands={"ls": "deny"}), None, "settings"),
        (Wanted(tool="x", needs="auto", confined=False), ApprovalRules(), "auto", "unconfined"),
    ],
)
def test_each_denial_has_its_cause(
    wanted: Wanted, rules: ApprovalRules, said: Approval | None, cause: Cause
) -> None:
    assert decide(wanted, rules, said=said, grants=(), attended=False) == "deny"
    assert find_cause(wanted, rules, said=said) == cause


def test_every_cause_has_its_words() -> None:
    for cause in get_args(Cause):
        output = deny_call(CALL, "t.1.1", Denial(cause))
        assert (output.id, output.call_id, output.name) == ("t.1.1", "a", "run_command")
        assert (output.synthetic, output.is_error) == ("denied", True)
        assert join_text(output.parts) == f"This call was not run: {FOR_MODELS[cause]}."
        line = tell_denial("run_command", "ls", Denial(cause))
        assert (line is None) == (cause == "person"), "who refused it knows"


def test_a_person_is_quoted_and_time_is_named() -> None:
    said = read_refusal(QuestionAnswered("t", "q", "tty:1", "no", "Use git instead."))
    assert join_text(deny_call(CALL, "i", said).parts) == (
        "This call was not run: a person refused it. The reason they gave: Use git instead."
    )
    assert read_refusal(QuestionAnswered("t", "q", "tty:1", "no")) == Denial("person")
    assert read_refusal(QuestionAnswered("t", "q", EXPIRY, EXPIRED)) == Denial("late")


def test_what_a_tool_says_of_itself_stays_in_one_line() -> None:
    line = tell_denial("run_command", "a\nb\r\n  c " + "x" * 9999, Denial("nobody"))
    assert line is not None
    assert line.startswith("Denied: run_command: a b c x")
    assert line.endswith("... (nobody to ask; --approve auto allows it)")
    assert len(line) < TITLE_CHARACTERS + 100
    assert tell_denial("door", "door", Denial("late")) == "Denied: door (nobody answered in time)"


def test_who_wanted_to_be_asked_hears_what_to_do() -> None:
    sentence = explain_need("run_command", "ls -l\n")
    assert "run_command: ls -l." in sentence
    assert "--detach" in sentence
    assert "--approve" in sentence
