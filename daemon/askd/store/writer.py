"""The writer: one task, one queue, the only connection that can write.

Every change waits in the queue; whatever waits is committed together, in a
thread, in one transaction. A caller hears of its change after the commit, and
after the observer has; one that was cancelled while waiting changes nothing
about that. The writer outlives every error of the disk: it refuses what it
cannot store, says why, and tries anew with the next batch.
"""

import contextlib
import logging
import math
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import trio

from askd.core.events import Event
from askd.errors import StorageFailed
from askd.store import changes, expiry, refusals
from askd.store.batch import Change, Done
from askd.store.log import Committed, Log, Partial, Write
from askd.store.migrations import MIGRATIONS, Migration
from askd.store.transactions import Asked, Transactions

logger = logging.getLogger(__name__)
T = TypeVar("T")

BATCH_REQUESTS = 512
"""More than this a commit does not gain: the sync is already shared by all of them."""
BATCH_BYTES = 8 * 1024 * 1024
"""A batch is closed above this, so that a large prompt does not hold up the rest for long."""
MANY_BODIES = 500
"""More than any turn writes at once; as text they take some 10 ms."""
PARTIALS_S = 0.25
"""How old a running item's text may be on the disk: what a crash can cost of it."""
IDLE_S = 5.0
"""After this long without a write the log is copied: nobody waits for that then."""
HELD_S = 5.0
"""Between two tries to copy or empty a log that a reader holds while nothing is written."""
CHECKPOINT_PAUSE_S = 1.0
"""After a checkpoint that a reader hindered, before the next is tried."""


@dataclass(eq=False, slots=True)
class _Request(Generic[T]):
    """A change in the queue; `size` in bytes, as far as it may be large."""

    change: Change[T]
    size: int = 0
    deletes: bool = False
    changes_jobs: bool = False
    done: trio.Event = field(default_factory=trio.Event)
    outcome: Done[T] | Exception | None = None


