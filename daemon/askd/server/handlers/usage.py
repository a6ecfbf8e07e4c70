"""What answers took, added up. It knows no prices and no names of models."""

from ask.protocol.messages import UsagePage, UsageRead, UsageRecord
from askd.errors import RequestError
from askd.server import wire
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer

OFFSET_LIMIT_S = 24 * 3600
"""No clock is further from UTC than a day (the widest in use is 14 hours)."""


async def read(house: House, peer: Peer, params: UsageRead) -> UsagePage:
    """A page of sums by day, model or conversation, and the sum of everything."""
    if abs(params.utc_offset_s) > OFFSET_LIMIT_S:
        raise RequestError("utc_offset_s is a day at the most.", data={"field": "utc_offset_s"})
    page = await house.reader.read_usage(
        by=params.by,
        since_at=params.since_at,
        utc_offset_s=params.utc_offset_s,
        cursor=params.cursor,
        limit=check_limit(params.limit),
    )
    return UsagePage(
        data=[wire.describe(UsageRecord, row) for row in page.rows],
        total=wire.describe(UsageRecord, page.total),
        next_cursor=page.next_cursor,
    )
