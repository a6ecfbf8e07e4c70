"""Overflow: the next request is too large, nothing more can safely leave, and someone decides.

The words that a person reads, the ways out, and the rule by which one of them is
taken without a person: for a history, and for a single tool output. And the change
that empties a view, with the note that stands in it then.
"""

from typing import Literal

from askd.core.bounds import Bounds
from askd.core.compaction import Count, find_old_exchanges
from askd.core.conversation import Conversation
from askd.core.events import ViewChanged
from askd.core.items import Summary
from askd.core.questions import Choice
from askd.core.sight import find_sight, find_staying

Policy = Literal["compact", "reset", "continue", "ask"]
Decision = Literal["compact", "reset", "continue"]

TEXT = "⚠️  Your conversation history is getting too large.\nChoose how you'd like to proceed:"
CHOICES = (
    Choice("compact", "Compact - Summarize the history and continue"),
    Choice("reset", "Reset - Clear the history and start fresh"),
    Choice("continue", "Continue - Keep the history as is (may cause issues)"),
)
PROMPT = "Enter your choice (1-3):"

OUTPUT_TEXT = (
    "⚠️  The output of {tool} is too large: about {tokens} tokens.\n"
    "Choose how you'd like to proceed:"
)
OUTPUT_CHOICES = (
    Choice("compact", "Compact - Cut its middle; the model can read the rest in parts"),
    Choice("reset", "Reset - Leave it out but for a line; the model can read it in parts"),
    Choice("continue", "Continue - Send it as is (may cause issues)"),
)
OUTPUT_SUBJECT = "output:"
"""What the subject of such a question begins with; the item's id follows."""

SUMMARIZING = "Summarizing conversation..."
CLEARING = "Clearing conversation history..."
CONTINUING = (
    "Warning: the history is sent as it is; the model may refuse it, or lose its beginning."
)
CUTTING = "Cutting the output of {tool}..."
BLANKING = "Leaving out the output of {tool}..."
SENDING = "Warning: the output of {tool} is sent as it is; the model may refuse it."
"""What is said once it is decided."""

HOPELESS = "Cannot compact: history too large even after truncation"
"""A compaction that could not make the next request fit."""

RESET_NOTE = (
    "The conversation before this message was cleared because it had become too large: about "
    "{tokens} tokens, of {window} that fit. Nothing of it can be seen any more; ask for what you "
    "need of it."
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


def make_reset(
    conversation: Conversation,
    turn_id: str,
    *,
    change_id: str,
    summary_id: str,
    bounds: Bounds,
    count: Count,
    overhead: int,
) -> ViewChanged | None:
    """What empties the view for a turn that runs; None: its request would not fit even then.

    Its own prompt and its latest exchange stay, and pinned items; its earlier exchanges
    leave only if that is not enough. A note in the view says what happened.

    Args:
        overhead: tokens of a request that are no items: the system prompt, tools.
    """
    sight = find_sight(conversation, turn_id)
    if sight.asking is None:
        return None
    before = overhead + count(sight.items)
    note = Summary(summary_id, RESET_NOTE.format(tokens=before, window=bounds.budget))
    through = _find_before(conversation, turn_id)
    old = find_old_exchanges(sight, conversation)
    pinned = [*sight.pinned, *find_staying(sight.turns, conversation.pinned)]
    for leaves in ((), old) if through is not None else (old,):
        gone = {item.id for item in leaves}
        asking = [item for item in sight.asking.items if item.id not in gone]
        after = overhead + count([*pinned, note, *asking])
        if after <= bounds.budget and after < before:
            return ViewChanged(
                change_id,
                # A clear that names no turn would hide the one that runs.
                "prune" if through is None else "clear",
                through,
                dropped_items=tuple(item.id for item in leaves),
                summary=note,
                tokens_before=before,
                tokens_after=after,
                up_to_seq=conversation.last_seq,
                reason="overflow",
            )
    return None


def _find_before(conversation: Conversation, turn_id: str) -> str | None:
    """The last turn before this one; None: it is the first."""
    position = conversation.turns[turn_id].position
    earlier = [
        each for each in conversation.started if conversation.turns[each].position < position
    ]
    return max(earlier, key=lambda each: conversation.turns[each].position, default=None)
