"""Parking: a turn that waits for a person is run by nobody until it is answered.

`ask_person` either knows the answer, for the log holds it, or asks and raises
`Parked`. Whoever runs the turn lets go of it then: it takes no place among the
running ones, outlives the daemon, and comes to the same point again when the
question is answered, or when nobody did in time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askd.core.conversation import TurnRecord
from askd.core.events import QuestionAnswered, QuestionAsked
from askd.core.outcome import TIME_LIMIT
from askd.core.questions import (
    EXPIRED,
    EXPIRY,
    Choice,
    QuestionKind,
    describe_question,
    digest_question,
    find_answer,
    find_open,
    find_question,
)
from askd.core.turn import Interrupted
from askd.sessions.live import LiveSession

ATTENDED_S = 600.0
"""Ten minutes: who asked sits there, or will be back soon."""
DETACHED_S = 86_400.0
"""A day: who asked has gone, and looks at it when there is time."""


POLL_S = 60.0
"""Ends are times of the wall clock, which may be set: it is looked at this often."""
LATE = "The time limit of {limit:g} s was reached while the turn waited for a person."


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


def find_parked(session: LiveSession) -> TurnRecord | None:
    """The turn that has started, is not over, and is run by nobody until it is answered."""
    turn_id = None if session.running is not None else session.active_turn
    is_known = not (session.needs_recovery or session.is_stale or session.deleted)
    if turn_id is None or turn_id in session.resumable or not is_known:
        return None
    return session.conversation.turns[turn_id]


def is_answered(record: TurnRecord) -> bool:
    """Whether a parked turn has been told what it waits for."""
    return bool(record.questions) and find_open(record) is None


def find_time_left(record: TurnRecord, now: Callable[[], float]) -> float | None:
    """Seconds until the turn's own time limit, waiting for people included; None: it has none."""
    limit = record.prompt.options.timeout_s
    return None if limit is None else record.started_at + limit - now()


async def keep_time(session: LiveSession, now: Callable[[], float]) -> float | None:
    """End what a parked turn has waited for too long; raise `StorageFailed`.

    A question that nobody answered in time is answered by `EXPIRY`, and the turn goes on with
    that; a turn whose own time is over ends. Answers with the seconds until this is to be looked
    at again; None: nothing waits.
    """
    record = find_parked(session)
    question = None if record is None else find_open(record)
    if record is None or question is None:
        return None
    turn_id, limit = record.prompt.turn_id, record.prompt.options.timeout_s
    left = find_time_left(record, now)
    if limit is not None and left is not None and left <= 0:
        end = Interrupted(TIME_LIMIT, "time_limit", LATE.format(limit=limit))
        await session.close_parked(turn_id, end)
        return None
    async with session.admission:  # where answers are taken: the first one wins
        waits = question.expires_at - now()
        if waits <= 0 and question.question_id in session.conversation.open_questions:
            answer = QuestionAnswered(turn_id, question.question_id, EXPIRY, EXPIRED)
            await session.append([answer])
            return None
    return min(POLL_S, max(waits, 0.0), POLL_S if left is None else left)
