"""What the next request will hold, for a person to see. Nothing is asked of any model."""

from ask.protocol.messages import ContextPage, ConversationContext
from askd.errors import RequestError
from askd.providers.base import Caller
from askd.server import wire
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.preview import Preview, preview

CURSOR_LENGTH = 40
"""Two numbers that any log can have."""


async def show(house: House, peer: Peer, params: ConversationContext) -> ContextPage:
    """A page of the next request's items; all pages are of one moment, or refused."""
    session = await house.sessions.get(params.conversation_id)
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    found = await preview(session, caller, house.sessions.means)
    last_seq = session.conversation.last_seq
    start = _read_cursor(params.cursor, last_seq)
    fitted = _fit(found)
    page = wire.cut_fitted(fitted[start:][: check_limit(params.limit)])
    end = start + len(page)
    model = found.model
    limits = None if model is None else model.limits
    return ContextPage(
        data=[each.value for each in page],
        total=len(fitted),
        tokens=found.tokens,
        healed=len(found.context.faults),
        model=None if model is None else model.name,
        context_window=limits.context_window if limits is not None and limits.known else None,
        budget=limits.budget if limits is not None else None,
        note=found.note,
        next_cursor=f"{last_seq}.{end}" if end < len(fitted) else None,
    )


def _fit(found: Preview) -> list[wire.Fitted]:
    items = [wire.fit_item(seen.item, seen.tokens) for seen in found.items]
    if not found.context.system:
        return items
    system = {"type": "system", "text": found.context.system}
    return [wire.fit_record(system, found.system_tokens), *items]


def _read_cursor(cursor: str | None, last_seq: int) -> int:
    if cursor is None:
        return 0
    seq, _, start = cursor.partition(".")
    if not (seq.isdecimal() and start.isdecimal() and len(cursor) <= CURSOR_LENGTH):
        raise RequestError("The cursor is not one of this listing.")
    if int(seq) != last_seq:
        raise RequestError("The conversation has changed meanwhile. Begin without a cursor.")
    return int(start)
