"""What becomes of a request that does not fit, when nothing more can safely leave it.

A policy decides, or a person does; of a single tool output that is too large, too.
What is decided is carried out elsewhere: a summary, a cleared view, an output that
is cut, or a request that is sent as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from askd.core import overflow
from askd.core.conversation import TurnRecord
from askd.core.events import QuestionAsked, TurnOptions
from askd.core.overflow import Decision
from askd.core.questions import EXPIRY, Choice, find_question
from askd.errors import TooLarge
from askd.providers.base import Model
from askd.sessions.budget import describe_excess
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.parking import ask_person

WITHOUT_ASKING = "Say what to do with --overflow compact, reset or continue."


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A request that does not fit, or a tool output that is too large for any.

    Attributes:
        subject: what is decided on: the id of the completion's item, or of the output's.
        tokens: of it, about.
        tool: whose output it is; None: it is the whole request.
    """

    subject: str
    tokens: int
    model: Model
    tool: str | None = None

    @property
    def key(self) -> str:
        """What a question about it is known by."""
        return self.subject if self.tool is None else f"{overflow.OUTPUT_SUBJECT}{self.subject}"

    @property
    def text(self) -> str:
        """What stands above the choices."""
        if self.tool is None:
            return overflow.TEXT
        return overflow.OUTPUT_TEXT.format(tool=self.tool, tokens=self.tokens)

    @property
    def choices(self) -> Sequence[Choice]:
        """What can be chosen."""
        return overflow.CHOICES if self.tool is None else overflow.OUTPUT_CHOICES


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
    has decided is in the log. `continue` with a history holds for the rest of the turn.

    Raises:
        TooLarge: it had to be asked, and there was nobody, or nobody answered in time.
        Parked: it has been asked, and is not answered yet.
        StorageFailed: the question could not be stored.
    """
    decision = await _decide(session, turn_id, excess, options, means)
    report("overflow", _tell(decision, excess.tool))
    return decision


async def _decide(
    session: LiveSession, turn_id: str, excess: Excess, options: TurnOptions, means: Means
) -> Decision:
    record = session.conversation.turns[turn_id]
    if excess.tool is None and _goes_on(record):
        return "continue"
    policy = overflow.choose_policy(
        options.overflow,
        means.overflow(),
        attended=session.hub.attended,
        detached=options.detach,
    )
    # Once it was asked, it is the answer that counts, whoever is there now.
    if find_question(record, "overflow", excess.key) is None:
        if policy is None:
            raise _explain(excess, f"there is nobody to ask what to do about it. {WITHOUT_ASKING}")
        if policy != "ask":
            return policy
    answer = await ask_person(
        session,
        turn_id,
        kind="overflow",
        subject=excess.key,
        text=excess.text,
        choices=excess.choices,
        is_detached=options.detach,
        now=means.now,
        more=_list_facts(excess),
    )
    decision = overflow.read_decision(answer.decision)
    if decision is not None:
        return decision
    if answer.by == EXPIRY and (options.overflow or means.overflow()) is None:
        return "compact"  # nobody said that a person has to decide: as if none had been there
    raise _explain(excess, f"nobody decided in time what to do about it. {WITHOUT_ASKING}")


def _list_facts(excess: Excess) -> dict[str, object]:
    facts: dict[str, object] = {
        "prompt": overflow.PROMPT,
        "tokens": excess.tokens,
        "window": excess.model.limits.context_window,
        "model": excess.model.name,
    }
    return facts if excess.tool is None else {**facts, "tool": excess.tool}


def _goes_on(record: TurnRecord) -> bool:
    """Whether a person has decided in this turn that the history is sent as it is."""
    return any(
        answer.decision == "continue" and _is_about_history(record.questions.get(question_id))
        for question_id, answer in record.answers.items()
    )


def _is_about_history(question: QuestionAsked | None) -> bool:
    if question is None or question.kind != "overflow":
        return False
    return not str(question.detail.get("subject")).startswith(overflow.OUTPUT_SUBJECT)


def _tell(decision: Decision, tool: str | None) -> str:
    """What is said of a decision."""
    match decision:
        case "compact":
            sentence = overflow.SUMMARIZING if tool is None else overflow.CUTTING
        case "reset":
            sentence = overflow.CLEARING if tool is None else overflow.BLANKING
        case "continue":
            sentence = overflow.CONTINUING if tool is None else overflow.SENDING
        case _:
            assert_never(decision)
    return sentence.format(tool=tool)


def _explain(excess: Excess, why: str) -> TooLarge:
    what = "The conversation" if excess.tool is None else f"The output of {excess.tool}"
    return TooLarge(f"{describe_excess(what, excess.tokens, excess.model)}, and {why}")
