"""What a turn hears and what it says: the inputs and commands of its machine.

Values only. Inputs say what has happened, commands what is to be done; the
machine between them is `askd.core.turn`, which hands all of these names on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from askd.core.events import Body
from askd.core.items import AssistantMessage, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import Failure, Outcome, Stop, Usage

# ---- inputs: what has happened ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """The turn left the queue."""

    attempt: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """A turn that was rebuilt from its log goes on as the same attempt."""


@dataclass(frozen=True, slots=True)
class CompletionEnded:
    """The model's answer is whole. `completion`, if given, says which one ended.

    `objection`: the answer will not do, and why; a sentence for the model and for people.
    `measured`: the request's size by class of text.
    """

    message: AssistantMessage
    stop: Stop
    usage: Usage | None = None
    completion: int | None = None
    objection: str | None = None
    measured: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class CompletionFailed:
    """The answer failed or was cut; `partial` is what had come."""

    failure: Failure
    partial: AssistantMessage | None = None
    completion: int | None = None


@dataclass(frozen=True, slots=True)
class CompletionCancelled:
    """The answer to `CancelModel`; `partial` is what had come."""

    partial: AssistantMessage | None = None
    completion: int | None = None


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool ended, well or not, or was stopped."""

    output: ToolOutput


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Someone or something ends the turn: a person, a time limit, the daemon's stop.

    `outcome` is `failed` where the turn itself could not go on.
    """

    code: int
    reason: str
    message: str
    outcome: Literal["interrupted", "failed"] = "interrupted"


@dataclass(frozen=True, slots=True)
class Steered:
    """A message that joins the running turn."""

    message: UserMessage


Input = (
    Started
    | Resumed
    | CompletionEnded
    | CompletionFailed
    | CompletionCancelled
    | ToolReturned
    | Interrupted
    | Steered
)

# ---- commands: what to do -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Append:
    """Commit this body before anything that follows it."""

    body: Body


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask for completion number `completion`, whose message will be `item_id`."""

    completion: int
    item_id: str


@dataclass(frozen=True, slots=True)
class CancelModel:
    """Stop the running completion; `CompletionCancelled` is the answer."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run this call; its output's item id is `item_id`; `ToolReturned` is the answer."""

    call: ToolCall
    item_id: str


@dataclass(frozen=True, slots=True)
class StopTools:
    """Stop every running tool; each still answers with `ToolReturned`."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is over and its `turn_finished` is appended; feed nothing more."""

    outcome: Outcome
    code: int


Command = Append | CallModel | CancelModel | RunTool | StopTools | Finish
