"""The mirror: keeps a file of every conversation as Codex reads them, beside the log.

One task follows what is committed and has a thread bring files up to it, after
each turn and each change outside of one. No turn waits for it, none fails because
of it: what cannot be written is said once, and tried again. What is in the files
is a projection; how far they are is told to the table now and then, with the
files' bytes on the disk before.
"""

import math
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from askd.core.events import Event
from askd.store.batch import Change
from askd.store.database import open_readonly
from askd.store.refusals import storage_failed
from askd.store.rollouts import rows as rollouts
from askd.store.rollouts.copies import Advanced, Ask, Copies
from askd.store.rollouts.moments import is_end, is_within_turn
from askd.store.rollouts.rows import Place
from askd.store.rollouts.trouble import Trouble

T = TypeVar("T")

OFFSETS_S = 5.0
"""How long the table may not know how far files are: what is written twice after a crash."""
OFFSETS_DUE = 32
"""So many at the latest: fewer than `COPIES_KEPT`, so that none is forgotten before."""
FAILURES_MAX = 8
"""So many in a row are the directory's fault: the others need not be tried now."""
FINISH_S = 5.0
"""What the daemon's end waits for the files to be up to date."""
REST_MAX_S = 0.05
"""Between two pages of a long conversation others have the processor as long as the page took."""


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """How the mirror is.

    Attributes:
        directory: where the files are; None: none are written.
        mirrored: conversations whose file holds all of them.
        behind: those with events that are in no file yet, running turns among them.
        trouble: why something could not be written, as long as that lasts.
        strays, missing: of whoever counts files, as in `recovery.inventory`.
    """

    directory: str | None
    mirrored: int
    behind: int
    trouble: str | None
    strays: int = 0
    missing: int = 0


class Table(Protocol):
    """Who commits changes: the writer."""

    async def apply(self, change: Change[T]) -> T:
        """Commit a change; raises `StorageFailed`."""
        ...


