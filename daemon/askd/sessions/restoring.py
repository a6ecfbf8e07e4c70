"""Snapshots listed, compared with what is there now, and put back.

No turn of the conversation runs meanwhile, and what was there before is a snapshot of
its own by then, so that this can be undone too. Another conversation may write to the
same files at the same moment: nobody is kept from that.
"""

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import trio

from askd.core.conversation import Conversation
from askd.core.items import Copy, Snapshot, Text
from askd.core.snapshots import find_files, find_snapshots
from askd.errors import Busy, NotFound, RequestError
from askd.sessions.contents import ReadBlob
from askd.sessions.live import LiveSession
from askd.sessions.registry import Sessions
from askd.sessions.snapshot_refs import RefTable
from askd.sessions.snapshots import keep
from askd.store.snapshots import PREFIX_LENGTH
from askd.tools.snapshots import restoring
from askd.tools.snapshots.git import CannotRecord
from askd.tools.snapshots.recorder import Recorder
from askd.tools.snapshots.restoring import Held, Restored
from askd.tools.snapshots.worktree import (
    State,
    Worktree,
    find_changes,
    has_commit,
    read_state,
    show_changes,
)

LOOK_S = 30.0
"""To compare; a listing says of the rest that it is not known."""
RESTORE_S = 300.0
DIFF_BYTES = 256 * 1024
"""Of a diff for people: nobody reads more, and it fits a message."""
NOT_HERE = "Snapshots are not kept by this daemon."
BUSY = "A turn of this conversation is at work; wait for its end, or interrupt it."
SCRUBBED = "A secret was taken out of this snapshot's record: it is not known what it was."
OTHER_PLACE = "{path} is no git work tree any more: the snapshot cannot be put back there."
GONE = "The repository at {path} does not hold this snapshot (commit {commit:.12})."
TOO_SLOW = "git took longer than {limit:g} s."
MOST_NAMED = 20
NO_DIRECTORY = "{path} is gone, or leads elsewhere now."


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A snapshot, and how it is now.

    Attributes:
        differ: how many files are another now; None: it is not known.
        trouble: why it cannot be put back, in a sentence; None: nothing is known of such.
    """

    item: Snapshot
    differ: int | None = None
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What putting a snapshot back would change. `is_cut`: the diff is longer than `text`."""

    item: Snapshot
    files: int
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was put back. `before`: the snapshot of what was there; None: nothing differed."""

    item: Snapshot
    restored: Restored
    before: Snapshot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """A work tree and its state, while a scratch directory of ours is there for it."""

    worktree: Worktree
    state: State


def find_snapshot(conversation: Conversation, text: str) -> Snapshot:
    """The one of this id, or whose id begins so; raise `NotFound`."""
    found = {each.id: each for each in find_snapshots(conversation)}
    is_long = len(text) >= PREFIX_LENGTH
    near = [item for id, item in found.items() if is_long and id.startswith(text.lower())]
    if text in found:
        return found[text]
    if not near:
        raise NotFound(f"Snapshot not found: id={text}", reason="snapshot_not_found")
    if len(near) > 1:
        raise refuse_ambiguous(text, [each.id for each in near])
    return near[0]


def refuse_ambiguous(text: str, ids: Sequence[str]) -> NotFound:
    """The beginning of an id that is that of several."""
    named = ", ".join(ids[:MOST_NAMED])
    return NotFound(f"{text!r} begins more than one snapshot: {named}", reason="snapshot_ambiguous")


class Restoring:
    """Lists, compares and puts back the snapshots of the conversations of a daemon."""

    def __init__(self, sessions: Sessions, table: RefTable) -> None:
        self._sessions = sessions
        self._table = table
        self._one = trio.Lock()

    async def find(self, text: str, conversation_id: str | None) -> tuple[LiveSession, Snapshot]:
        """A snapshot by its id or the beginning of one, and a conversation that holds it.

        Of several that do (forks) it is the oldest, unless one is named. Raise `NotFound`.
        """
        if conversation_id is None:
            holders = await self._table.find_holders(text) or self._find_in_memory(text)
            ids = list(dict.fromkeys(id for id, _ in holders))
            if len(ids) > 1:
                raise refuse_ambiguous(text, ids)
            if not ids:
                raise NotFound(f"Snapshot not found: id={text}", reason="snapshot_not_found")
            text, conversation_id = holders[0]
        session = await self._sessions.get(conversation_id)
        return session, find_snapshot(session.conversation, text)

    def _find_in_memory(self, text: str) -> Sequence[tuple[str, str]]:
        """The same of conversations that are nowhere else."""
        return [
            (each.id, session.id)
            for session in self._sessions.live()
            if session.ephemeral
            for each in find_snapshots(session.conversation)
            if len(text) >= PREFIX_LENGTH and each.id.startswith(text.lower())
        ]

    async def list_some(
        self, conversation_id: str, *, after: str | None, limit: int
    ) -> tuple[list[Listed], bool]:
        """Some of a conversation's snapshots, the newest first, and whether there are more.

        `after`: the id of the last one of those before.
        """
        session = await self._sessions.get(conversation_id)
        items = find_snapshots(session.conversation)
        if after is not None:
            ids = [each.id for each in items]
            if after not in ids:
                raise RequestError("There is no such cursor.", data={"field": "cursor"})
            items = items[ids.index(after) + 1 :]
        has_more = len(items) > limit
        items = items[:limit]
        listed = {}
        with trio.move_on_after(LOOK_S):
            for place in dict.fromkeys(each.worktree for each in items if each.commit):
                here = [each for each in items if each.commit and each.worktree == place]
                for found in await self._look(place, here):
                    listed[found.item.id] = found
            for each in items:
                if not each.commit:
                    listed[each.id] = await self._look_at_copies(session, each)
        return [listed.get(each.id, Listed(item=each)) for each in items], has_more

    async def _look(self, place: str, items: Sequence[Snapshot]) -> list[Listed]:
        recorder = self._recorder
        try:
            async with self._open(place, keep=False) as tree:
                found = []
                for each in items:
                    try:
                        await _check(recorder, tree, each)
                        changes = await find_changes(
                            recorder.git, tree.worktree, tree.state, each.commit
                        )
                        found.append(Listed(item=each, differ=len(changes)))
                    except (CannotRecord, RequestError) as error:
                        found.append(Listed(item=each, trouble=str(error)))
                return found
        except (CannotRecord, RequestError) as error:
            return [Listed(item=each, trouble=str(error)) for each in items]

    async def _look_at_copies(self, session: LiveSession, item: Snapshot) -> Listed:
        try:
            different = await self._find_different(session, item)
        except RequestError as error:
            return Listed(item=item, trouble=error.message)
        return Listed(item=item, differ=len(different))

    async def compare(self, session: LiveSession, item: Snapshot) -> Compared:
        """What putting it back would change; raises `RequestError` where it cannot be."""
        recorder = self._recorder
        if not item.commit:
            different = await self._find_different(session, item)
            text, is_cut = await trio.to_thread.run_sync(
                lambda: restoring.show_copies(item.worktree, different, limit=DIFF_BYTES)
            )
            return Compared(item=item, files=len(different), text=text, is_cut=is_cut)
        with _speak(LOOK_S):
            async with self._open(item.worktree, keep=False) as tree:
                await _check(recorder, tree, item)
                where = (recorder.git, tree.worktree, tree.state, item.commit)
                changes = await find_changes(*where)
                text, is_cut = await show_changes(*where, limit=DIFF_BYTES)
                return Compared(item=item, files=len(changes), text=text, is_cut=is_cut)

    async def restore(self, session: LiveSession, item: Snapshot) -> Outcome:
        """Put it back.

        Raises:
            Busy: a turn is at work.
            RequestError: it cannot be put back; nothing was changed.
            StorageFailed: what is there now could not be kept; nothing was changed.
        """
        async with self._one, session.starting:
            if session.active_turn is not None:
                raise Busy(BUSY)
            if not item.commit:
                return await self._restore_copies(session, item)
            with _speak(RESTORE_S):
                return await self._restore_tree(session, item)

    async def _restore_tree(self, session: LiveSession, item: Snapshot) -> Outcome:
        recorder = self._recorder
        async with self._open(item.worktree, keep=True) as tree:
            await _check(recorder, tree, item)
            git, worktree, state = recorder.git, tree.worktree, tree.state
            changes = await find_changes(git, worktree, state, item.commit)
            if not changes:
                return Outcome(item=item, restored=Restored())
            at = self._sessions.means.now()
            async with recorder.hold(worktree, state, at=at) as before:
                await keep(session, None, before)
            restored = await restoring.restore_tree(
                git, worktree, state, changes, digest=item.commit, kept=frozenset(item.paths)
            )
            return Outcome(item=item, restored=restored, before=before)

    async def _restore_copies(self, session: LiveSession, item: Snapshot) -> Outcome:
        different = await self._find_different(session, item)
        if not different:
            return Outcome(item=item, restored=Restored())
        paths = [each.copy.path for each in different]
        before = await self._recorder.copy(
            item.worktree, paths, known=(), spent=0, at=self._sessions.means.now()
        )
        held = {copy.path for copy in before.item.copies} if before.item is not None else set()
        if before.item is not None:
            await keep(session, None, before.item, before.blobs)
        restored = await trio.to_thread.run_sync(
            lambda: restoring.restore_copies(
                item.worktree, different, kept={path for path in paths if path not in held}
            )
        )
        return Outcome(item=item, restored=restored, before=before.item)

    async def _find_different(self, session: LiveSession, item: Snapshot) -> list[Held]:
        """The files that a turn wrote from this snapshot on, and that are another now."""
        if item.altered:
            raise RequestError(SCRUBBED)
        if not await _is_directory(item.worktree):
            raise RequestError(NO_DIRECTORY.format(path=item.worktree))
        read_blob = self._sessions.find_store(session).read_blob
        files = [
            await _hold(each, read_blob)
            for each in find_files(find_snapshots(session.conversation), item)
        ]
        return await trio.to_thread.run_sync(restoring.find_different, item.worktree, files)

    @property
    def _recorder(self) -> Recorder:
        recorder = self._sessions.means.recorder
        if recorder is None:
            raise RequestError(NOT_HERE)
        return recorder

    @asynccontextmanager
    async def _open(self, place: str, *, keep: bool) -> AsyncIterator[_Tree]:
        """The work tree of a directory as it is now; raises `CannotRecord`, `RequestError`."""
        recorder = self._recorder
        worktree = await recorder.find_worktree(place) if await _is_directory(place) else None
        if worktree is None or worktree.top != place:
            raise RequestError(OTHER_PLACE.format(path=place))
        async with recorder.open_scratch() as scratch:
            state = await read_state(recorder.git, worktree, scratch, keep=keep)
            yield _Tree(worktree=worktree, state=state)


@contextmanager
def _speak(limit_s: float) -> Iterator[None]:
    """Within so many seconds; what git cannot do becomes an error of the request."""
    try:
        with trio.fail_after(limit_s):
            yield
    except trio.TooSlowError:
        raise RequestError(TOO_SLOW.format(limit=limit_s)) from None
    except CannotRecord as error:
        raise RequestError(str(error)) from None


async def _check(recorder: Recorder, tree: _Tree, item: Snapshot) -> None:
    """Raise `RequestError` for a snapshot that cannot be put back here."""
    if item.altered:
        raise RequestError(SCRUBBED)
    if not await has_commit(recorder.git, tree.worktree, item.commit):
        raise RequestError(GONE.format(path=item.worktree, commit=item.commit))


async def _hold(copy: Copy, read_blob: ReadBlob) -> Held:
    """A copy with its content, as far as that is still there."""
    if copy.part is None:
        return Held(copy, None)
    if isinstance(copy.part, Text):
        return Held(copy, copy.part.text.encode())
    try:
        return Held(copy, await read_blob(copy.part.sha256))
    except NotFound:
        return Held(copy, None)


async def _is_directory(place: str) -> bool:
    return await trio.to_thread.run_sync(_is_there, place)


def _is_there(place: str) -> bool:
    """Whether a directory is where it was, and no link has come into its path."""
    return os.path.isdir(place) and os.path.realpath(place) == place
