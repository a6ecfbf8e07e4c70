"""What the next request will hold, for a person to see. Nothing is asked of any model."""

from ask.protocol.messages import ContextPage, ConversationContext, InstructionRecord
from askd.errors import RequestError
from askd.providers.base import Caller
from askd.server.contexts import ReadContext
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.live import LiveSession
from askd.sessions.preview import preview

CURSOR_LENGTH = 40
"""Two numbers that any log can have."""


async def show(house: House, peer: Peer, params: ConversationContext) -> ContextPage:
    """A page of the next request's items; all pages are of one moment, or refused."""
    limit = check_limit(params.limit)
    if params.last is not None and params.last < 1:
        raise RequestError("last is 1 or more.", data={"field": "last"})
    session = await house.sessions.get(params.conversation_id)
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    read = await _find(house, peer, session, caller, model=params.model, anew=params.cursor is None)
    if params.cursor is not None:
        start = _read_cursor(params.cursor, read.last_seq)
    else:
        start = 0 if params.last is None else max(0, read.total - params.last)
    page = read.cut(start, limit)
    end = start + len(page)
    found = read.preview
    more = end < read.total
    peer.context = read if more else None
    model = found.model
    limits = None if model is None else model.limits
    return ContextPage(
        data=[each.value for each in page],
        total=read.total,
        tokens=found.tokens,
        healed=len(found.context.faults),
        model=None if model is None else model.name,
        context_window=limits.context_window if limits is not None and limits.known else None,
        budget=limits.budget if limits is not None else None,
        note=found.note,
        instructions=[
            InstructionRecord(path=each.path, bytes=each.bytes, left_out_bytes=each.left_out_bytes)
            for each in found.instructions
        ],
        next_cursor=f"{read.last_seq}.{end}" if more else None,
    )


async def _find(
    house: House,
    peer: Peer,
    session: LiveSession,
    caller: Caller,
    *,
    model: str | None,
    anew: bool,
) -> ReadContext:
    """What this connection is reading, or a new preview."""
    read = peer.context
    if read is not None and not anew and read.is_of(session.conversation, caller):
        return read
    found = await preview(session, caller, house.sessions.means, model=model)
    now = session.conversation
    return ReadContext(conversation=now, last_seq=now.last_seq, caller=caller, preview=found)


def _read_cursor(cursor: str, last_seq: int) -> int:
    seq, _, start = cursor.partition(".")
    if not (seq.isdecimal() and start.isdecimal() and len(cursor) <= CURSOR_LENGTH):
        raise RequestError("The cursor is not one of this listing.")
    if int(seq) != last_seq:
        raise RequestError("The conversation has changed meanwhile. Begin without a cursor.")
    return int(start)