class Mirror:
    """Mirrors the conversations of `database`. `configure` before `run`."""

    def __init__(
        self, table: Table, *, database: Path, data: Path, archive: Path, version: str
    ) -> None:
        self._table = table
        self._database = database
        self._archive = archive
        self._copies = Copies(database, data=data, directory=data, version=version)
        self._enabled = False
        self._thread = trio.CapacityLimiter(1)
        self._wake = trio.Event()
        self._waiters: list[trio.Event] = []
        self._due: dict[str, None] = {}
        self._later: deque[str] = deque()
        self._behind: deque[str] = deque()
        self._sweep_from: Place | None = None
        self._sweeps = 0
        self._must_remove = self._must_look = True
        self._flush_at = math.inf
        self._can_flush = True
        self._failures = 0
        self._trouble = Trouble()

    # ---- what others ask -----------------------------------------------------------

    def configure(self, *, enabled: bool, directory: Path) -> None:
        """Write to this directory from now on, or nowhere; what is elsewhere is moved there."""
        if (enabled, directory) == (self._enabled, self._copies.directory):
            return
        self._enabled, self._copies.directory = enabled, directory
        self._trouble = Trouble()
        self._begin_sweep()
        self._wake.set()

    def observe(self, events: Sequence[Event]) -> None:
        """Hear what was committed."""
        last: dict[str, bool] = {}
        for event in events:
            is_due = is_end(event) or not is_within_turn(event)
            last[event.conversation_id] = is_due
            if is_end(event):
                self._due[event.conversation_id] = None
        for conversation_id, is_due in last.items():
            if is_due:
                self._due[conversation_id] = None
        if self._due:
            self._wake.set()

    def look(self) -> None:
        """Hear that something was deleted or rewritten: what it is stands in the tables."""
        self._must_remove = self._must_look = True
        self._wake.set()

    def sweep(self) -> None:
        """Hear that files are gone: those are written again."""
        self._begin_sweep()
        self._wake.set()

    async def settle(self) -> None:
        """Return when all that is due now was tried, and the table knows of it.

        The caller bounds the time: a disk can take any.
        """
        waiter = trio.Event()
        self._waiters.append(waiter)
        self._wake.set()
        await waiter.wait()

    async def finish(self) -> None:
        """The same before the daemon ends, but not for long: the next start does the rest.

        What was behind before the last turns, such as all of a store that had no files yet, is
        left to it at once.
        """
        self._leave_behind()
        with trio.move_on_after(FINISH_S):
            await self.settle()

    async def status(self) -> MirrorStatus:
        """How it is, now; raises `StorageFailed`."""
        ahead = self._copies.ahead()

        def query() -> tuple[int, int]:
            # A connection of its own: the mirror's thread may wait for a disk that is gone.
            connection = open_readonly(self._database)
            try:
                return rollouts.count_mirrored(connection, ahead)
            except sqlite3.Error as error:
                raise storage_failed(error, self._database) from error
            finally:
                connection.close()

        mirrored, behind = await trio.to_thread.run_sync(query)
        directory = str(self._copies.directory) if self._enabled else None
        return MirrorStatus(directory, mirrored, behind, self._trouble.text)

    # ---- the one task --------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Bring up what is behind, then follow, until cancelled."""
        task_status.started()
        self._begin_sweep()
        try:
            while True:
                while await self._work():
                    await trio.lowlevel.checkpoint()
                waiters, self._waiters = self._waiters, []
                for waiter in waiters:
                    waiter.set()
                await self._rest()
        finally:
            if not self._thread.borrowed_tokens:  # else a disk that does not answer still has it
                self._copies.close()

    async def _rest(self) -> None:
        """Wait for something to do."""
        with trio.move_on_at(min(self._flush_at, self._trouble.retry_at)):
            await self._wake.wait()
        self._wake = trio.Event()
        self._can_flush = True
        if trio.current_time() >= self._trouble.retry_at:
            self._must_remove = True
            self._begin_sweep()

    async def _work(self) -> bool:
        """Do the most urgent thing; False: there is none."""
        if not self._enabled:
            self._due.clear()
            self._later.clear()
            self._leave_behind()
        if self._must_remove:
            self._must_remove = False
            await self._try(self._remove)
        elif self._must_look:
            self._must_look = False
            await self._try(self._find_resets)
        elif self._is_flush_due():
            await self._try(self._flush)
        elif self._due:
            conversation_id = next(iter(self._due))
            del self._due[conversation_id]
            await self._try(partial(self._advance, conversation_id, rest=self._later))
        elif self._later or self._behind:
            late = self._later or self._behind
            await self._try(partial(self._advance, late.popleft(), rest=late, is_late=True))
        elif self._sweep_from is not None:
            await self._try(self._sweep)
        else:
            self._trouble.forget(self._copies.directory)
            return False
        return True

    async def _advance(
        self, conversation_id: str, *, rest: deque[str], is_late: bool = False
    ) -> None:
        """Write a page of one conversation; if that is not all, it is put with the `rest`."""
        began = trio.current_time()
        step = await self._in_thread(partial(self._copies.advance, conversation_id))
        if isinstance(step, Ask):
            await self._table.apply(step.change)
            self._must_remove |= step.leaves
            step = await self._in_thread(partial(self._copies.advance, conversation_id))
        self._failures = 0
        is_whole = isinstance(step, Advanced) and not step.more
        if not is_whole:
            rest.appendleft(conversation_id)
        if self._flush_at == math.inf and self._copies.ahead():
            self._flush_at = trio.current_time() + OFFSETS_S
        if (is_late or not is_whole) and not self._waiters:
            await trio.sleep(min(trio.current_time() - began, REST_MAX_S))

    async def _sweep(self) -> None:
        """Find some that are behind."""
        assert self._sweep_from is not None
        after, self._sweep_from = self._sweep_from, None
        sweeps = self._sweeps
        ids, place = await self._in_thread(partial(self._copies.find_behind, after))
        if self._sweeps == sweeps:  # else it has begun anew meanwhile, or been left
            self._behind.extend(ids)
            self._sweep_from = place

    async def _remove(self) -> None:
        """Remove what is to go."""
        gone = []
        for removal in await self._in_thread(self._copies.list_removals):
            try:
                await self._in_thread(partial(self._copies.remove, removal, self._archive))
            except OSError as error:
                self._note(error)
            else:
                gone.append(removal.path)
        if gone:
            await self._table.apply(rollouts.forget_removals(gone))

    async def _find_resets(self) -> None:
        """Find what is to be written anew."""
        for conversation_id in await self._in_thread(self._copies.find_resets):
            self._due[conversation_id] = None

    def _is_flush_due(self) -> bool:
        ahead = len(self._copies.ahead())
        if not ahead or not self._can_flush:
            self._flush_at = math.inf
            return False
        is_idle = not (self._due or self._later or self._behind or self._sweep_from)
        return (
            ahead >= OFFSETS_DUE
            or trio.current_time() >= self._flush_at
            or (bool(self._waiters) and is_idle)
        )

    async def _flush(self) -> None:
        """Tell the table how far the files are."""
        self._flush_at = math.inf
        self._can_flush = False  # until it has gone well, or something else has happened
        synced = await self._in_thread(self._copies.sync)
        saved = await self._table.apply(rollouts.save_offsets(synced.offsets))
        for conversation_id in (*self._copies.confirm(synced.offsets, saved), *synced.lost):
            self._due[conversation_id] = None
        if synced.error is not None:
            raise synced.error
        self._can_flush = True

    def _begin_sweep(self) -> None:
        self._sweep_from = rollouts.START
        self._sweeps += 1
        self._failures = 0
        self._trouble.begin()

    def _leave_behind(self) -> None:
        """Do not look for what is behind any further."""
        self._behind.clear()
        self._sweep_from = None
        self._sweeps += 1

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # A disk that does not answer must not keep the daemon from its end.
        return await trio.to_thread.run_sync(work, limiter=self._thread, abandon_on_cancel=True)

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        """Nothing that goes wrong ends the mirror."""
        try:
            await work()
        except Exception as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        self._failures += 1
        if self._failures >= FAILURES_MAX:
            self._later.clear()
            self._leave_behind()
        self._trouble.note(error, self._copies.directory)
