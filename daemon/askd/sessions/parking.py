"""Parking: a turn that waits for a person is run by nobody until it is answered.

`ask_person` either knows the answer, for the log holds it, or asks and raises
`Parked`; `ask_all` does so for several matters at once. Whoever runs the turn lets
go of it then: it takes no place among the running ones, outlives the daemon, and
comes to the same point again when every question is answered, or when nobody did
in time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    find_number,
    find_parking,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """One thing that a person is to decide.

    Attributes:
        subject: what is decided on, the same when the turn comes here again: the id of the
            completion's item, of a call's output. It is asked about once in a turn.
        text: what is shown above the choices, which are numbered in their order.
        more: facts for programs that show the question in their own way; JSON.
    """

    kind: QuestionKind
    subject: str
    text: str
    choices: Sequence[Choice]
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def detail(self) -> dict[str, Any]:
        """What is shown, whole: `detail` of the question's event."""
        return describe_question(self.subject, self.text, self.choices, self.more)

    @property
    def digest(self) -> str:
        """What an answer to it names."""
        return digest_question(self.kind, self.detail)


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
) -> QuestionAnswered:
    """What a person decided on one matter: as `ask_all`, whose words these are."""
    matter = Matter(kind=kind, subject=subject, text=text, choices=choices, more=more or {})
    answers = await ask_all(session, turn_id, [matter], is_detached=is_detached, now=now)
    return answers[0]


async def ask_all(
    session: LiveSession,
    turn_id: str,
    matters: Sequence[Matter],
    *,
    is_detached: bool,
    now: Callable[[], float],
) -> list[QuestionAnswered]:
    """What people decided, in the order of the matters; what is new is asked in one append.

    To be called where the turn can be left and come to again.

    Returns:
        The answers; `by` `EXPIRY` with the decision `EXPIRED`: nobody answered in time.

    Raises:
        Parked: all is asked, and not all of it is answered yet.
        StorageFailed: the questions could not be stored.
    """
    record = session.conversation.turns[turn_id]
    found = [find_answer(record, each.kind, each.subject) for each in matters]
    answers = [each for each in found if each is not None]
    if len(answers) == len(matters):
        return answers
    new = [each for each in matters if find_question(record, each.kind, each.subject) is None]
    expires_at = now() + (DETACHED_S if is_detached else ATTENDED_S)
    questions = [
        QuestionAsked(
            turn_id=turn_id,
            question_id=f"{turn_id}.q{number}",
            kind=each.kind,
            digest=each.digest,
            detail=each.detail,
            expires_at=expires_at,
        )
        for number, each in enumerate(new, start=find_number(record))
    ]
    if questions:
        await session.append(questions)
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
    return bool(record.questions) and not find_parking(record)


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
    asked = [] if record is None else find_parking(record)
    if record is None or not asked:
        return None
    turn_id, limit = record.prompt.turn_id, record.prompt.options.timeout_s
    left = find_time_left(record, now)
    if limit is not None and left is not None and left <= 0:
        end = Interrupted(TIME_LIMIT, "time_limit", LATE.format(limit=limit))
        await session.close_parked(turn_id, end)
        return None
    async with session.admission:  # where answers are taken: the first one wins
        unanswered = session.conversation.open_questions
        late = [
            QuestionAnswered(turn_id, each.question_id, EXPIRY, EXPIRED)
            for each in asked
            if each.expires_at <= now() and each.question_id in unanswered
        ]
        if late:
            await session.append(late)
            return None
    waits = max(min(each.expires_at for each in asked) - now(), 0.0)
    return min(POLL_S, waits, POLL_S if left is None else left)
