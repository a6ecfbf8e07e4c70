"""Takes snapshots of where a turn is about to write, in git or as copies.

It says which refs it is making just now, so that nobody takes them for left over. When
one is due, and what becomes of it, is decided by who asks.
"""

import math
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio

from askd.core.items import Snapshot
from askd.tools.shell import Confines
from askd.tools.snapshots.copies import TURN_BYTES, copy_files
from askd.tools.snapshots.git import CannotRecord, Git
from askd.tools.snapshots.worktree import (
    State,
    Worktree,
    commit,
    find_worktree,
    read_state,
    remove_ref,
)

TAKE_S = 10.0
"""A tool waits for this long at the most; 40,000 files take less than a second."""
ID_BYTES = 6
"""Twelve characters that can be typed, and two alike in a hundred million only by chance."""
COPY_ONLY = (
    "Commands may change files here that nothing records: it is no git work tree. What file tools "
    "write is copied before."
)

Claim = Callable[[str, str], Awaitable[None]]
"""Notes that a ref for a snapshot's id is about to be made in a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A snapshot, the contents that its copies name, and what there is to say of it."""

    item: Snapshot | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    warning: str | None = None


class Recorder:
    """Takes snapshots.

    Args:
        environment: the daemon's, for git.
        scratch: a directory of ours, none that confined commands do not see; `clear` empties it.
        claim: hears of each ref before it is made.
        sandbox: confines what a repository has git run; by the settings of now.

    Attributes:
        taking: ids of the snapshots that are being taken.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        scratch: Path,
        claim: Claim,
        sandbox: Callable[[], Confines] | None = None,
    ) -> None:
        self.git = Git(environment=environment, sandbox=sandbox)
        self.taking: set[str] = set()
        self.given_up: dict[str, str] = {}
        """By conversation, the last turn for which no snapshot could be taken."""
        self.told: set[str] = set()
        """Conversations that were told what cannot be recorded."""
        self._scratch = scratch
        self._claim = claim

    async def clear(self) -> None:
        """Remove what a daemon left behind that was killed."""
        await trio.to_thread.run_sync(lambda: shutil.rmtree(self._scratch, ignore_errors=True))

    @asynccontextmanager
    async def open_scratch(self) -> AsyncIterator[Path]:
        """A directory of ours, for as long as the block lasts; raises `CannotRecord`.

        So does what the block cannot write there.
        """

        def make() -> Path:
            self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=self._scratch))

        try:
            directory = await trio.to_thread.run_sync(make)
        except OSError as error:
            raise CannotRecord(f"{self._scratch}: {error.strerror}.") from None
        try:
            yield directory
        except OSError as error:
            raise CannotRecord(f"{error.filename}: {error.strerror}.") from None
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(lambda: shutil.rmtree(directory, ignore_errors=True))

    async def find_worktree(self, cwd: str) -> Worktree | None:
        """The git work tree that a directory is in; raises `CannotRecord`."""
        with trio.move_on_after(TAKE_S):
            return await find_worktree(self.git, cwd)
        raise CannotRecord(f"{cwd}: git took longer than {TAKE_S:g} s.")

    @asynccontextmanager
    async def take(self, worktree: Worktree, *, at: float) -> AsyncIterator[Taken]:
        """A snapshot of a work tree as it is; while the block lasts it counts as being taken.

        Raises:
            CannotRecord: none could be taken within `TAKE_S`, or at all.
            StorageFailed: the ref could not be noted; nothing was made then.
        """
        async with self.open_scratch() as scratch:
            with trio.move_on_after(TAKE_S) as limit:
                state = await read_state(self.git, worktree, scratch, keep=True)
                async with self.hold(worktree, state, at=at) as item:
                    limit.deadline = math.inf
                    warning = explain_left_out(state.left_out, state.submodules)
                    yield Taken(item=item, warning=warning)
        if limit.cancelled_caught:
            raise CannotRecord(f"{worktree.top} took longer than {TAKE_S:g} s to look through.")

    @asynccontextmanager
    async def hold(self, worktree: Worktree, state: State, *, at: float) -> AsyncIterator[Snapshot]:
        """A snapshot of a state, which counts as being taken while the block lasts.

        Raises:
            CannotRecord: git could not make it.
            StorageFailed: the ref could not be noted; nothing was made then.
        """
        id = secrets.token_hex(ID_BYTES)
        self.taking.add(id)
        try:
            await self._claim(id, worktree.git_dir)
            digest = await commit(self.git, worktree, state, id=id, at=at)
            yield Snapshot(
                id=id,
                worktree=worktree.top,
                commit=digest,
                base_head=worktree.head,
                paths=state.left_out,
                at=at,
            )
        finally:
            self.taking.discard(id)

    async def copy(
        self, cwd: str, writes: Sequence[str], *, known: Collection[str], spent: int, at: float
    ) -> Taken:
        """Copies of the files that are about to be written, but for those that are `known`.

        `spent`: the bytes that the turn's copies take already.
        """
        room = max(0, TURN_BYTES - spent)
        copies = await trio.to_thread.run_sync(
            lambda: copy_files(cwd, writes, known=known, room=room)
        )
        if not copies.files and not copies.left_out:
            return Taken()
        item = Snapshot(
            id=secrets.token_hex(ID_BYTES),
            worktree=copies.top,
            commit="",
            paths=tuple(copies.left_out),
            at=at,
            copies=tuple(copies.files),
        )
        return Taken(item=item, blobs=copies.blobs, warning=explain_left_out(copies.left_out, 0))

    async def let_go(self, git_dir: str, id: str) -> None:
        """Remove the ref of a snapshot; one that is gone is no error. Raises `CannotRecord`."""
        with trio.move_on_after(TAKE_S):
            await remove_ref(self.git, git_dir, id)
            return
        raise CannotRecord(f"{git_dir}: git took longer than {TAKE_S:g} s.")


def explain_left_out(paths: Sequence[str], submodules: int) -> str | None:
    """What a snapshot does not hold, in a sentence; None: it holds everything."""
    parts = []
    if paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        parts.append(f"{paths[0]}{more}")
    if submodules:
        parts.append("1 submodule" if submodules == 1 else f"{submodules} submodules")
    return f"Not in the snapshot: {', '.join(parts)}." if parts else None
