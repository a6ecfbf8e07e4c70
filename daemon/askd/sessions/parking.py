"""Parking: a turn that waits for a person is run by nobody until it is answered.

`ask_person` either knows the answer, for the log holds it, or asks and raises
`Parked`. Whoever runs the turn lets go of it then: it takes no place among the
running ones, outlives the daemon, and comes to the same point again when the
question is answered, or when nobody did in time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askd.core.events import QuestionAnswered, QuestionAsked
from askd.core.questions import (
    Choice,
    QuestionKind,
    describe_question,
    digest_question,
    find_answer,
    find_question,
)
from askd.sessions.live import LiveSession

ATTENDED_S = 600.0
"""Ten minutes: who asked sits there, or will be back soon."""
DETACHED_S = 86_400.0
"""A day: who asked has gone, and looks at it when there is time."""


class Parked(Exception):
    """The turn waits for a person. No fault: let it pass, and nothing of the turn is lost."""


async def ask_person(
    session: LiveSession,
    turn_id: str,
    *,
    kind: QuestionKind,
    subject: str,
    text: str,
    choices: Sequence[Choice],
    is_detached: bool,
    now: Callable[[], float],
    more: Mapping[str, Any] | None = None,
    attended_s: float = ATTENDED_S,
    detached_s: float = DETACHED_S,
) -> QuestionAnswered:
    """What a person decided. To be called where the turn can be left and come to again.

    Args:
        subject: what is decided on, the same when the turn comes here again: the id of the
            completion's item, of a call. It is asked about once in a turn.
        text: what is shown above the choices, which are numbered in their order.
        more: facts for programs that show the question in their own way; JSON.

    Returns:
        The answer; `by` `EXPIRY` with the decision `EXPIRED`: nobody answered in time.

    Raises:
        Parked: it has been asked, and is not answered yet.
        StorageFailed: the question could not be stored.
    """
    record = session.conversation.turns[turn_id]
    answer = find_answer(record, kind, subject)
    if answer is not None:
        return answer
    if find_question(record, kind, subject) is None:
        detail = describe_question(subject, text, choices, more or {})
        question = QuestionAsked(
            turn_id=turn_id,
            question_id=f"{turn_id}.q{len(record.questions) + 1}",
            kind=kind,
            digest=digest_question(kind, detail),
            detail=detail,
            expires_at=now() + (detached_s if is_detached else attended_s),
        )
        await session.append([question])
    raise Parked
