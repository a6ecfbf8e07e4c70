"""Recovery: what to do with each turn that a daemon left without an end.

Decided from the log and from the texts that were still growing, as values; the
shell carries them out. Nothing is guessed about the world: a tool that may have
started is taken to have started, and a turn that may have had effects is ended
and not repeated. Neither is one that may have ended in a record that cannot be read.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass

from askd.core import outcome
from askd.core.approval_questions import YES
from askd.core.conversation import Conversation, TurnRecord
from askd.core.events import Body, ItemAdded, QuestionAnswered, QuestionAsked, TurnFinished
from askd.core.grants import ALWAYS
from askd.core.items import AssistantMessage, Reasoning, Text, ToolOutput, UserMessage
from askd.core.outcome import Outcome
from askd.core.pairs import name_outputs
from askd.core.questions import close_elicitations, find_parking
from askd.core.turn import Append, Interrupted, Turn

SECRETS_WAIT_S = 60.0
"""How long a caller whose connection broke has to come back with its keys."""
MAX_ATTEMPTS = 5
"""A turn that was running each time the daemon died may be why it died."""

STOPPED = "The daemon stopped while this turn was running; what it had said so far is kept."
DRAINED = "Interrupted: the daemon was stopped."
"""What it says itself of a turn that it cannot wait for."""
DOUBT = (
    "A record of this turn cannot be read, and with it how the turn went: it is ended and not "
    "run again; what can be read is kept."
)

PartialText = tuple[str, str, str, str]
"""Text that was still growing: (turn_id, item_id, kind, text)."""


@dataclass(frozen=True, slots=True)
class RunIt:
    """It had not started: it takes its place in the queue."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class StayParked:
    """It waits for a person, and goes on waiting."""

    turn_id: str
    question: QuestionAsked


@dataclass(frozen=True, slots=True)
class Retry:
    """Append `bodies` (what the last attempt had begun to say, superseded), then start it again.

    The machine is `Turn.rebuild`, its first input `Started(attempt)`.
    """

    turn_id: str
    attempt: int
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """Append `bodies`, in one transaction: the last of them is the turn's end."""

    turn_id: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class WaitForSecrets:
    """Wait for `key` to be repeated with its caller's secrets, or for `wait_s`; then do `then`.

    Without them the turn uses the daemon's own keys, else ends failed with code 4.
    """

    turn_id: str
    key: str
    wait_s: float
    then: RunIt | Retry


Plan = RunIt | StayParked | Retry | Close | WaitForSecrets


def plan_recovery(
    conversation: Conversation,
    partials: Iterable[PartialText] = (),
    *,
    harmless_tools: Set[str] = frozenset(),
) -> list[Plan]:
    """One plan for each unfinished turn: those that had started first, then the queue.

    `partials` may hold texts of other turns and of items that were committed
    after all. `harmless_tools`: names of tools whose repetition has no effect.
    """
    texts: dict[str, list[PartialText]] = {}
    for partial in partials:
        texts.setdefault(partial[0], []).append(partial)
    return [
        _plan_turn(conversation.turns[each], texts.get(each, []), harmless_tools)
        for each in conversation.unfinished
    ]


def _plan_turn(
    record: TurnRecord,
    texts: list[PartialText],
    harmless_tools: Set[str],
) -> Plan:
    turn_id = record.prompt.turn_id
    last = record.last
    if not record.attempt:
        if record.in_doubt or record.withdrawn:
            return Close(turn_id, (_end_unstarted(record),))
        return _with_secrets(record, RunIt(turn_id))
    # All that is asked of one answer is asked before any of its calls runs, and one answer is
    # not enough for that where several are waited for.
    parked = find_parking(record) if isinstance(last, QuestionAsked | QuestionAnswered) else []
    if parked and not record.in_doubt:
        return StayParked(turn_id, parked[0])
    # A call that asked something in its middle is over, and what it asked with it.
    closed = close_elicitations(record)
    partials = _join_partials(record, texts)
    told = last if isinstance(last, QuestionAnswered) and not partials else None
    if told is not None and _was_left(told, record, harmless_tools):
        return _with_secrets(record, Retry(turn_id, record.attempt + 1, tuple(closed)))
    if can_repeat(record, harmless_tools):
        bodies = tuple(
            ItemAdded(turn_id, message, number, "superseded") for number, message in partials
        )
        return _with_secrets(record, Retry(turn_id, record.attempt + 1, (*closed, *bodies)))
    kept = [ItemAdded(turn_id, message, number, "interrupted") for number, message in partials]
    *rest, end = _end_turn(record)
    # Outputs first: nothing may stand between a call and its own. What was said to what was
    # being answered, and has not joined yet, comes after that.
    outputs = [each for each in rest if not _is_said(each)]
    said = [each for each in rest if _is_said(each)]
    return Close(turn_id, (*closed, *outputs, *kept, *said, end))


