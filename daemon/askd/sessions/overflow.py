"""What becomes of a request that does not fit, when nothing more can safely leave it.

A policy decides, or a person does. What is decided is carried out elsewhere: a
summary, a cleared view, or a request that is sent as it is.
"""

from dataclasses import dataclass

from askd.core import overflow
from askd.core.conversation import TurnRecord
from askd.core.events import TurnOptions
from askd.core.overflow import Decision
from askd.core.questions import EXPIRY, find_answer, find_question
from askd.errors import TooLarge
from askd.providers.base import Model
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.parking import ask_person

WITHOUT_ASKING = "Say what to do with --overflow compact, reset or continue."


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A request that does not fit.

    Attributes:
        subject: what is decided on: the id of the completion's item.
        tokens: of the request, about.
    """

    subject: str
    tokens: int
    model: Model


async def decide_overflow(
    session: LiveSession,
    turn_id: str,
    excess: Excess,
    *,
    options: TurnOptions,
    means: Means,
    report: Report,
) -> Decision:
    """What to do about it, said to whoever watches. To be called once the turn has started.

    The same answer comes for the same excess, also in a later daemon: what a person
    has decided is in the log. `continue` holds for the rest of the turn.

    Raises:
        TooLarge: it had to be asked, and there was nobody, or nobody answered in time.
        Parked: it has been asked, and is not answered yet.
        StorageFailed: the question could not be stored.
    """
    decision = await _decide(session, turn_id, excess, options, means)
    match decision:
        case "compact":
            report("overflow", overflow.SUMMARIZING)
        case "reset":
            report("overflow", overflow.CLEARING)
        case "continue":
            report("warning", overflow.CONTINUING)
    return decision


async def _decide(
    session: LiveSession, turn_id: str, excess: Excess, options: TurnOptions, means: Means
) -> Decision:
    record = session.conversation.turns[turn_id]
    if _goes_on(record):
        return "continue"
    policy = overflow.choose_policy(
        options.overflow,
        means.overflow(),
        attended=session.hub.attended,
        detached=options.detach,
    )
    # Once it was asked, it is the answer that counts, whoever is there now.
    if find_question(record, "overflow", excess.subject) is None:
        if policy is None:
            raise _explain(excess, f"there is nobody to ask what to do about it. {WITHOUT_ASKING}")
        if policy != "ask":
            return policy
    model = excess.model
    answer = await ask_person(
        session,
        turn_id,
        kind="overflow",
        subject=excess.subject,
        text=overflow.TEXT,
        choices=overflow.CHOICES,
        is_detached=options.detach,
        now=means.now,
        more={
            "prompt": overflow.PROMPT,
            "tokens": excess.tokens,
            "window": model.limits.context_window,
            "model": model.name,
        },
    )
    decision = overflow.read_decision(answer.decision)
    if decision is not None:
        return decision
    if answer.by == EXPIRY and (options.overflow or means.overflow()) is None:
        return "compact"  # nobody said that a person has to decide: as if none had been there
    raise _explain(excess, f"nobody decided in time what to do about it. {WITHOUT_ASKING}")


def _goes_on(record: TurnRecord) -> bool:
    """Whether a person has decided in this turn that the history is sent as it is."""
    for question in record.questions.values():
        if question.kind != "overflow":
            continue
        answer = find_answer(record, "overflow", str(question.detail.get("subject")))
        if answer is not None and answer.decision == "continue":
            return True
    return False


def _explain(excess: Excess, why: str) -> TooLarge:
    model = excess.model
    return TooLarge(
        f"The conversation has about {excess.tokens} tokens; {model.name} has a window of "
        f"{model.limits.context_window}, {model.limits.reserved_output} of it for the answer, and "
        f"{why}"
    )
