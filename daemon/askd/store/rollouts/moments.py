"""When a conversation's file is written: at each end of a turn, and at what no turn holds.

Pure; a file is not opened for every word of an answer.
"""

from askd.core.events import (
    CompletionFinished,
    Event,
    ItemAdded,
    PromptAccepted,
    PromptWithdrawn,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
)


def is_end(event: Event) -> bool:
    """Whether it ends a turn."""
    return isinstance(event.body, TurnFinished | PromptWithdrawn)


def is_within_turn(event: Event) -> bool:
    """Whether it belongs to a turn whose end is still to come."""
    match event.body:
        case (
            PromptAccepted()
            | TurnStarted()
            | CompletionFinished()
            | QuestionAsked()
            | QuestionAnswered()
            | ItemAdded(turn_id=str())
        ):
            return True
        case _:
            return False
