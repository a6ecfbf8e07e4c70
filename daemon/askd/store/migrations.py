"""The numbered steps that bring a database to this version's schema.

Each step and the note that it was taken are one transaction: after a crash the
old state is whole. Before the first pending step an existing database is copied
beside itself; the copy goes a week later, at a start of the daemon. A database
from a newer version is left alone.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from askd.errors import NewerSchema, StorageFailed
from askd.files import PRIVATE_FILE, sync_directory
from askd.store.backups import backup_path, drop_old_backups
from askd.store.expiry_migration import add_expiry
from askd.store.jobs.migration import rebuild_jobs
from askd.store.refusals import storage_failed
from askd.store.schedules.migration import TABLES as SCHEDULES
from askd.store.search.migration import add_search
from askd.store.snapshots import add_snapshots
from askd.store.token_rates import TABLE as TOKEN_RATES
from askd.store.usage_migration import add_usage

Step = str | Callable[[sqlite3.Connection], None]
"""SQL, or a function that runs inside the step's transaction and must not end it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. Numbers go up; one that was released is never changed or reused."""

    number: int
    name: str
    step: Step


ROLLOUTS = """
-- Which file mirrors a conversation: its first `bytes` bytes tell the events up to `seq`.
-- A row is there before its file is. 0 and 0: the file is to be written anew; `bytes` below 0: it
-- is being written from its beginning.
CREATE TABLE rollouts (
    conversation_id TEXT NOT NULL PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;

-- Files whose conversation is gone, until they are gone too, or have moved to the archive.
CREATE TABLE rollout_removals (
    path TEXT NOT NULL PRIMARY KEY,
    archive INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""

MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "first", Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")),
    Migration(2, "usage", add_usage),
    Migration(3, "search", add_search),
    # No event of an older version pins a conversation: there is nothing to fill it from.
    Migration(4, "pins", "ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;"),
    Migration(5, "rollouts", ROLLOUTS),
    Migration(6, "expiry", add_expiry),
    # No older event says how large its request was: there is nothing to learn from.
    Migration(7, "token_rates", TOKEN_RATES),
    Migration(8, "jobs", rebuild_jobs),
    Migration(9, "snapshots", add_snapshots),
    Migration(10, "schedules", SCHEDULES),
)


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    *,
    at: float,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> None:
    """Take every pending step; raises `NewerSchema`, `StorageFailed`."""
    applied = _find_applied(connection, path)
    known = max(each.number for each in migrations)
    current = max(applied, default=0)
    if current > known:
        raise NewerSchema(
            f"{path} was written by a newer askd (schema {current}, this one knows {known}). "
            "Install that version again, or choose another directory with ASK_HOME.",
            data={"schema": current, "known": known},
        )
    pending = [each for each in migrations if each.number not in applied]
    if not pending:
        drop_old_backups(path, at=at)
        return
    backup = _back_up(connection, path, current) if applied else None
    for migration in pending:
        try:
            _take(connection, migration, at=at)
        except Exception as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            kept = f" A copy is {backup}." if backup else ""
            raise StorageFailed(
                f"{path} could not be brought to schema {migration.number} "
                f"({migration.name}): {error}. It is as it was.{kept}"
            ) from error


def _find_applied(connection: sqlite3.Connection, path: Path) -> set[int]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "migrations" in tables:
        return {number for (number,) in connection.execute("SELECT number FROM migrations")}
    if tables:
        raise StorageFailed(f"{path} is a database, but not one of askd's. Move it away.")
    return set()


def _take(connection: sqlite3.Connection, migration: Migration, *, at: float) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at REAL NOT NULL)"
    )
    if isinstance(migration.step, str):
        for statement in split_statements(migration.step):
            connection.execute(statement)
    else:
        migration.step(connection)
    connection.execute(
        "INSERT INTO migrations (number, name, applied_at) VALUES (?, ?, ?)",
        (migration.number, migration.name, at),
    )
    connection.execute("COMMIT")


def split_statements(script: str) -> Iterator[str]:
    """The statements of a script; Python's `executescript` would commit what is open."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _back_up(connection: sqlite3.Connection, path: Path, number: int) -> Path:
    """Copy the database beside itself, whole or not at all; raises `StorageFailed`."""
    backup = backup_path(path, number)
    partial = backup.with_name(f"{backup.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE)
        try:
            # SQLite fills an empty file; ours is private before there is anything to read.
            connection.execute("VACUUM INTO ?", (str(partial),))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        partial.replace(backup)
        sync_directory(path.parent)
    except (OSError, sqlite3.Error) as error:
        partial.unlink(missing_ok=True)
        raise storage_failed(error, backup) from error
    return backup
