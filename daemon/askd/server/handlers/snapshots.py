"""Snapshots: listed, compared with what is there now, put back."""

from ask.protocol.messages import (
    SnapshotDiff,
    SnapshotLeft,
    SnapshotList,
    SnapshotPage,
    SnapshotRecord,
    SnapshotRef,
    SnapshotRestored,
)
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer

PAGE = 50
"""Each of a page is compared with what is there now, which takes git a moment."""
SHOWN = 500
"""Files that are named one by one; of the rest the number is enough."""


async def list_page(house: House, peer: Peer, params: SnapshotList) -> SnapshotPage:
    """The snapshots of a conversation, the newest first."""
    limit = min(check_limit(params.limit), PAGE)
    listed, has_more = await house.restoring.list_some(
        params.conversation_id, after=params.cursor, limit=limit
    )
    return SnapshotPage(
        data=[
            SnapshotRecord(
                id=each.item.id,
                at=each.item.at,
                worktree=each.item.worktree,
                commit=each.item.commit,
                differ=each.differ,
                trouble=each.trouble,
            )
            for each in listed
        ],
        next_cursor=listed[-1].item.id if has_more else None,
    )


async def compare(house: House, peer: Peer, params: SnapshotRef) -> SnapshotDiff:
    """What would change if it were put back."""
    session, item = await house.restoring.find(params.snapshot, params.conversation_id)
    found = await house.restoring.compare(session, item)
    return SnapshotDiff(
        id=item.id,
        conversation_id=session.id,
        worktree=item.worktree,
        files=found.files,
        diff=found.text,
        cut=found.is_cut,
    )


async def restore(house: House, peer: Peer, params: SnapshotRef) -> SnapshotRestored:
    """Put it back."""
    session, item = await house.restoring.find(params.snapshot, params.conversation_id)
    done = await house.restoring.restore(session, item)
    left = done.restored.left
    return SnapshotRestored(
        id=item.id,
        conversation_id=session.id,
        worktree=item.worktree,
        put=len(done.restored.put),
        removed=len(done.restored.removed),
        left=[SnapshotLeft(path=path, why=why) for path, why in left[:SHOWN]],
        left_total=len(left),
        before=None if done.before is None else done.before.id,
    )
