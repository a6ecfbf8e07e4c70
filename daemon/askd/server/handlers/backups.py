"""Copies of the database: listed and removed. They are made elsewhere, before it is changed."""

from ask.protocol.messages import BackupList, BackupPage, BackupRecord, BackupRef, Done
from askd.errors import RequestError, StorageFailed
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer

IDS_LIMIT = 1000
"""Conversations that are looked for in one question: each is a look into each copy."""


async def list_all(house: House, peer: Peer, params: BackupList) -> BackupPage:
    """Every copy, or those that hold one of these conversations."""
    if params.holding is not None and len(params.holding) > IDS_LIMIT:
        raise RequestError(f"backup/list: {IDS_LIMIT:,} conversations at the most.")
    found = await house.backups.find(params.holding)
    return BackupPage(data=[wire.describe(BackupRecord, each) for each in found])


async def remove(house: House, peer: Peer, params: BackupRef) -> Done:
    """Remove one copy."""
    try:
        await house.backups.remove(params.name)
    except OSError as error:
        raise StorageFailed(f"{params.name} cannot be removed: {error.strerror}.") from None
    return Done()
