"""Questions of the house as forms of MCP, and what a form's answer decides.

Pure values. A question is put with all its choices and nothing is chosen for a person: whoever
declines, goes away, or cannot show it, decides as if nobody had been there. An elicitation of
another server is handed on as it is. Shapes: MCP 2025-11-25, "Elicitation", form mode.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askd.core.approval_questions import NO
from askd.core.events import QuestionAsked
from askd.core.questions import find_choices

DECISION = "decision"
REASON = "reason"
REASON_CHARACTERS = 1000
ACCEPTED = "accept"
CANCELLED = "cancel"
UNATTENDED = {"approval": NO, "overflow": "compact"}
"""What is decided where nobody does, by the question's kind: as for a prompt without a person."""
UNHEARD = "No valid answer came from the program that asked."


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a person is shown, and the JSON schema of what they can fill in."""

    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What became of a form: `accept`, `decline` or `cancel`, and its content."""

    action: str
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """An answer to a question."""

    decision: str
    reason: str | None = None
    content: Mapping[str, Any] | None = None


def make_form(question: QuestionAsked) -> Form:
    """The question for a client that shows forms."""
    message = str(question.detail.get("text", ""))
    if question.kind == "elicitation":
        schema = question.detail.get("schema")
        empty = {"type": "object", "properties": {}}
        return Form(message=message, schema=schema if isinstance(schema, Mapping) else empty)
    decisions = find_choices(question)
    choice: dict[str, Any] = {"type": "string", "title": "What is to be done?"}
    if decisions:
        choice |= {"enum": decisions, "enumNames": _find_labels(question, decisions)}
    properties: dict[str, Any] = {DECISION: choice}
    if question.kind == "approval":
        properties[REASON] = {
            "type": "string",
            "title": "Why not?",
            "description": "The model is told, if you say no.",
            "maxLength": REASON_CHARACTERS,
        }
    schema = {"type": "object", "properties": properties, "required": [DECISION]}
    return Form(message=message, schema=schema)


def _find_labels(question: QuestionAsked, decisions: list[str]) -> list[str]:
    labels = {
        each.get("decision"): str(each.get("label", ""))
        for each in question.detail.get("choices", ())
        if isinstance(each, Mapping)
    }
    return [labels.get(each) or each for each in decisions]


def read_form(question: QuestionAsked, filled: Filled | None) -> Decided:
    """What is decided; `filled` None: the client could not show the form."""
    if question.kind == "elicitation":
        return _hand_on(question, filled)
    content = (filled.content or {}) if filled is not None else {}
    decision, reason = content.get(DECISION), content.get(REASON)
    if filled is not None and filled.action == ACCEPTED and decision in find_choices(question):
        said = reason.strip()[:REASON_CHARACTERS] if isinstance(reason, str) else ""
        return Decided(decision=str(decision), reason=said or None)
    is_heard = filled is not None and filled.action != ACCEPTED
    return Decided(
        decision=UNATTENDED.get(question.kind, CANCELLED), reason=None if is_heard else UNHEARD
    )


def _hand_on(question: QuestionAsked, filled: Filled | None) -> Decided:
    if filled is None or filled.action not in find_choices(question):
        return Decided(decision=CANCELLED)
    has_fields = filled.action == ACCEPTED and isinstance(question.detail.get("schema"), Mapping)
    return Decided(decision=filled.action, content=(filled.content or {}) if has_fields else None)
