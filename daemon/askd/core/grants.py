"""Grants: what people allowed for good in a conversation, as its log tells it.

Pure: a projection of the answered questions. A grant that cannot be read is none, and
what another conversation was copied from granted nothing here: a fork leaves questions out.
"""

from collections.abc import Mapping
from typing import Any

from askd.core.approval import Grant
from askd.core.conversation import Conversation
from askd.core.events import QuestionAsked

ALWAYS = "always"
"""The decision that grants what its question offered."""


def find_grants(conversation: Conversation) -> list[Grant]:
    """What was answered with `always`, in the order in which it was asked; each once."""
    found: list[Grant] = []
    for record in conversation.turns.values():
        for question_id, answer in record.answers.items():
            question = record.questions.get(question_id)
            if question is None or question.kind != "approval" or answer.decision != ALWAYS:
                continue
            grant = decode_grant(question.detail.get("grant"))
            if grant is not None and not any(each.covers(grant) for each in found):
                found.append(grant)
    return found


def find_covered(conversation: Conversation, question: QuestionAsked) -> list[QuestionAsked]:
    """The other open questions that `always` to this one answers, too.

    What is not confined is not among them: it runs for nobody's earlier word.
    """
    grant = decode_grant(question.detail.get("grant"))
    if question.kind != "approval" or grant is None:
        return []
    return [
        other
        for other in conversation.open_questions.values()
        if other.kind == "approval"
        and other.question_id != question.question_id
        and other.detail.get("confined") is True
        and (wanted := decode_grant(other.detail.get("grant"))) is not None
        and grant.covers(wanted)
    ]


def encode_grant(grant: Grant) -> dict[str, Any]:
    """A grant as a question's `detail` holds it."""
    return {"tool": grant.tool, "cwd": grant.cwd, "only": grant.only, "label": grant.label}


def decode_grant(value: object) -> Grant | None:
    """What `encode_grant` made; None: it is something else, which allows nothing."""
    if not isinstance(value, Mapping):
        return None
    tool, cwd = value.get("tool"), value.get("cwd")
    # Without what it is limited to it would be wider than what was shown.
    only, label = value.get("only"), value.get("label", "")
    if not (isinstance(tool, str) and tool and isinstance(only, str) and isinstance(label, str)):
        return None
    if cwd is not None and not isinstance(cwd, str):
        return None
    return Grant(tool=tool, cwd=cwd, only=only, label=label)