class Writer(Log):
    """The log on the disk. `run` has to be running for anything to be committed.

    `observe` hears of every event, `rewritten` that something was deleted or replaced,
    `jobs_changed` that a write has added jobs or completed one.
    """

    def __init__(
        self,
        path: Path,
        *,
        observe: Callable[[Sequence[Event]], None],
        now: Callable[[], float],
        boot_id: str,
        migrations: Sequence[Migration] = MIGRATIONS,
        rewritten: Callable[[], None] = lambda: None,
        jobs_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._observe = observe
        self._rewritten = rewritten
        self._jobs_changed = jobs_changed
        self.boot_id = boot_id
        """In whose name jobs are claimed."""
        self._now = now
        self._transactions = Transactions(path, connect=connect, now=now, migrations=migrations)
        self._queue: deque[_Request[Any]] = deque()
        self._partials: dict[tuple[str, str, str], Partial] = {}
        self._partials_due = math.inf
        self._idle_at = math.inf
        self._checkpoint_at = -math.inf
        self._work = trio.Event()
        self._thread = trio.CapacityLimiter(1)
        self._running = False
        self._closing = False
        self._closed = trio.Event()

    @property
    def commits(self) -> int:
        """How many transactions were committed."""
        return self._transactions.commits

    # ---- what callers ask ------------------------------------------------------

    async def append(self, write: Write) -> Committed:
        """Commit; raises `StorageFailed`, `NotFound`, `RequestError`, `StaleFence`."""
        size = sum(len(data) for _, data in write.blobs)
        if len(write.bodies) > MANY_BODIES:
            # A whole conversation at once: to turn it into text takes long enough to be noticed.
            change = await trio.to_thread.run_sync(changes.append, write)
        else:
            change = changes.append(write)
        changes_jobs = bool(write.jobs) or write.fulfils is not None
        return await self._ask(_Request(change, size=size, changes_jobs=changes_jobs))

    def save_partial(self, partial: Partial) -> None:
        """Keep a running item's text with the next batch, or soon; the latest text wins."""
        if self._closing:
            return
        if not self._partials:
            self._partials_due = trio.current_time() + PARTIALS_S
            self._work.set()
        self._partials[partial.conversation_id, partial.item_id, partial.kind] = partial

    async def delete(self, conversation_id: str, *, archive: bool = False) -> None:
        """Remove a conversation and all that belongs to it; its keys stay, unreadable.

        `archive`: its rollout is moved to the archive, and not removed.
        """
        change = changes.delete(conversation_id, archive=archive)
        await self._ask(_Request(change, deletes=True))

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        """Remove a conversation that `expiry.may_expire`; whether it was."""
        change = expiry.expire(conversation_id, before_at=before_at, archive=archive)
        return await self._ask(_Request(change, deletes=True))

    async def apply(self, change: Change[T]) -> T:
        """Commit a change that touches no event; raises what it raises, and `StorageFailed`."""
        return await self._ask(_Request(change))

    async def scrub(self, change: Change[T]) -> T:
        """Commit a change that takes text away; raises what it raises, and `StorageFailed`."""
        return await self._ask(_Request(change, deletes=True))

    async def erase(self) -> bool:
        """Leave no byte of what was deleted or replaced in the database and its log.

        All of it is written anew, and commits wait meanwhile. False: somebody reads an older
        state and keeps it there, or the disk has no room for it twice.
        """
        return await self._in_thread(self._transactions.erase)

    async def mend_search(self) -> None:
        """Have the index of words built anew when nobody waits, or at the next start."""
        await self._ask(_Request(changes.mend_search))

    async def ping(self) -> None:
        """A round trip through queue and thread; a disk that refuses is an answer too."""
        with contextlib.suppress(StorageFailed):
            await self.flush()

    async def flush(self) -> None:
        """Return when all that was asked before, partials included, was tried.

        Raises `StorageFailed` if the database refuses just now.
        """
        await self._ask(_Request(changes.do_nothing))

    async def close(self) -> None:
        """Commit what waits, empty the log, close the database; harmless if done before."""
        self._closing = True
        self._work.set()
        if self._running:
            await self._closed.wait()

    async def _ask(self, request: _Request[T]) -> T:
        if self._closing:
            raise StorageFailed(f"{self._path} is closed: the daemon stops.")
        self._queue.append(request)
        self._work.set()
        await request.done.wait()
        outcome = request.outcome
        if isinstance(outcome, Done):
            return outcome.value
        assert outcome is not None
        raise outcome

    # ---- the one task ----------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the database until closed or cancelled; raises `StorageFailed`, `NewerSchema`."""
        self._running = True
        try:
            await self._in_thread(self._transactions.open)
        except BaseException as error:
            self._refuse_all(error)
            raise
        try:
            task_status.started()
            while await self._wait_for_work():
                # Shielded: requests that have left the queue get their answer.
                with trio.CancelScope(shield=True):
                    await self._commit_next()
                    await _let_callers_ask()
        finally:
            # What was asked before the end is committed before the end.
            with trio.CancelScope(shield=True):
                await self._finish()

    async def _wait_for_work(self) -> bool:
        """Return when a batch is due; False: all is done and the end was asked for."""
        while not self._queue:
            if self._closing:
                return bool(self._partials)
            deadline = self._partials_due if self._partials else self._idle_at
            with trio.move_on_at(deadline) as waited:
                await self._work.wait()
            self._work = trio.Event()
            if waited.cancelled_caught:
                if self._partials:
                    return True
                is_done = await self._in_thread(self._transactions.rest)
                # Whoever reads an old state keeps deleted text in the log; but not for ever.
                self._idle_at = math.inf if is_done else trio.current_time() + HELD_S
        return True

    async def _commit_next(self) -> None:
        batch: list[_Request[Any]] = []
        size = 0
        while self._queue and len(batch) < BATCH_REQUESTS and size < BATCH_BYTES:
            request = self._queue.popleft()
            size += request.size
            batch.append(request)
        partials, self._partials = list(self._partials.values()), {}
        if partials:
            batch.insert(0, _Request(changes.save_partials(partials)))
        at = self._now()
        asked = [Asked(request.change, request.deletes) for request in batch]
        outcomes = await self._in_thread(lambda: self._transactions.commit(asked, at=at))
        for request, outcome in zip(batch, outcomes, strict=True):
            request.outcome = outcome
        self._answer(batch)
        self._idle_at = trio.current_time() + IDLE_S
        if trio.current_time() >= self._checkpoint_at and self._transactions.is_checkpoint_due():
            is_done = await self._in_thread(self._transactions.checkpoint)
            # With a pause after each, a log that is written fast would be long whenever one comes.
            self._checkpoint_at = trio.current_time() + (0.0 if is_done else CHECKPOINT_PAUSE_S)

    def _answer(self, batch: Sequence[_Request[Any]]) -> None:
        """Publish, then wake the callers: none may see its answer before the event is out."""
        events = [
            event
            for request in batch
            if isinstance(request.outcome, Done)
            for event in request.outcome.events
        ]
        if events:
            try:
                self._observe(events)
            except Exception:
                # The events are committed: that is what the callers asked for.
                logger.exception("The observer of committed events failed")
        if any(request.deletes and isinstance(request.outcome, Done) for request in batch):
            self._rewritten()
        if any(request.changes_jobs and isinstance(request.outcome, Done) for request in batch):
            self._jobs_changed()
        for request in batch:
            request.done.set()

    async def _finish(self) -> None:
        self._closing = True
        while self._queue or self._partials:
            await self._commit_next()
        await self._in_thread(self._transactions.close)
        self._closed.set()

    def _refuse_all(self, error: BaseException) -> None:
        """The database never opened: tell everybody who waits, and whoever comes."""
        self._closing = True
        said = error if isinstance(error, StorageFailed) else StorageFailed("askd cannot start.")
        while self._queue:
            request = self._queue.popleft()
            request.outcome = refusals.copy_error(said)
            request.done.set()
        self._closed.set()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=self._thread)


def connect(path: Path) -> sqlite3.Connection:
    """The only connection that can write; a file that has vanished does not come back empty."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )


async def _let_callers_ask() -> None:
    """Let those who were just answered queue their next change, so that it shares a commit.

    Two rounds: in the first they run in any order with us, in the second we come after all.
    """
    await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
