"""The files that mirror conversations, counted against the rows: which are too many, or missing.

It reads names, and the beginning of files that no row knows. It is bounded in time,
repairs nothing, and counts no file that askd did not write.
"""

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from askd.store.database import open_readonly
from askd.store.recovery.mirrors import find_files, find_owner
from askd.store.rollouts.rows import read_removals

FILES = 20_000
"""Of files, and of rows, so many are looked at: a look takes a few microseconds."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was counted, at the least.

    Attributes:
        strays: files of ours about conversations that are not here.
        missing: files that were whole, and are not there any more.
    """

    strays: int = 0
    missing: int = 0


def take_inventory(database: Path, directory: Path, *, limit_s: float) -> Inventory:
    """Count; raises `StorageFailed`, `sqlite3.Error`."""
    until = time.monotonic() + limit_s
    # The files first: who is new makes its row before its file.
    files = _list_files(directory, until)
    with closing(open_readonly(database)) as connection:
        known, rows = _read_paths(connection, database.parent)
        strays = 0
        for path in files:
            if time.monotonic() > until:
                break
            if str(path) not in known:
                strays += _is_stray(connection, path)
    return Inventory(strays, _count_missing(rows, until))


def _list_files(directory: Path, until: float) -> list[Path]:
    found: list[Path] = []
    try:
        for path in find_files(directory):
            found.append(path)
            if len(found) >= FILES or time.monotonic() > until:
                break
    except OSError:
        pass  # what is wrong with the directory the mirror says
    return found


def _read_paths(connection: sqlite3.Connection, data: Path) -> tuple[set[str], list[str]]:
    """Every path that a row or a removal names, and those of files that were whole."""
    rows = [
        (str(data / path), size)
        for path, size in connection.execute("SELECT path, bytes FROM rollouts")
    ]
    going = [str(data / each.path) for each in read_removals(connection)]
    return {*(path for path, _ in rows), *going}, [path for path, size in rows if size > 0]


def _is_stray(connection: sqlite3.Connection, path: Path) -> bool:
    try:
        owner = find_owner(path)
    except OSError:
        return False  # gone by now, or unreadable: nobody can say whose it is
    if owner is None:
        return False
    found = connection.execute("SELECT 1 FROM conversations WHERE id = ?", (owner,))
    return found.fetchone() is None


def _count_missing(paths: list[str], until: float) -> int:
    missing = 0
    for path in paths[:FILES]:
        if time.monotonic() > until:
            break
        missing += not os.path.lexists(path)
    return missing
