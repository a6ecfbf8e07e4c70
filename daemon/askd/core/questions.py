"""Questions to a person: what is shown, what can be answered, what was answered.

Pure values and checks. A question is asked once for its subject: whoever comes
to the same point again, in another daemon too, finds the answer in the log.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from askd.core.conversation import TurnRecord
from askd.core.events import QuestionAnswered, QuestionAsked

QuestionKind = Literal["approval", "overflow", "elicitation"]

EXPIRY = "expiry"
"""Who answers a question that nobody answered in time."""
EXPIRED = "expired"
"""That answer; no choice of a question may be called so."""
CLOSED = "closed"
"""Who answers an elicitation whose call has ended: nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to answer: `decision` is what is kept, `label` what a person reads."""

    decision: str
    label: str


def describe_question(
    subject: str, text: str, choices: Sequence[Choice], more: Mapping[str, Any]
) -> dict[str, Any]:
    """What a question holds for whoever shows it: `detail` of its event."""
    shown = [{"decision": each.decision, "label": each.label} for each in choices]
    return {**more, "subject": subject, "text": text, "choices": shown}


def digest_question(kind: QuestionKind, detail: Mapping[str, Any]) -> str:
    """What an answer names, so that it is one to what was shown: SHA-256 in hex."""
    said = json.dumps({"kind": kind, "detail": detail}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()


def find_choices(question: QuestionAsked) -> list[str]:
    """The decisions that can be answered; none: any text can."""
    choices = question.detail.get("choices")
    if not isinstance(choices, list | tuple):
        return []
    found = [each.get("decision") for each in choices if isinstance(each, Mapping)]
    return [each for each in found if isinstance(each, str)]


def find_question(record: TurnRecord, kind: QuestionKind, subject: str) -> QuestionAsked | None:
    """The last question of this kind that the turn asked about this subject."""
    for question in reversed(record.questions.values()):
        if question.kind == kind and question.detail.get("subject") == subject:
            return question
    return None


def find_answer(record: TurnRecord, kind: QuestionKind, subject: str) -> QuestionAnswered | None:
    """What was decided about it; None: nothing yet, or it was never asked."""
    question = find_question(record, kind, subject)
    return None if question is None else record.answers.get(question.question_id)


def find_number(record: TurnRecord) -> int:
    """The number of the turn's next question; its id is `TURN.qNUMBER`."""
    return len(record.questions) + 1


def find_all_open(record: TurnRecord) -> list[QuestionAsked]:
    """The questions that an unfinished turn has asked, and nobody answered, the first one first."""
    if record.finished is not None:
        return []
    return [each for id, each in record.questions.items() if id not in record.answers]


def find_open(record: TurnRecord) -> QuestionAsked | None:
    """The first of them; None: the turn waits for nobody."""
    return next(iter(find_all_open(record)), None)


def find_parking(record: TurnRecord) -> list[QuestionAsked]:
    """Those of them that a turn is parked for, and comes back to when they are answered.

    An elicitation is none: a call waits for it that runs, and it dies with the call.
    """
    return [each for each in find_all_open(record) if each.kind != "elicitation"]


def close_elicitations(record: TurnRecord) -> list[QuestionAnswered]:
    """What closes those that are open still, where no call runs any more."""
    return [
        QuestionAnswered(each.turn_id, each.question_id, CLOSED, "cancel")
        for each in find_all_open(record)
        if each.kind == "elicitation"
    ]
