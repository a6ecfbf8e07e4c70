"""Events: everything that can be appended to a conversation's log.

Each body is a value with a `TYPE` and a `VERSION`; `Event` is the envelope that
the writer adds when it commits one. Bodies name turns and items by id, never by
`seq`, so that a fork can copy them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from askd.core.instructions import InstructionFile
from askd.core.items import Item, Summary, ToolOutput, UserMessage
from askd.core.outcome import Outcome, Stop, Usage
from askd.core.records import Json, decode, encode


@dataclass(frozen=True, slots=True)
class ConversationCreated:
    """Always seq 1."""

    TYPE: ClassVar[str] = "conversation_created"
    id: str
    name: str | None = None
    forked_from: str | None = None


@dataclass(frozen=True, slots=True)
class Renamed:
    """The conversation has another name, or none."""

    TYPE: ClassVar[str] = "renamed"
    name: str | None


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings from here on; a field that is None stays as it was."""

    TYPE: ClassVar[str] = "settings_changed"
    model: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    instructions: bool | None = None
    """Whether its turns get those of the caller's project."""


@dataclass(frozen=True, slots=True)
class InstructionsChanged:
    """What turns get from here on as the instructions of the project; none: nothing."""

    TYPE: ClassVar[str] = "instructions_changed"
    files: tuple[InstructionFile, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What a prompt asked for, beyond its words. None: not said, a default decides."""

    model: str | None = None
    system: str | None = None
    detach: bool = False
    timeout_s: float | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    effort: str | None = None
    answer_schema: Mapping[str, Any] | None = None
    """A JSON schema that the answer must fit; one that does not is asked for once more."""
    overflow: Literal["compact", "reset", "continue", "ask"] | None = None
    """What to do when a request of this turn does not fit, and nothing can safely leave it."""
    tools: tuple[str, ...] | None = None
    """Which tools are offered: names, patterns of names, and groups of them; empty: none."""
    approve: Literal["deny", "ask", "auto"] | None = None
    """What becomes of a call that needs a person's word."""
    instructions: bool | None = None
    """Whether the turn gets those of the caller's project; `False` takes none away for good."""
    notify: bool | None = None
    """Whether somebody is told elsewhere when the turn ends or asks; None: a setting says it."""
    toolless: bool | None = None
    """True: no tools in this turn, for whoever asks stands nowhere; nothing is remembered of it."""


@dataclass(frozen=True, slots=True)
class PromptAccepted:
    """A prompt that will get exactly one turn. `env` is the caller's, allow-listed."""

    TYPE: ClassVar[str] = "prompt_accepted"
    turn_id: str
    key: str
    items: tuple[UserMessage, ...]
    options: TurnOptions = TurnOptions()
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    caller_credentials: bool = False
    """The caller sent its own provider keys; after a crash the turn waits for them."""
    cwd_id: str | None = None
    """`DEVICE:INODE` of `cwd`: tools run in that directory, and in no other of its name."""


@dataclass(frozen=True, slots=True)
class PromptSteered:
    """A prompt that was accepted into a turn that runs, and has none of its own.

    Where in the turn it is heard is told by the `item_added` of each of its items, which comes
    when nothing of the turn runs, and before the turn's end at the latest.
    """

    TYPE: ClassVar[str] = "prompt_steered"
    turn_id: str
    key: str
    items: tuple[UserMessage, ...]


@dataclass(frozen=True, slots=True)
class PromptWithdrawn:
    """A queued prompt was taken back; a `turn_finished` follows in the same transaction."""

    TYPE: ClassVar[str] = "prompt_withdrawn"
    turn_id: str


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The turn left the queue; `model` is the one that it resolved to."""

    TYPE: ClassVar[str] = "turn_started"
    turn_id: str
    attempt: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ItemAdded:
    """Content. `turn_id` None: a notice outside a turn. `completion` counts from 1."""

    TYPE: ClassVar[str] = "item_added"
    turn_id: str | None
    item: Item
    completion: int | None = None
    status: Literal["complete", "interrupted", "superseded"] = "complete"


@dataclass(frozen=True, slots=True)
class CompletionFinished:
    """A provider's own end of one answer."""

    TYPE: ClassVar[str] = "completion_finished"
    turn_id: str
    completion: int
    stop: Stop
    usage: Usage | None = None
    measured: Mapping[str, Any] | None = None
    """The request's size by class of text, as `tokens.encode_size` says it; with the usage it
    teaches what this model makes of a text."""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The turn waits for a person. `digest` binds the answer to what was shown."""

    TYPE: ClassVar[str] = "question_asked"
    turn_id: str
    question_id: str
    kind: Literal["approval", "overflow", "elicitation"]
    digest: str
    detail: Mapping[str, Any]
    expires_at: float


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """The first answer. `by` names who: a terminal, a policy, `expiry`, `closed`."""

    TYPE: ClassVar[str] = "question_answered"
    turn_id: str
    question_id: str
    by: str
    decision: str
    reason: str | None = None
    """What the person said beside the decision."""
    content: Mapping[str, Any] | None = None
    """With the decision `accept` of an elicitation: what was asked for."""


HeadItem = UserMessage | Summary
"""What can stand in front of a view, in place of what left it."""


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """What a model may see has changed; the log has not.

    Attributes:
        through_turn: every turn up to and including this one leaves the view, but for pinned items.
        dropped_items: single items that leave it: whole exchanges of the turns that stay.
        stubbed_items: tool outputs of which only a line stays.
        shortened: for `shorten`, tool outputs as they are seen from here on, under their own ids:
            the log has each of them whole. Nothing takes that back.
        kept, summary: what stands in front of what remains, in this order, in place of all that
            stood there before; messages that are whole have the ids that they had.
        restored: for `undo`, the id of the change that is taken back.
        tokens_before, tokens_after: of the next request, about.
        model, usage: who wrote the summary, and what that took.
        truncated: items that were left out of what the summary was made from.
        up_to_seq: the log as it was when this was planned; what came later stays as it is.
        reason: what caused it: a person, a threshold, an overflow.
    """

    TYPE: ClassVar[str] = "view_changed"
    id: str
    kind: Literal["prune", "compact", "clear", "undo", "shorten"]
    through_turn: str | None = None
    dropped_items: tuple[str, ...] = ()
    summary: Summary | None = None
    restored: str | None = None
    stubbed_items: tuple[str, ...] = ()
    kept: tuple[HeadItem, ...] = ()
    tokens_before: int | None = None
    tokens_after: int | None = None
    model: str | None = None
    usage: Usage | None = None
    truncated: int = 0
    up_to_seq: int | None = None
    reason: str | None = None
    shortened: tuple[ToolOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemPinned:
    """This item never leaves the view; None: the conversation is one to keep."""

    TYPE: ClassVar[str] = "item_pinned"
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemUnpinned:
    """This item may leave the view again; None: the conversation is one like the others."""

    TYPE: ClassVar[str] = "item_unpinned"
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Titled:
    """A title was found for the conversation; a name given by a person stays above it."""

    TYPE: ClassVar[str] = "titled"
    title: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The one end of a turn. `code` is an exit code; `message` a sentence if it failed."""

    TYPE: ClassVar[str] = "turn_finished"
    turn_id: str
    outcome: Outcome
    code: int
    usage: Usage | None = None
    reason: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class UnknownBody:
    """An event of a type that this version does not know, kept as it came."""

    TYPE: ClassVar[str] = "unknown"
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that is there and cannot be relied on: kept, shown to people, told to no model.

    It stands for what is stored, and is never stored in its place. `of_type` is what the
    record says that it is; `why` a few words; what it holds is `text`, or `base64` if it is
    none. `turn_id`: the turn that it names, if that much can be read.
    """

    TYPE: ClassVar[str] = "unreadable"
    of_type: str
    why: str
    turn_id: str | None = None
    text: str | None = None
    base64: str | None = None


Body = (
    ConversationCreated
    | Renamed
    | SettingsChanged
    | InstructionsChanged
    | PromptAccepted
    | PromptSteered
    | PromptWithdrawn
    | TurnStarted
    | ItemAdded
    | CompletionFinished
    | QuestionAsked
    | QuestionAnswered
    | ViewChanged
    | ItemPinned
    | ItemUnpinned
    | Titled
    | TurnFinished
    | Unreadable
    | UnknownBody
)

VERSION = 1
"""The version of every body above. A body that changes its meaning gets its own, higher one."""


@dataclass(frozen=True, slots=True)
class Event:
    """One appended record: `seq` is 1..n without a gap in its conversation, `at` unix seconds."""

    conversation_id: str
    seq: int
    at: float
    body: Body
    version: int = VERSION

    @property
    def type(self) -> str:
        """The body's type, also when this version does not know it."""
        if isinstance(self.body, UnknownBody):
            return str(self.body.raw.get("type", "unknown"))
        return self.body.TYPE


def encode_body(body: Body) -> dict[str, Json]:
    """The body as JSON-like data, with its `type`."""
    record: dict[str, Json] = encode(body)
    return record


def decode_body(data: Json) -> Body:
    """Read a stored body; raise `BadRecord` when a known type does not have its shape."""
    body: Body = decode(Body, data)  # type: ignore[arg-type]
    return body
