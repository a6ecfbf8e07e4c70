"""Changes of a view that need no model: pruned, cleared, emptied for a turn, taken back.

Each is decided on and committed in one step through the door of `views`. It says in the
log what a pruning does, and asks nobody.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from askd.core.conversation import Conversation
from askd.core.events import ViewChanged
from askd.core.exchanges import split_exchanges
from askd.core.items import AssistantMessage
from askd.core.overflow import make_reset
from askd.core.pruning import plan_pruning
from askd.core.sight import find_sight
from askd.providers.base import Model
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.summaries import make_count
from askd.sessions.triggers import count_messages, estimate_request
from askd.sessions.views import change_view
from askd.store.log import Fence

log = logging.getLogger(__name__)


async def prune(
    session: LiveSession,
    model: Model,
    *,
    means: Means,
    reason: str,
    fulfils: Fence | None = None,
) -> ViewChanged | None:
    """Prune the view to the bounds of this model; None: nothing that may leave would help.

    Raises:
        NotFound, Busy, StorageFailed: as `change_view` does.
    """
    bounds = means.context().bounds(model)
    # To just below whichever begins first: left larger, it would be pruned again at once.
    bounds = replace(bounds, compact_above=min(bounds.compact_above, bounds.prune_from))
    count = make_count(means, model)
    before = 0

    def make(conversation: Conversation) -> ViewChanged | None:
        nonlocal before
        overhead = find_overhead(conversation, model, means)
        before = _count(conversation)
        change = plan_pruning(
            conversation,
            change_id=means.new_id(),
            summary_id=means.new_id(),
            bounds=bounds,
            count=count,
            overhead=overhead,
            reason=reason,
        )
        if change is not None:
            log.info(
                "Pruning conversation: tokens=%s/%d, threshold=%d",
                change.tokens_before,
                bounds.budget,
                bounds.prune_from,
            )
            _log_exchanges(conversation, change)
        return change

    change = await change_view(session, make, fulfils=fulfils)
    if change is not None:
        log.info(
            "Pruning complete: removed %d messages, tokens now %s/%d",
            max(0, before - _count(session.conversation)),
            change.tokens_after,
            bounds.budget,
        )
    return change


async def clear(session: LiveSession, *, new_id: Callable[[], str]) -> ViewChanged | None:
    """Hide all that has been said from models; prompts that wait stay to be asked.

    None: nothing has been said. Raises as `change_view` does.
    """

    def make(conversation: Conversation) -> ViewChanged | None:
        started = conversation.started
        return ViewChanged(new_id(), "clear", through_turn=started[-1]) if started else None

    return await change_view(session, make)


async def reset(
    session: LiveSession, turn_id: str, model: Model, *, means: Means
) -> ViewChanged | None:
    """Empty the view for a turn that runs; a message in the new view says what happened.

    None: the turn's own request would not fit even then. Raises as `change_view` does.
    """

    def make(conversation: Conversation) -> ViewChanged | None:
        return make_reset(
            conversation,
            turn_id,
            change_id=means.new_id(),
            summary_id=means.new_id(),
            bounds=means.context().bounds(model),
            count=make_count(means, model),
            overhead=find_overhead(conversation, model, means),
        )

    return await change_view(session, make)


async def undo(session: LiveSession, *, new_id: Callable[[], str]) -> ViewChanged | None:
    """Take the last pruning or compaction back; answers with the one taken back, None: none is.

    Raises as `change_view` does.
    """
    found: ViewChanged | None = None

    def make(conversation: Conversation) -> ViewChanged | None:
        nonlocal found
        found = conversation.views.find_undoable()
        if found is None:
            return None
        return ViewChanged(new_id(), "undo", restored=found.id)

    await change_view(session, make)
    return found


def find_overhead(conversation: Conversation, model: Model, means: Means) -> int:
    """Tokens of the next request that are no items: its frame, the system prompt, tools."""
    return estimate_request(conversation, (), model=model, means=means)


def _count(conversation: Conversation) -> int:
    """The messages that a model can see."""
    return count_messages(find_sight(conversation, conversation.running).items)


def _log_exchanges(conversation: Conversation, change: ViewChanged) -> None:
    """Every call that leaves with its outputs."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    gone = set(change.dropped_items)
    through = change.through_turn
    position = -1 if through is None else conversation.turns[through].position
    sight = find_sight(conversation, conversation.running)
    for turn in (*sight.turns, *([] if sight.asking is None else [sight.asking])):
        for piece in split_exchanges(turn.items):
            leaves = turn.position <= position or piece[0].id in gone
            if leaves and isinstance(piece[0], AssistantMessage):
                for call in piece[0].calls:
                    log.debug(
                        "Pruning tool call pair atomically: call_id=%s, message_count=%d",
                        call.call_id,
                        len(piece),
                    )
