"""Puts a finished database in the place of another, which is put aside and never deleted.

At every moment one whole database is in place: the new one comes by a single
rename. Before that the old one gets a second name; and what lies in its
write-ahead log is taken into it, for a log that lies beside another database
than its own would be read into that.
"""

import contextlib
import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from askd.errors import StorageFailed
from askd.files import sync_directory, sync_file
from askd.store import refusals
from askd.store.backups import ASIDE, BESIDE, backup_path
from askd.store.checkpoint import wal_size
from askd.store.writer import connect

HEADER = b"SQLite format 3\0"
"""With this every database begins."""
BUSY_TIMEOUT_MS = 500
"""The daemon is away: whoever reads now is a person with a tool, who can be asked to stop."""
UNFINISHED = (REBUILDING, RESTORING) = (".rebuilding", ".restoring")
"""What the name of a new database ends with until it is whole, or in place."""
SIDES = ("-wal", "-shm")
"""What SQLite keeps beside a database that is open, or was not closed."""


def settle(database: Path) -> str | None:
    """Take the write-ahead log into the database, as its next start would.

    Answers why that cannot be, if the database is damaged; then the log stays beside it.

    Raises:
        StorageFailed: the disk said no, which says nothing about the database.
    """
    drop_links(database)
    if not database.exists() or (
        wal_size(database) == 0 and not _beside(database, "-shm").exists()
    ):
        return None
    if not has_header(database):
        # Opened for writing, its log would be taken for a stranger's and removed.
        return "file is not a database"
    try:
        connection = connect(database)
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        if refusals.primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return str(error)
        raise refusals.storage_failed(error, database) from None
    if busy:
        raise StorageFailed(f"{database} is in use by another program. Close it, then try again.")
    return None


def name_aside(path: Path, why: str, *, at: float) -> Path:
    """A free name beside a database, or a directory, that says when and for what it was put aside.

    It is one of a backup's, so that a deletion finds it among them.
    """
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    free = backup_path(path, f"{ASIDE}{why}-{moment}")
    number = 1
    while free.exists():
        number += 1
        free = backup_path(path, f"{ASIDE}{why}-{moment}-{number}")
    return free


def put_in_place(new: Path, database: Path, aside: Path) -> Path | None:
    """Make `new` the database; where the old one is now, None if there was none.

    `new` is whole, closed and synced; `database` is settled, if it can be. Raises `OSError`.
    """
    there = database.exists()
    if there:
        _give_second_name(database, aside)
    if wal_size(database):
        # Only of a database that is damaged or gone: it stays with what it belongs to.
        os.rename(_beside(database, "-wal"), _beside(aside, "-wal"))
    for side in SIDES:
        _beside(database, side).unlink(missing_ok=True)
    sync_directory(database.parent)
    os.replace(new, database)
    sync_directory(database.parent)
    return aside if there else None


def clear(path: Path) -> None:
    """Remove an unfinished database and what SQLite keeps beside it."""
    for each in (path, *(_beside(path, side) for side in BESIDE)):
        each.unlink(missing_ok=True)


def drop_links(database: Path) -> None:
    """Take away a second name of the database itself: someone was killed before the rename."""
    if not database.exists():
        return
    for each in database.parent.glob(backup_path(database, f"{ASIDE}*").name):
        with contextlib.suppress(OSError):
            if each.samefile(database):
                each.unlink()
                log = _beside(each, "-wal")
                if log.exists() and not _beside(database, "-wal").exists():
                    os.rename(log, _beside(database, "-wal"))


def _give_second_name(database: Path, aside: Path) -> None:
    try:
        os.link(database, aside)
    except OSError:
        # A file system without such links: a copy is as good, and takes its time.
        partial = aside.with_name(f"{aside.name}.partial")
        shutil.copyfile(database, partial)
        shutil.copymode(database, partial)
        sync_file(partial)
        os.rename(partial, aside)


def has_header(database: Path) -> bool:
    """Whether a file begins as a database does; raises `OSError`."""
    with database.open("rb") as stream:
        return stream.read(len(HEADER)) == HEADER


def _beside(database: Path, side: str) -> Path:
    return database.with_name(database.name + side)
