"""What was said, found by its words. What a person types is never syntax."""

from ask.protocol.messages import ConversationSearch, SearchPage, SearchRecord
from askd.errors import RequestError, StorageFailed
from askd.server import wire
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer

TEXT_LENGTH = 1000
"""Nobody types more; each word costs a look into the index."""
SEARCH_LIMIT = 100
"""Hits of one page: the message of each is read for its snippet, however long it is."""


async def find(house: House, peer: Peer, params: ConversationSearch) -> SearchPage:
    """A page of messages in which everything was found."""
    if len(params.text) > TEXT_LENGTH:
        raise RequestError(f"text: {TEXT_LENGTH} characters at the most.", data={"field": "text"})
    try:
        page = await house.reader.search(
            params.text,
            conversation_id=params.conversation_id,
            role=params.role,
            since_at=params.since_at,
            until_at=params.until_at,
            rank=params.rank,
            cursor=params.cursor,
            limit=min(check_limit(params.limit), SEARCH_LIMIT),
        )
    except StorageFailed as error:
        if error.reason == "search_damaged":
            await house.sessions.log.mend_search()
        raise
    return SearchPage(
        data=[
            wire.describe(SearchRecord, row, marks=[list(mark) for mark in row.marks])
            for row in page.rows
        ],
        next_cursor=page.next_cursor,
    )
