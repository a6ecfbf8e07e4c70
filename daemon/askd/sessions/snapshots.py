"""Snapshots of a conversation: taken before a turn first writes, and found again.

The snapshot is in the log before any tool of the turn has started. That none can be
taken is told to who watches and keeps no tool from running. What a snapshot is made of
is known below; how one is put back is in `restoring`.
"""

from collections.abc import Mapping, Sequence

from askd.core.events import ItemAdded
from askd.core.items import Blob, Snapshot
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.store.log import Write
from askd.tools.base import CannotRun, Site
from askd.tools.snapshots.git import CannotRecord
from askd.tools.snapshots.recorder import COPY_ONLY, Recorder
from askd.tools.workspace import open_workspace

NO_BLOBS: Mapping[str, bytes] = {}
NONE_TAKEN = "No snapshot was taken, so this cannot be undone: {why}"


async def record_workspace(
    session: LiveSession,
    turn_id: str,
    *,
    site: Site,
    writes: Sequence[tuple[str, ...]],
    means: Means,
    report: Report,
) -> None:
    """See that the turn's workspace is recorded, once in a turn; to be called before tools run.

    Args:
        writes: `Preview.writes` of each of the calls that are about to run and write.

    Raises:
        StorageFailed: the snapshot could not be stored. All else is told, and no more.
    """
    recorder = means.recorder
    if recorder is None or not writes or not means.toolbox().snapshots:
        return
    if recorder.given_up.get(session.id) == turn_id or not _is_there(site):
        return
    taken = find_taken(session, turn_id)
    if any(each.commit for each in taken):
        return
    try:
        await _record(session, turn_id, recorder, site, writes, taken, means, report)
    except CannotRecord as error:
        # Later in the turn it would not be what was before it.
        recorder.given_up[session.id] = turn_id
        report("warning", NONE_TAKEN.format(why=error))


async def _record(
    session: LiveSession,
    turn_id: str,
    recorder: Recorder,
    site: Site,
    writes: Sequence[tuple[str, ...]],
    taken: Sequence[Snapshot],
    means: Means,
    report: Report,
) -> None:
    assert site.cwd is not None
    # What is in memory only leaves nothing in a repository either.
    worktree = None if session.ephemeral else await recorder.find_worktree(site.cwd)
    if worktree is not None:
        async with recorder.take(worktree, at=means.now()) as found:
            if found.item is not None:
                await keep(session, turn_id, found.item)
    else:
        if not all(writes) and session.id not in recorder.told:
            recorder.told.add(session.id)
            report("warning", COPY_ONLY)
        copies = [copy for each in taken for copy in each.copies]
        found = await recorder.copy(
            site.cwd,
            [path for each in writes for path in each],
            known={copy.path for copy in copies} | {path for each in taken for path in each.paths},
            spent=sum(copy.part.bytes for copy in copies if isinstance(copy.part, Blob)),
            at=means.now(),
        )
        if found.item is not None:
            await keep(session, turn_id, found.item, found.blobs)
    if found.warning is not None:
        report("warning", found.warning)


async def keep(
    session: LiveSession,
    turn_id: str | None,
    item: Snapshot,
    blobs: Mapping[str, bytes] = NO_BLOBS,
) -> None:
    """Append a snapshot, with the contents of its copies; raises `StorageFailed`."""
    write = Write(
        conversation_id=session.id, bodies=[ItemAdded(turn_id, item)], blobs=list(blobs.items())
    )
    await session.log.append(write)


def find_taken(session: LiveSession, turn_id: str) -> list[Snapshot]:
    """The snapshots that a turn has."""
    record = session.conversation.turns[turn_id]
    return [added.item for added in record.items if isinstance(added.item, Snapshot)]


def _is_there(site: Site) -> bool:
    """Whether the caller's directory is the one in which the prompt was sent; else no tool runs."""
    try:
        with open_workspace(site):
            return True
    except CannotRun:
        return False
