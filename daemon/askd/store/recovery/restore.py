"""`askd restore`: a backup in the place of the database, and its rollouts written anew.

The backup is copied, and the copy examined, before anything is touched. The
database and the rollouts that were there are put aside, never deleted. It must
be called by whoever owns the data directory.
"""

import os
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from os.path import isdir, isfile, lexists
from pathlib import Path

from askd.errors import NotFound, RequestError, StorageFailed
from askd.files import PRIVATE_FILE, sync_directory, sync_file
from askd.store import refusals
from askd.store.backups import find_backups
from askd.store.recovery import placing
from askd.store.recovery.schemas import refuse_newer
from askd.store.writer import connect

LOOKED_AT = 1000
"""Names in a directory that was given for a backup: it may be the root of a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did.

    Attributes:
        backup: the file that was taken; it stays where it is.
        conversations, events: how many it holds.
        aside: where the database from before is now; None: there was none.
        rollouts_aside: where the rollouts from before are now; None: there were none.
    """

    backup: Path
    conversations: int
    events: int
    aside: Path | None
    rollouts_aside: Path | None


def find_backup(database: Path, said: str) -> Path:
    """The backup that a person means: a path, or the name of one beside the database.

    Raises:
        NotFound: there is no such file; it lists those that there are.
        RequestError: it is the database itself, or nothing that can be copied.
        StorageFailed: it is a file, and no database.
    """
    there = [each for each in (Path(said), database.parent / said) if said and lexists(each)]
    found = next((each for each in there if isfile(each)), None)
    if found is None and there:
        raise RequestError(_explain(there[0]), reason="bad_backup")
    if found is None:
        names = [each.name for each in find_backups(database) if isfile(each)]
        known = f"There are: {', '.join(names)}" if names else f"None lies beside {database}."
        if not said:
            raise RequestError(f"Say which backup. {known}", reason="bad_backup")
        raise NotFound(
            f"No such backup: {said}\n{known}",
            reason="backup_not_found",
            data={"candidates": names},
        )
    if database.exists() and found.samefile(database):
        raise RequestError(f"{said} is the database itself.", reason="bad_backup")
    try:
        if not placing.has_header(found):
            raise _damaged(found, "file is not a database")
    except OSError as error:
        raise StorageFailed(f"{found} cannot be read: {error.strerror}.") from None
    return found.absolute()


def _explain(path: Path) -> str:
    """Why what is there is no backup."""
    if not isdir(path):
        return f"{path} is no file; a backup is a copy of the database."
    told = f"{path} is a directory; a backup is a copy of the database."
    if any(each.match("rollout-*.jsonl") for each in islice(path.rglob("*"), LOOKED_AT)):
        told += f" What the rollouts in it know comes back with: ask doctor --rebuild --from {path}"
    return told


def restore(database: Path, backup: Path, *, rollouts: Path, at: float) -> Restored:
    """Put a backup in the place of the database; raises `StorageFailed`, with the old in place.

    Args:
        rollouts: the directory of the files that mirror conversations.
        at: now, in unix seconds.
    """
    new = database.with_name(database.name + placing.RESTORING)
    try:
        placing.clear(new)
        _copy(backup, new)
        conversations, events = _examine(new, backup)
        placing.settle(database)
        aside_name = placing.name_aside(database, "restore", at=at)
        # First the files: without them they are written anew from whichever database is there.
        rollouts_aside = _put_rollouts_aside(rollouts, at=at)
        try:
            aside = placing.put_in_place(new, database, aside_name)
        except OSError:
            if rollouts_aside is not None and not rollouts.exists():
                os.rename(rollouts_aside, rollouts)
            raise
    except OSError as error:
        raise refusals.storage_failed(error, database) from error
    finally:
        with suppress(OSError):
            placing.clear(new)
    return Restored(
        backup=backup,
        conversations=conversations,
        events=events,
        aside=aside,
        rollouts_aside=rollouts_aside,
    )


def _copy(backup: Path, new: Path) -> None:
    """The backup's bytes, and those of the log beside it, if one was put aside with it."""
    for side in ("", "-wal"):
        source, target = (each.with_name(each.name + side) for each in (backup, new))
        if side and not source.exists():
            continue
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        with (
            source.open("rb") as there,
            os.fdopen(os.open(target, flags, PRIVATE_FILE), "wb") as here,
        ):
            shutil.copyfileobj(there, here, 1024 * 1024)


def _examine(new: Path, backup: Path) -> tuple[int, int]:
    """See that the copy is a whole database of ours; how many conversations and events it has."""
    try:
        connection = connect(new)
        try:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise _damaged(backup, found)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if not {"migrations", "conversations", "events"} <= tables:
                raise StorageFailed(
                    f"{backup} is a database, but none of askd's. Nothing was changed.",
                    reason="bad_backup",
                )
            numbers = connection.execute("SELECT number FROM migrations").fetchall()
            refuse_newer([number for (number,) in numbers], backup)
            if "rollouts" in tables:
                connection.execute("UPDATE rollouts SET seq = 0, bytes = 0")
            (conversations,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
            (events,) = connection.execute("SELECT count(*) FROM events").fetchone()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
    except sqlite3.Error as error:
        if refusals.primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise _damaged(backup, str(error)) from None
        raise refusals.storage_failed(error, new) from error
    sync_file(new)
    return conversations, events


def _damaged(backup: Path, why: str) -> StorageFailed:
    first = why.splitlines()[0].rstrip(".")
    return StorageFailed(
        f"{backup} is no whole database ({first}). Nothing was changed; choose another backup.",
        reason="bad_backup",
    )


def _put_rollouts_aside(rollouts: Path, *, at: float) -> Path | None:
    if not rollouts.is_dir():
        return None
    aside = placing.name_aside(rollouts, "restore", at=at)
    try:
        os.rename(rollouts, aside)
    except OSError as error:
        raise StorageFailed(
            f"The rollouts in {rollouts} cannot be put aside: {error.strerror}. "
            "Nothing was changed; move them away yourself, then try again."
        ) from None
    sync_directory(rollouts.parent)
    return aside
