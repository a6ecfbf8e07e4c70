"""Pins: a message that stays in the view, a conversation that is one to keep.

A pin that is there already, or one that is not, changes nothing and is no error.
"""

from ask.protocol.messages import ConversationPin, ConversationSummary
from askd.core.conversation import Conversation
from askd.core.events import Body, ItemPinned, ItemUnpinned
from askd.core.items import Item, Notice
from askd.errors import NotFound, RequestError
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer


async def pin(house: House, peer: Peer, params: ConversationPin) -> ConversationSummary:
    """Keep a message in the view, or mark the conversation."""
    return await _change(house, params, ItemPinned(params.item_id))


async def unpin(house: House, peer: Peer, params: ConversationPin) -> ConversationSummary:
    """The opposite."""
    return await _change(house, params, ItemUnpinned(params.item_id))


async def _change(house: House, params: ConversationPin, body: Body) -> ConversationSummary:
    session = await house.sessions.get(params.conversation_id)
    conversation = session.conversation
    wanted = isinstance(body, ItemPinned)
    if params.item_id is None:
        is_pinned = conversation.is_pinned
    else:
        _check_item(conversation, params.item_id)
        is_pinned = params.item_id in conversation.pinned
    if is_pinned is not wanted:
        await session.append([body])
    return wire.summarize(session.row(), session)


def _check_item(conversation: Conversation, item_id: str) -> None:
    item = _find_item(conversation, item_id)
    if item is None:
        raise NotFound(f"Message not found: id={item_id}", reason="item_not_found")
    if isinstance(item, Notice):
        raise RequestError("A notice is never shown to a model: there is nothing to pin.")


def _find_item(conversation: Conversation, item_id: str) -> Item | None:
    for record in conversation.turns.values():
        for item in (*record.prompt.items, *(added.item for added in record.items)):
            if item.id == item_id:
                return item
    return next((each.item for each in conversation.strays if each.item.id == item_id), None)
