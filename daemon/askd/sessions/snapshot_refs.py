"""Refs of snapshots that nobody needs any more go from their repositories, in the background.

Whatever way a conversation went, and whatever was killed while it took a snapshot: what
is left over stands in a table until it is gone. Nobody waits for git here, and a
repository that cannot be written is tried again, and never anybody's error.
"""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import trio

from askd.errors import AskdError
from askd.tools.shell import Confines
from askd.tools.snapshots.git import CannotRecord
from askd.tools.snapshots.recorder import Recorder

log = logging.getLogger(__name__)

AGAIN_S = 3600.0
"""Between two tries where nothing has been deleted: a disk may have come back."""


class RefTable(Protocol):
    """Knows the refs; `store.snapshots.SnapshotTable` does. Methods raise `StorageFailed`."""

    async def claim(self, id: str, git_dir: str) -> None:
        """Note that a ref is about to be made in a repository."""
        ...

    async def find_holders(self, text: str) -> list[tuple[str, str]]:
        """Snapshots by an id or its beginning, and which conversations hold them."""
        ...

    async def find_left_over(self) -> list[tuple[str, str]]:
        """Refs that nobody's snapshot needs: id and repository."""
        ...

    async def forget(self, id: str) -> None:
        """Note that a ref is gone."""
        ...


class SnapshotRefs:
    """The task. `look` tells it that something was deleted.

    Args:
        environment, scratch, sandbox: as `Recorder` has them; the directory is emptied at the
            start.

    Attributes:
        recorder: takes the snapshots whose refs these are.
    """

    def __init__(
        self,
        table: RefTable,
        *,
        environment: Mapping[str, str],
        scratch: Path,
        sandbox: Callable[[], Confines] | None = None,
    ) -> None:
        self.table = table
        self.recorder = Recorder(
            environment=environment, scratch=scratch, claim=table.claim, sandbox=sandbox
        )
        self._wake = trio.Event()
        self._told: set[str] = set()

    def look(self) -> None:
        """Hear that conversations have gone."""
        self._wake.set()

    async def run(self) -> None:
        """Remove what is left over, again and again, until cancelled."""
        await self.recorder.clear()
        while True:
            self._wake = trio.Event()
            try:
                await self.remove_left_over()
            except AskdError as error:
                log.warning("Refs of snapshots cannot be looked through now: %s", error.message)
            except Exception:
                log.exception("Removing refs of snapshots failed")
            with trio.move_on_after(AGAIN_S):
                await self._wake.wait()

    async def remove_left_over(self) -> int:
        """One run; how many refs it removed. Raises `StorageFailed`."""
        removed = 0
        for id, git_dir in await self.table.find_left_over():
            # In this order: what is not being taken any more is in the log by now, or never
            # will be.
            if id in self.recorder.taking:
                continue
            if (id, git_dir) not in await self.table.find_left_over():
                continue
            if await self._remove(id, git_dir):
                await self.table.forget(id)
                removed += 1
        return removed

    async def _remove(self, id: str, git_dir: str) -> bool:
        """Whether the ref is gone, with its repository if need be."""
        if not await trio.to_thread.run_sync(os.path.isdir, git_dir):
            log.info("The repository of a snapshot is gone: id=%s, path=%r", id, git_dir)
            return True
        try:
            await self.recorder.let_go(git_dir, id)
        except CannotRecord as error:
            if id not in self._told:
                self._told.add(id)
                log.warning("The ref of a snapshot stays: id=%s, path=%r: %s", id, git_dir, error)
            return False
        return True
