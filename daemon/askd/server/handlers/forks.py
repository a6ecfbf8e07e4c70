"""A conversation goes on as another one. What a fork is, `core.forks` says."""

from ask.protocol.messages import ConversationFork, ConversationSummary
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.forks import fork


async def fork_conversation(
    house: House, peer: Peer, params: ConversationFork
) -> ConversationSummary:
    """Begin another conversation with what was said in this one."""
    session = await fork(
        house.sessions,
        params.conversation_id,
        at_seq=params.at_seq,
        name=params.name,
        terminal=params.terminal,
    )
    return wire.summarize(session.row(), session)