def _was_left(answer: QuestionAnswered, record: TurnRecord, harmless_tools: Set[str]) -> bool:
    """Whether the turn had come to nothing since it was told what a person wants.

    Answered while nobody ran it, or so shortly before the end that nothing was said yet. A call
    that was allowed may have begun by then; where each was refused, or changes nothing, and
    between completions nothing had. It is another attempt all the same, or what kills the
    daemon here would do so for ever.
    """
    asked = record.questions.get(answer.question_id)
    if asked is None or record.in_doubt or record.attempt >= MAX_ATTEMPTS:
        return False
    match asked.kind:
        case "overflow":
            return True
        case "approval":
            calls = _find_last_calls(record)
            refused = _find_refused(record)
            return all(id in refused or name in harmless_tools for id, name in calls.items())
        case _:
            return False


def _with_secrets(record: TurnRecord, plan: RunIt | Retry) -> Plan:
    prompt = record.prompt
    if not prompt.caller_credentials:
        return plan
    return WaitForSecrets(prompt.turn_id, prompt.key, SECRETS_WAIT_S, plan)


def can_repeat(record: TurnRecord, harmless_tools: Set[str]) -> bool:
    """Whether a turn that had started can be run again after its daemon's end."""
    if not record.prompt.options.detach or record.attempt >= MAX_ATTEMPTS:
        return False
    if record.in_doubt:
        return False
    # Only the end is missing: there is nothing to repeat.
    if Turn.rebuild(record).is_answered:
        return False
    items = [added.item for added in record.items]
    # An `interrupted` output does not say whether its tool had begun: it is taken to have.
    never_ran = {
        item.call_id
        for item in items
        if isinstance(item, ToolOutput) and item.synthetic in ("denied", "unknown_tool")
    }
    refused = _find_refused(record)
    return all(
        call.name in harmless_tools or call.call_id in never_ran or item_id in refused
        for item in items
        if isinstance(item, AssistantMessage)
        for item_id, call in name_outputs(item)
    )


def _find_refused(record: TurnRecord) -> set[str]:
    """Calls that never ran, for they were asked about and nobody allowed them: their items."""
    asked = {
        str(question.detail.get("subject")): False
        for question in record.questions.values()
        if question.kind == "approval"
    }
    for question_id, answer in record.answers.items():
        question = record.questions.get(question_id)
        if question is not None and answer.decision in (YES, ALWAYS):
            asked[str(question.detail.get("subject"))] = True
    return {subject for subject, allowed in asked.items() if not allowed}


def _find_last_calls(record: TurnRecord) -> dict[str, str]:
    """The tools that the turn's last answer calls, by the ids of their outputs."""
    for added in reversed(record.items):
        if isinstance(added.item, AssistantMessage) and added.status != "superseded":
            return {id: call.name for id, call in name_outputs(added.item)}
    return {}


def _end_turn(record: TurnRecord) -> list[Body]:
    """What the turn's own machine appends when it is ended with nothing running."""
    commands = Turn.rebuild(record).feed(
        Interrupted(outcome.FAILED, "interrupted", DOUBT if record.in_doubt else STOPPED)
    )
    return [command.body for command in commands if isinstance(command, Append)]


def _is_said(body: Body) -> bool:
    """Whether it is a message of a person that joins the turn."""
    return isinstance(body, ItemAdded) and isinstance(body.item, UserMessage)


def is_by_person(end: TurnFinished) -> bool:
    """Whether a person stopped the turn: a time limit, a full disk and a crash are no person."""
    is_stopped = end.outcome == "interrupted" and end.code == outcome.FAILED
    return is_stopped and end.message not in (STOPPED, DOUBT)


def _end_unstarted(record: TurnRecord) -> TurnFinished:
    """The end of a turn of which nobody knows whether it had begun, or was withdrawn."""
    how: Outcome = "withdrawn" if record.withdrawn else "interrupted"
    return TurnFinished(record.prompt.turn_id, how, outcome.FAILED, None, how, DOUBT)


def _join_partials(
    record: TurnRecord, texts: list[PartialText]
) -> list[tuple[int, AssistantMessage]]:
    """The messages that were still growing, with the numbers of their completions.

    Arguments of calls are left out: half a call is no call.
    """
    committed = {added.item.id for added in record.items}
    provider = record.model.partition("/")[0] if record.model else None
    said: dict[str, dict[str, str]] = {}
    for _, item_id, kind, text in texts:
        if item_id not in committed and text:
            kinds = said.setdefault(item_id, {})
            kinds[kind] = kinds.get(kind, "") + text
    return [
        (
            _number_of(record, item_id),
            AssistantMessage(
                id=item_id,
                parts=(Text(kinds["text"]),) if "text" in kinds else (),
                reasoning=(Reasoning(kinds["reasoning"]),) if "reasoning" in kinds else (),
                provider=provider,
                model=record.model,
            ),
        )
        for item_id, kinds in said.items()
        if "text" in kinds or "reasoning" in kinds
    ]


def _number_of(record: TurnRecord, item_id: str) -> int:
    """The completion that an item's id names; else the one after the last known."""
    number = item_id.removeprefix(f"{record.prompt.turn_id}.")
    # Only as many digits as a completion can have: ids come from a file.
    if number.isascii() and number.isdecimal() and len(number) < 10:
        return int(number)
    return record.completions + 1
