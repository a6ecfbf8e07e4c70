"""What happens in the writer's thread: open, commit, checkpoint, on one connection.

Nothing here awaits, and `commit` never raises: whatever the disk does becomes
an outcome with a sentence, and the next commit tries anew. It must be called
from one thread at a time.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askd.errors import AskdError, StorageFailed
from askd.store import refusals
from askd.store.batch import Change, Done, Outcome, commit_batch
from askd.store.checkpoint import LogFile, file_size, rewrite
from askd.store.database import configure_writer, prepare_file
from askd.store.migrations import Migration, migrate
from askd.store.reserve import Reserve
from askd.store.search.index import tend

logger = logging.getLogger(__name__)

REWRITE_LIMIT_BYTES = 128 * 1024 * 1024
"""After deletions a database up to this size is written anew when nobody waits: half a second.
In a larger one what was deleted may stay in the gaps of pages until a scrub."""
TEND_SHARE = 10
"""Of the time that many deletions take, cleaning the index after them takes a tenth."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A change to commit. `deletes`: on a full disk the reserve is given up for it."""

    change: Change[Any]
    deletes: bool = False


class Transactions:
    """The database at `path`, opened for writing by `connect`, which must not create it.

    Attributes:
        commits: how many transactions were committed.
    """

    def __init__(
        self,
        path: Path,
        *,
        connect: Callable[[Path], sqlite3.Connection],
        now: Callable[[], float],
        migrations: Sequence[Migration],
    ) -> None:
        self._path = path
        self._connect = connect
        self._now = now
        self._migrations = migrations
        self._reserve = Reserve(path.with_name("reserve.bin"))
        self._identity = (0, 0)
        self._tend_at = 0.0
        self._log = LogFile(path)
        # What an earlier daemon left in the file is known to nobody.
        self._owes_empty_log = True
        self._owes_rewrite = False
        self.connection: sqlite3.Connection | None = None
        self.commits = 0

    def open(self) -> None:
        """Make the file if it is not there, bring it up to date; raises `StorageFailed`."""
        prepare_file(self._path)
        self._lend()
        self._open()
        self.rest()  # what an earlier daemon left in the log, and the schema if it is new
        self._lend()  # that may have taken the room; others have to begin too

    def commit(self, asked: Sequence[Asked], *, at: float) -> list[Outcome]:
        """Commit all that can be in one transaction; an outcome for each, in order."""
        outcomes = self._try(asked, at=at)
        starved = [
            index
            for index, each in enumerate(asked)
            if each.deletes and _is_starved(outcomes[index])
        ]
        if starved and self._reserve.release():
            again = self._try([asked[index] for index in starved], at=at)
            for index, outcome in zip(starved, again, strict=True):
                outcomes[index] = outcome
        self._owes_empty_log |= any(isinstance(each, Done) and each.forgets for each in outcomes)
        pairs = zip(asked, outcomes, strict=True)
        if any(each.deletes and isinstance(outcome, Done) for each, outcome in pairs):
            # Deleted text must not live on in the index of words, nor in the log.
            self._owes_empty_log = True
            self._owes_rewrite = True
            self._tend_search(after_delete=True)
            self.checkpoint()
        return [
            refusals.storage_failed(outcome, self._path)
            if isinstance(outcome, sqlite3.Error)
            else outcome
            for outcome in outcomes
        ]

    def is_checkpoint_due(self) -> bool:
        """Whether the log may be longer than readers should bear."""
        return self._log.is_due()

    def checkpoint(self) -> bool:
        """Copy the log, and empty its file if deleted text may be in it; False: a reader is there.

        The debt stays, and with it each checkpoint empties the file, until all comes to rest:
        before that the pages which commits write may still have what was deleted.
        """
        if self.connection is None:
            return True
        if self._owes_empty_log:
            return self._log.empty(self.connection)
        return self._log.copy(self.connection)

    def rest(self) -> bool:
        """What is done while nobody waits: a clean index, a copied log, the reserve refilled.

        False: a reader holds what the log has, and what was deleted may be in it. Try again.
        """
        is_clean = self._tend_search()
        is_done = self.checkpoint()
        if is_done and self._owes_rewrite and file_size(self._path) <= REWRITE_LIMIT_BYTES:
            is_done = self._rewrite()
        if is_done and is_clean:
            self._owes_empty_log = False
        self._reserve.keep()
        return is_done

    def erase(self) -> bool:
        """Leave no byte of what was deleted or replaced; False: a reader or the disk forbids it."""
        self._owes_empty_log = True
        self._owes_rewrite = False  # it is done here, whatever the size
        return self.rest() and self._rewrite()

    def _lend(self) -> None:
        if self._reserve.lend():
            logger.warning("No space left: a part of the reserve is given up, to start at all.")

    def _rewrite(self) -> bool:
        """Write every page anew, once, whether or not there is room for it."""
        self._owes_rewrite = False
        if self.connection is None:
            return False
        try:
            rewrite(self.connection, self._path)
        except (sqlite3.Error, OSError) as error:
            logger.warning("The database cannot be written anew: %s", error)
            return False
        self._owes_empty_log = True  # behind what was written now may be what was before
        return self.checkpoint()

    def close(self) -> None:
        """Empty the log and let go of the database."""
        self._owes_empty_log = True
        self.rest()
        self._let_go()

    def _tend_search(self, *, after_delete: bool = False) -> bool:
        """Clean the index of words; after deletions in a row not each time, but then at rest.

        Answers whether it is clean.
        """
        if self.connection is None or (after_delete and time.monotonic() < self._tend_at):
            return False
        began = time.monotonic()
        is_clean = True
        try:
            tend(self.connection)
        except sqlite3.Error as error:
            logger.warning("The search index cannot be cleaned now: %s", error)
            is_clean = False
        ended = time.monotonic()
        self._tend_at = ended + TEND_SHARE * (ended - began)
        return is_clean

    def _try(self, asked: Sequence[Asked], *, at: float) -> list[Outcome]:
        try:
            connection = self._usable()
            outcomes = commit_batch(connection, [each.change for each in asked], at=at)
        except (sqlite3.Error, AskdError) as error:
            self._notice(error)
            return [refusals.copy_error(error) for _ in asked]
        except Exception:
            logger.exception("A batch failed in a way that nobody foresaw")
            failed = f"{self._path} cannot be used: see the daemon's log."
            return [StorageFailed(failed) for _ in asked]
        self.commits += 1
        for outcome in outcomes:
            if isinstance(outcome, sqlite3.Error):
                self._notice(outcome)
        return outcomes

    def _usable(self) -> sqlite3.Connection:
        if self.connection is None:
            return self._open()
        if self._find_identity() != self._identity:
            # Commits would go into a file without a name, and be lost with the process.
            raise StorageFailed(
                f"{self._path} was removed or replaced while the daemon was running. "
                "Put it back, or restart the daemon: ask daemon restart"
            )
        return self.connection

    def _open(self) -> sqlite3.Connection:
        try:
            connection = self._connect(self._path)
        except sqlite3.Error as error:
            raise refusals.storage_failed(error, self._path) from error
        try:
            configure_writer(connection, self._path)
            migrate(connection, self._path, at=self._now(), migrations=self._migrations)
            # After the migrations: one that rebuilds a table would else lose what refers to it.
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise refusals.storage_failed(error, self._path) from error
            raise
        self._identity = self._find_identity()
        self.connection = connection
        return connection

    def _find_identity(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except OSError:
            return (0, 0)
        return (found.st_dev, found.st_ino)

    def _notice(self, error: Exception) -> None:
        """Log what went wrong; drop a connection that may itself be broken."""
        logger.warning("A commit failed: %s", error)
        if isinstance(error, sqlite3.Error) and refusals.is_worth_reopening(error):
            self._let_go()

    def _let_go(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error as error:
                logger.warning("The database could not be closed: %s", error)


def _is_starved(outcome: Outcome) -> bool:
    return isinstance(outcome, sqlite3.Error) and refusals.is_full(outcome)
