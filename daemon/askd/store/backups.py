"""Copies of the database that lie beside it: what they are called, what they hold, their end.

Whoever makes one, a migration or a person who puts a database aside, takes its
name from here, so that a deletion finds them all. A directory of rollouts that was
put aside is a copy too. A copy is never written to.
"""

import contextlib
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from askd.errors import NotFound
from askd.files import sync_directory
from askd.store.checkpoint import file_size
from askd.store.rollouts.rows import name_file

BACKUP_AGE_S = 7 * 86_400.0
"""A copy of the database is kept this long: it still holds what has been deleted since."""
ASIDE = "before-"
"""With this begins the label of a database that was put aside for another one."""
ASIDE_DIRECTORY = re.compile(
    rf".+\.backup-{ASIDE}[a-z]+-[0-9]{{8}}T[0-9]{{6}}Z(-[0-9]+)?", re.DOTALL
)
"""How a directory is called that was put aside; one of another name is not ours."""
BESIDE = ("-wal", "-shm", "-journal")
"""Files of SQLite's that belong to the one that is named before."""
IDS_AT_ONCE = 500
"""Parameters of one statement; SQLite takes 999 in its oldest builds."""


@dataclass(frozen=True, slots=True)
class Backup:
    """One copy. `at`: when it was last written, in unix seconds; `bytes` of all its files."""

    name: str
    bytes: int
    at: float


def backup_path(path: Path, label: object) -> Path:
    """Where a copy of the database at `path` lies; `label`: the schema it has, or a word."""
    return path.with_name(f"{path.name}.backup-{label}")


def find_backups(path: Path) -> list[Path]:
    """Every copy of the file, the oldest name first; one that was not finished counts too."""
    found = sorted(path.parent.glob(f"{path.name}.backup-*"))
    return [each for each in found if not (each.name.endswith(BESIDE) and _main(each) in found)]


def find_asides(path: Path, mirror: Path) -> list[Path]:
    """Directories of rollouts that were put aside: beside the database, and beside `mirror`."""
    near = list(path.parent.glob(f"*.backup-{ASIDE}*"))
    beside = f"{mirror.name}.backup-{ASIDE}"
    far = mirror.parent.iterdir() if mirror.parent.is_dir() else iter(())
    near += [each for each in far if each.name.startswith(beside)]
    return sorted({each for each in near if _is_aside(each)})


def find_copies(path: Path, mirror: Path) -> list[Path]:
    """All that still holds what was deleted: copies of the database, and rollouts put aside."""
    return [*(each for each in find_backups(path) if not each.is_dir()), *find_asides(path, mirror)]


def holds_any(backup: Path, conversation_ids: Sequence[str]) -> bool:
    """Whether a copy holds one of these conversations; what cannot be read may well."""
    if backup.is_dir():
        return _has_file_of(backup, conversation_ids)
    if any(file_size(each) for each in _beside(backup)):
        return True  # only with its log it is whole, and to read that would write files beside it
    try:
        # Nobody writes to it: so read, it needs no lock, and no file beside it.
        connection = sqlite3.connect(f"{backup.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        with contextlib.closing(connection):
            return _find_any(connection, conversation_ids)
    except sqlite3.Error:
        return True


def remove_backup(backup: Path) -> None:
    """Remove a copy with what belongs to it; one that is gone already is no error."""
    if _is_aside(backup):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(backup)
    else:
        for each in (*_beside(backup), backup):
            each.unlink(missing_ok=True)
    sync_directory(backup.parent)


def drop_old_backups(path: Path, *, at: float) -> None:
    """Remove the copies that are old enough; what was put aside stays until somebody says so."""
    for backup in find_backups(path):
        if backup.name.startswith(backup_path(path, ASIDE).name):
            continue
        with contextlib.suppress(OSError):  # gone already, or not ours to remove: no harm
            if at - backup.stat().st_mtime > BACKUP_AGE_S:
                remove_backup(backup)


class Backups:
    """The copies of the database at `path`, asked for in threads: a disk may be slow.

    `find_mirror`: the directory of the rollouts, which may have been put aside as well.
    """

    def __init__(self, path: Path, *, find_mirror: Callable[[], Path]) -> None:
        self._path = path
        self._find_mirror = find_mirror

    async def find(self, conversation_ids: Sequence[str] | None = None) -> list[Backup]:
        """All copies, or those that hold one of these conversations."""

        def work() -> list[Backup]:
            return [
                _describe(each)
                for each in find_copies(self._path, self._find_mirror())
                if conversation_ids is None or holds_any(each, conversation_ids)
            ]

        return await trio.to_thread.run_sync(work)

    async def remove(self, name: str) -> None:
        """Remove one copy, named as `find` names it; raises `NotFound`, `OSError`."""

        def work() -> None:
            # By its name alone, and only what is in the list: no path from outside is followed.
            for each in find_copies(self._path, self._find_mirror()):
                if each.name == name:
                    return remove_backup(each)
            raise NotFound(f"There is no copy {name!r}.", reason="backup_not_found")

        await trio.to_thread.run_sync(work)


def _main(beside: Path) -> Path:
    return beside.with_name(beside.name.rpartition("-")[0])


def _beside(backup: Path) -> list[Path]:
    return [backup.with_name(f"{backup.name}{suffix}") for suffix in BESIDE]


def _describe(backup: Path) -> Backup:
    parts = _walk(backup) if backup.is_dir() else iter((backup, *_beside(backup)))
    size = sum(file_size(each) for each in parts)
    try:
        return Backup(backup.name, size, backup.stat().st_mtime)
    except OSError:
        return Backup(backup.name, size, 0.0)


def _is_aside(path: Path) -> bool:
    is_named = ASIDE_DIRECTORY.fullmatch(path.name) is not None
    return is_named and path.is_dir() and not path.is_symlink()


def _walk(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        yield from (Path(folder, name) for name in names)


def _has_file_of(directory: Path, conversation_ids: Sequence[str]) -> bool:
    """Whether a rollout, or the draft of one, is named after one of these conversations."""
    names = [each.name for each in _walk(directory) if ".jsonl" in each.name]
    parts = [f"-{name_file(id)}.jsonl" for id in conversation_ids]
    return any(part in name for name in names for part in parts)


def _find_any(connection: sqlite3.Connection, conversation_ids: Sequence[str]) -> bool:
    for start in range(0, len(conversation_ids), IDS_AT_ONCE):
        some = conversation_ids[start : start + IDS_AT_ONCE]
        marks = ", ".join("?" * len(some))
        found = connection.execute(f"SELECT 1 FROM conversations WHERE id IN ({marks})", some)
        if found.fetchone() is not None:
            return True
    return False
