"""A look at the database as a whole: is it sound, how large is it, is every record readable.

It reads, on a connection of its own and in a thread, and repairs nothing. It is
bounded in time: what was not looked at by then is said not to have been.
"""

import sqlite3
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from askd.errors import StorageFailed
from askd.store.checkpoint import wal_size
from askd.store.database import open_readonly
from askd.store.recovery.inventory import take_inventory
from askd.store.recovery.testimony import can_tell
from askd.store.refusals import primary_code, storage_failed
from askd.store.rollouts.mirror import MirrorStatus
from askd.store.surveys import Survey

CHECK_S = 10.0
"""A person waits. A gigabyte is read in a few seconds where it is not in memory."""
SLACK_S = 1.0
"""What SQLite may take to notice that its time is over."""
PROBLEMS = 20
"""More of them say nothing more."""
PROBLEM_LENGTH = 200
STEPS = 2000
"""Of SQLite's machine between two looks at the clock: well under a millisecond."""


@dataclass(slots=True, kw_only=True)
class Soundness:
    """What SQLite says of the file.

    Attributes:
        problems: what is wrong with its pages, in SQLite's words; none: it is sound.
        strays: rows that refer to what is not there.
        complete: everything was looked at.
    """

    problems: list[str] = field(default_factory=list)
    strays: int = 0
    conversations: int = 0
    database_bytes: int = 0
    wal_bytes: int = 0
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """All of it.

    Attributes:
        rollouts: None: that could not be asked.
        recoverable: a rollout holds a record that cannot be read; None: nobody knows.
    """

    soundness: Soundness
    survey: Survey
    rollouts: MirrorStatus | None
    recoverable: bool | None = None


class Surveyor(Protocol):
    """Looks through all events; `queries.Reader` does."""

    async def count_unreadable(self, *, limit_s: float) -> Survey:
        """How many cannot be read."""
        ...


class Mirrors(Protocol):
    """Knows how the rollouts are; `rollouts.mirror.Mirror` does."""

    async def status(self) -> MirrorStatus:
        """How they are, now; raises `StorageFailed`."""
        ...

    def sweep(self) -> None:
        """Hear that files are gone."""
        ...


class Checkup:
    """Looks at the database at `path`, one at a time."""

    def __init__(self, path: Path, *, surveyor: Surveyor, mirrors: Mirrors) -> None:
        self._path = path
        self._surveyor = surveyor
        self._mirrors = mirrors
        self._thread = trio.CapacityLimiter(1)

    async def check(self, *, limit_s: float = CHECK_S) -> Health:
        """Take the look; it lasts twice `limit_s` at the most. Never raises `AskdError`."""
        soundness = Soundness()
        with trio.move_on_after(limit_s + SLACK_S):
            # Left alone if SQLite does not notice: it reads, and ends by itself.
            soundness = await trio.to_thread.run_sync(
                partial(examine, self._path, limit_s=limit_s),
                limiter=self._thread,
                abandon_on_cancel=True,
            )
        try:
            survey = await self._surveyor.count_unreadable(limit_s=limit_s)
        except StorageFailed as error:
            survey = Survey()
            soundness.problems.append(error.message)
        rollouts: MirrorStatus | None = None
        with trio.move_on_after(limit_s):
            try:
                rollouts = await self._count_files(await self._mirrors.status(), limit_s)
            except StorageFailed as error:
                soundness.problems.append(error.message)
        return Health(
            soundness=soundness,
            survey=survey,
            rollouts=rollouts,
            recoverable=await self._ask_rollouts(survey, limit_s),
        )

    async def _ask_rollouts(self, survey: Survey, limit_s: float) -> bool | None:
        """Whether a rebuild would bring back something that cannot be read."""
        if not survey.damaged or survey.conversations > len(survey.damaged):
            return None
        ids = [each.conversation_id for each in survey.damaged]
        ask = partial(can_tell, self._path, ids, limit_s=limit_s / 2)
        with trio.move_on_after(limit_s):
            try:
                return await trio.to_thread.run_sync(ask, abandon_on_cancel=True)
            except (StorageFailed, sqlite3.Error):
                return None  # what is wrong with the database is said of it
        return None

    async def _count_files(self, status: MirrorStatus, limit_s: float) -> MirrorStatus:
        """Count the files too; those that are missing are written again."""
        if status.directory is None:
            return status
        take = partial(take_inventory, self._path, Path(status.directory), limit_s=limit_s / 2)
        try:
            found = await trio.to_thread.run_sync(take, abandon_on_cancel=True)
        except (StorageFailed, sqlite3.Error):
            return status  # what is wrong with the database stands above
        if found.missing:
            self._mirrors.sweep()
        return replace(status, strays=found.strays, missing=found.missing)


def examine(path: Path, *, limit_s: float) -> Soundness:
    """What SQLite says of the file; of one that cannot be opened, why."""
    found = Soundness(wal_bytes=wal_size(path))
    until = time.monotonic() + limit_s
    try:
        found.database_bytes = path.stat().st_size
        connection = open_readonly(path)
    except StorageFailed as error:
        found.problems.append(error.message)
        return found
    except OSError as error:
        found.problems.append(storage_failed(error, path).message)
        return found
    try:
        connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        _look(connection, found)
        found.complete = True
    except sqlite3.Error as error:
        if primary_code(error) != sqlite3.SQLITE_INTERRUPT:
            found.problems.append(str(error)[:PROBLEM_LENGTH])
    finally:
        connection.close()
    return found


def _look(connection: sqlite3.Connection, found: Soundness) -> None:
    said = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({PROBLEMS})")]
    if said != ["ok"]:
        lines = [line for each in said for line in each.splitlines()]
        found.problems += [line[:PROBLEM_LENGTH] for line in lines[:PROBLEMS]]
    found.strays = sum(1 for _ in connection.execute("PRAGMA foreign_key_check"))
    (found.conversations,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
