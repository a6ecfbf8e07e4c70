"""What a model may see of a conversation: cleared, compacted, pruned, taken back."""

import trio

from ask.protocol.messages import (
    CompactResult,
    ConversationCompact,
    ConversationPrune,
    ConversationRef,
    Done,
    PruneResult,
    UndoResult,
)
from askd.errors import RequestError
from askd.providers.base import Caller
from askd.server import wire
from askd.server.handlers.models import check_model
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions import shrinking
from askd.sessions.chores import hand_over
from askd.sessions.triggers import REQUEST, make_job

LONGEST_WAIT_S = 3600.0
GOES_ON = "The compaction goes on in the background."


async def clear(house: House, peer: Peer, params: ConversationRef) -> Done:
    """Let models see nothing of what has been said so far; prompts that wait stay to be asked."""
    session = await house.sessions.get(params.conversation_id)
    await shrinking.clear(session, new_id=house.sessions.means.new_id)
    return Done(conversation_id=session.id)


async def compact(house: House, peer: Peer, params: ConversationCompact) -> CompactResult:
    """Have a job compact the conversation, and wait for how that ends."""
    if not 0 <= params.timeout_s <= LONGEST_WAIT_S:
        raise RequestError(f"timeout_s is from 0 to {LONGEST_WAIT_S:g}.")
    sessions, means = house.sessions, house.sessions.means
    session = await sessions.get(params.conversation_id)
    writer = {}
    if params.model is not None:
        await check_model(house, params.model, env=params.env, secrets=params.secrets)
        writer = {"model": params.model}
    if params.secrets:
        house.admission.learn_keys(params.secrets)
        session.compactions.keep_caller(Caller(env=params.env or {}, secrets=params.secrets))
    end = session.compactions.listen()
    await hand_over(session, make_job("compact", session, None, means, reason=REQUEST, **writer))
    session.compactions.expect()
    with trio.move_on_after(params.timeout_s):
        result = await end.wait()
        return wire.describe(CompactResult, result, conversation_id=session.id)
    return CompactResult(conversation_id=session.id, state="pending", text=GOES_ON)


async def prune(house: House, peer: Peer, params: ConversationPrune) -> PruneResult:
    """Prune the view now."""
    sessions, means = house.sessions, house.sessions.means
    session = await sessions.get(params.conversation_id)
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    model = await means.models.resolve(session.conversation.settings.model, caller)
    change = await shrinking.prune(session, model, means=means, reason=REQUEST)
    if change is None:
        return PruneResult(conversation_id=session.id, pruned=False)
    return PruneResult(
        conversation_id=session.id,
        pruned=True,
        tokens_before=change.tokens_before,
        tokens_after=change.tokens_after,
    )


async def undo(house: House, peer: Peer, params: ConversationRef) -> UndoResult:
    """Take the last compaction or pruning back."""
    session = await house.sessions.get(params.conversation_id)
    change = await shrinking.undo(session, new_id=house.sessions.means.new_id)
    if change is None:
        return UndoResult(conversation_id=session.id, undone=None)
    return UndoResult(
        conversation_id=session.id,
        undone=change.kind,
        tokens_before=change.tokens_before,
        tokens_after=change.tokens_after,
    )
