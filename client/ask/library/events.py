"""What happens in a conversation, as values: what models say, call and ask, and how turns end.

Pure: maps of the wire go in. Text is as it came: whoever shows it on a terminal
takes control sequences out. What this version does not know is an `Other`.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

Map = Mapping[str, Any]
Outcome = Literal["completed", "failed", "interrupted", "withdrawn"]
"""How a turn ended. Withdrawn: it was taken back before it began."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the provider counted them; `cost_usd` is None where no price is known.

    Cached tokens are a part of the input, reasoning tokens of the output.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a question can be answered with: the word for `Client.answer`, and one for people."""

    decision: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """What every event has.

    Attributes:
        conversation_id: where it happened.
        turn_id: in which turn; None: outside of all.
        seq: its place in the log, 1 and up without a gap; None: it is not in the log.
        at: when it was stored, in unix seconds; None: it is not.
        raw: the map of the wire, with all that is not a field here.
    """

    conversation_id: str
    turn_id: str | None = None
    seq: int | None = None
    at: float | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Accepted(Happening):
    """A prompt was stored, and will get exactly one turn. `text`: its words, and what text was
    attached."""

    text: str


@dataclass(frozen=True, slots=True)
class Started(Happening):
    """The turn left the queue. With an `attempt` beyond 1 what it had said before is void."""

    attempt: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TextDelta(Happening):
    """A piece of an answer. All pieces of an item, put together, are its message's text."""

    text: str
    _: KW_ONLY
    item_id: str
    offset: int


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Happening):
    """A piece of what a model thinks aloud."""

    text: str
    _: KW_ONLY
    item_id: str
    offset: int


@dataclass(frozen=True, slots=True)
class ArgumentsDelta(Happening):
    """A piece of a call's arguments, while they are written; `ToolCall` has them whole."""

    text: str
    _: KW_ONLY
    item_id: str
    offset: int


@dataclass(frozen=True, slots=True)
class Message(Happening):
    """What a model said, whole. `superseded`: by a later attempt; no model will see it again."""

    text: str
    _: KW_ONLY
    item_id: str
    status: Literal["complete", "interrupted", "superseded"] = "complete"
    reasoning: str = ""
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall(Happening):
    """A model wants a tool to be run. `arguments` is the JSON text that it wrote."""

    name: str
    arguments: str
    _: KW_ONLY
    call_id: str


@dataclass(frozen=True, slots=True)
class ToolOutput(Happening):
    """What a call came to. `synthetic`: why no tool said it, if none did."""

    name: str
    text: str
    _: KW_ONLY
    call_id: str
    is_error: bool = False
    synthetic: str | None = None


@dataclass(frozen=True, slots=True)
class Question(Happening):
    """The turn waits for a person; `Client.answer` answers it, the first answer counts.

    Attributes:
        kind: `approval`, `overflow` or `elicitation`.
        text: what a person is to read.
        choices: what can be decided; none: `detail` says what is wanted.
        digest: binds the answer to what was shown.
        expires_at: until when it can be answered, in unix seconds.
    """

    text: str
    _: KW_ONLY
    question_id: str
    kind: str
    digest: str
    expires_at: float
    choices: tuple[Choice, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Answered(Happening):
    """A question is no longer open. `by`: a terminal or a program, `expiry`, `closed`, ..."""

    decision: str
    _: KW_ONLY
    question_id: str
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Progress(Happening):
    """Something takes its time, or was decided for you; a sentence for people."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Finished(Happening):
    """The turn is over.

    Attributes:
        outcome: how it ended.
        code: what `ask` would exit with; 0: the answer is whole.
        reason: a word for programs, if it did not go well.
        message: a sentence, if it did not go well.
        usage: what all of its answers took; None: nobody counted.
    """

    outcome: Outcome
    code: int
    _: KW_ONLY
    reason: str | None = None
    message: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Other(Happening):
    """Anything else: `type` says what, `raw` has the rest."""

    type: str


Event = (
    Accepted
    | Started
    | TextDelta
    | ReasoningDelta
    | ArgumentsDelta
    | Message
    | ToolCall
    | ToolOutput
    | Question
    | Answered
    | Progress
    | Finished
    | Other
)
"""All that a turn and a subscription bring. Later versions may bring more."""


def read_usage(record: Map | None) -> Usage | None:
    """What was counted; None: nothing was."""
    if record is None:
        return None
    return Usage(**{name: record[name] for name in Usage.__slots__ if name in record})


def read_question(event: Map) -> Question:
    """The question of a `question_asked`, or of a job."""
    detail = event.get("detail")
    detail = detail if isinstance(detail, Mapping) else {}
    choices = (each for each in detail.get("choices") or () if isinstance(each, Mapping))
    return Question(
        text=str(detail.get("text", "")),
        question_id=str(event["question_id"]),
        kind=str(event["kind"]),
        digest=str(event["digest"]),
        expires_at=float(event["expires_at"]),
        choices=tuple(
            Choice(str(each["decision"]), str(each.get("label", each["decision"])))
            for each in choices
            if "decision" in each
        ),
        detail=detail,
        **locate(event),
    )


def encode_answer(
    question: Question, decision: str, *, reason: str | None = None, content: Map | None = None
) -> dict[str, Any]:
    """The parameters of `question/answer`."""
    said = {"reason": reason, "content": None if content is None else dict(content)}
    return {
        "conversation_id": question.conversation_id,
        "question_id": question.question_id,
        "digest": question.digest,
        "decision": decision,
        **{name: each for name, each in said.items() if each is not None},
    }


def locate(record: Map) -> dict[str, Any]:
    """The fields of a `Happening`, from a map of the wire."""
    return {
        "conversation_id": str(record["conversation_id"]),
        "turn_id": record.get("turn_id"),
        "seq": record.get("seq"),
        "at": record.get("at"),
        "raw": record,
    }
