"""Uncertainty: which turns a record that cannot be read may have belonged to.

Pure. A turn in doubt may have begun, said something or ended in that record, so
nothing of it is run again; nothing else is concluded from what cannot be read.
"""

from collections.abc import Iterable

from askd.core.events import (
    CompletionFinished,
    ConversationCreated,
    InstructionsChanged,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
    PromptAccepted,
    PromptSteered,
    QuestionAnswered,
    QuestionAsked,
    Renamed,
    SettingsChanged,
    Titled,
    UnknownBody,
    Unreadable,
    ViewChanged,
)

OF_NO_TURN = frozenset(
    each.TYPE
    for each in (
        ConversationCreated,
        Renamed,
        Titled,
        SettingsChanged,
        InstructionsChanged,
        ViewChanged,
        ItemPinned,
        ItemUnpinned,
        PromptAccepted,  # the turn that it begins is one that nobody knows of
    )
)
OF_A_RUNNING_TURN = frozenset(
    each.TYPE
    for each in (ItemAdded, CompletionFinished, QuestionAsked, QuestionAnswered, PromptSteered)
)


def find_doubtful(body: Unreadable, *, running: Iterable[str], waiting: Iterable[str]) -> list[str]:
    """The turns, of those that run and those that wait, to which the record may belong."""
    running, waiting = list(running), list(waiting)
    if body.turn_id in running or body.turn_id in waiting:
        return [body.turn_id]
    if body.of_type in OF_NO_TURN:
        return []
    return running if body.of_type in OF_A_RUNNING_TURN else [*running, *waiting]


def may_accept(body: Unreadable) -> bool:
    """Whether the record may be an accepted prompt."""
    return body.of_type in (PromptAccepted.TYPE, UnknownBody.TYPE)
