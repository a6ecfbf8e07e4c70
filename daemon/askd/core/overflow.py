"""Overflow: the next request is too large, nothing more can safely leave, and someone decides.

The words that a person reads, the ways out, and the rule by which one of them is
taken without a person. It measures nothing and changes no view.
"""

from typing import Literal

from askd.core.questions import Choice

Policy = Literal["compact", "reset", "continue", "ask"]
Decision = Literal["compact", "reset", "continue"]

TEXT = "⚠️  Your conversation history is getting too large.\nChoose how you'd like to proceed:"
CHOICES = (
    Choice("compact", "Compact - Summarize the history and continue"),
    Choice("reset", "Reset - Clear the history and start fresh"),
    Choice("continue", "Continue - Keep the history as is (may cause issues)"),
)
PROMPT = "Enter your choice (1-3):"

SUMMARIZING = "Summarizing conversation..."
CLEARING = "Clearing conversation history..."
CONTINUING = (
    "Warning: the history is sent as it is; the model may refuse it, or lose its beginning."
)
"""What is said once it is decided."""

HOPELESS = "Cannot compact: history too large even after truncation"
"""A compaction that could not make the next request fit."""

RESET_NOTE = (
    "The conversation before this message was cleared because it had become too large: about "
    "{tokens} tokens, of {window} that fit. Nothing of it can be seen any more."
)
"""What a model reads in place of what was cleared."""


def choose_policy(
    said: Policy | None, setting: Policy | None, *, attended: bool, detached: bool
) -> Policy | None:
    """What to do; `ask` only where somebody will hear it, None: it had to be asked, and cannot be.

    Args:
        said: with the prompt.
        setting: the setting, where the prompt says nothing.
        attended: a person is there.
        detached: the turn may wait until one is.
    """
    policy = said or setting
    if policy is None:
        return "ask" if attended else "compact"
    if policy == "ask" and not (attended or detached):
        return None
    return policy


def read_decision(text: str) -> Decision | None:
    """A decision as it was answered; None: it is none of the choices."""
    match text:
        case "compact" | "reset" | "continue":
            return text
        case _:
            return None
