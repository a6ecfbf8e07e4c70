"""`askd rebuild`: a database from the rollouts, and from what can be read of the old one.

The rollouts tell; the old database is asked where it knows more. The new one is
made beside it and comes in its place whole. It must be called by whoever owns
the data directory.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from askd.errors import StorageFailed
from askd.files import sync_directory
from askd.store import refusals
from askd.store.jobs.migration import OLD_STATES
from askd.store.key_rows import hide_key
from askd.store.recovery import placing
from askd.store.recovery.filling import Filling, Mirrored
from askd.store.recovery.mirrors import MirrorFile, find_files, find_owner, read_mirror
from askd.store.recovery.remains import Columns, Remains
from askd.store.recovery.rows import Row, fill_gaps, merge_rows
from askd.store.recovery.schemas import refuse_newer
from askd.store.rollouts.rows import store_path
from askd.store.usage import COLUMNS as USAGE_COLUMNS

KEYS = ("key", "digest", "conversation_id", "turn_id", "seq")
USAGE = tuple(USAGE_COLUMNS.split(", "))
Progress = Callable[[int, int], None]
"""Told how many conversations are done, and of how many."""


@dataclass(slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild found, and did.

    Attributes:
        foreign: files that are not ours, Codex's for example; they are left as they are.
        unreadable: files of which nothing could be read, with why.
        bad_lines, torn: lines that were no record, and files whose last line was cut.
        lost: records that nobody has any more; each is marked in its place.
        lost_blobs: contents of attachments that nobody has any more.
        from_old: conversations that the old database knew more of, or alone.
        unnamed: conversations that lost their name to a later one, as (id, name).
        kept: how many rows of the old database's other tables were taken.
        faults: how many reads of the old database failed; `trouble`: why it cannot be read.
        aside: where the old database is now; None: there was none.
        was_empty, was_ours: what was in its place: a file of no bytes; a database of askd's.
    """

    conversations: int = 0
    events: int = 0
    files: int = 0
    foreign: int = 0
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    bad_lines: int = 0
    torn: int = 0
    lost: int = 0
    lost_blobs: int = 0
    from_old: int = 0
    unnamed: list[tuple[str, str]] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    faults: int = 0
    trouble: str | None = None
    aside: Path | None = None
    was_empty: bool = False
    was_ours: bool = True


def rebuild(
    database: Path,
    source: Path,
    *,
    mirror: Path,
    at: float,
    progress: Progress = lambda done, total: None,
) -> Rebuilt:
    """Make the database at `database` anew; raises `StorageFailed`, with the old one in place.

    Args:
        source: the directory whose rollouts are read.
        mirror: the one that the daemon writes them to; the same, or another.
        at: now, in unix seconds.
    """
    new = database.with_name(database.name + placing.REBUILDING)
    told = Rebuilt()
    try:
        placing.clear(new)
        told.trouble = placing.settle(database)
        remains = Remains(database)
        try:
            told.trouble = told.trouble or remains.trouble
            steps = remains.read_table("migrations", ("number",), order="number")
            refuse_newer([number for (number,) in steps], database)
            filling = Filling(new, at=at)
            try:
                _fill(
                    filling,
                    remains,
                    told,
                    source=source,
                    data=database.parent,
                    is_mirror=source == mirror,
                    at=at,
                    progress=progress,
                )
                filling.close()
                if not remains.faults:
                    remains.look()  # what nobody asked for may be damaged all the same
            except BaseException:
                filling.discard()
                raise
        finally:
            remains.close()
        told.was_empty, told.was_ours = remains.is_empty, remains.is_ours
        told.events, told.unnamed = filling.events, filling.unnamed
        told.lost_blobs, told.faults = filling.lost_blobs, remains.faults
        if told.conversations == 0:
            raise StorageFailed(
                f"No conversation can be read from {source}, nor from {database}. "
                "Nothing was changed."
            )
        sync_directory(new.parent)
        aside = placing.name_aside(database, "rebuild", at=at)
        told.aside = placing.put_in_place(new, database, aside)
    except (OSError, sqlite3.Error) as error:
        raise refusals.storage_failed(error, database) from error
    finally:
        with suppress(OSError):
            placing.clear(new)
    return told


def _fill(
    filling: Filling,
    remains: Remains,
    told: Rebuilt,
    *,
    source: Path,
    data: Path,
    is_mirror: bool,
    at: float,
    progress: Progress,
) -> None:
    removed = {path for (path,) in remains.read_table("rollout_removals", ("path",), order="path")}
    files = _sort_files(source, lambda path: store_path(path, data) in removed, told)
    # Whoever rewrites events says so here first: until the file is written anew, it is behind.
    stale = {
        id
        for id, seq in remains.read_table(
            "rollouts", ("conversation_id", "seq"), order="conversation_id"
        )
        if seq == 0
    }
    imported: dict[str, float] = dict(
        remains.read_table("conversations", ("id", "imported_at"), order="id")
    )
    usage = _sort_usage(remains)
    ids = sorted(files.keys() | remains.find_conversations())
    for number, id in enumerate(ids):
        progress(number, len(ids))
        mirrors = _read_mirrors(files.get(id, ()), told)
        known = remains.read_rows(id)
        rows, lost = fill_gaps(_choose(mirrors, known, is_stale=id in stale))
        if not rows:
            continue
        told.conversations += 1
        told.lost += lost
        found = set().union(*(each.rows for each in mirrors)) if mirrors else set()
        told.from_old += bool(known.keys() - found)
        blobs = {sha256: data for each in mirrors for sha256, data in each.blobs.items()}
        filling.add(
            id,
            rows,
            read_blob=partial(_find_blob, blobs, remains),
            mirrored=_place_mirror(mirrors, rows, data, is_stale=id in stale)
            if is_mirror
            else None,
            imported_at=imported.get(id, at),
            usage=usage.get(id, ()) if len(known) >= len(rows) and usage is not None else None,
        )
    progress(len(ids), len(ids))
    _take_tables(filling, remains, told, usage)


def _sort_files(
    source: Path, is_removed: Callable[[Path], bool], told: Rebuilt
) -> dict[str, list[Path]]:
    """The files of each conversation; those whose conversation was deleted are no one's."""
    files: dict[str, list[Path]] = {}
    for path in find_files(source):
        if is_removed(path):
            continue
        try:
            owner = find_owner(path)
        except OSError as error:
            told.unreadable.append((path, str(error.strerror)))
            continue
        if owner is None:
            told.foreign += 1
        else:
            told.files += 1
            files.setdefault(owner, []).append(path)
    return files


def _read_mirrors(paths: Sequence[Path], told: Rebuilt) -> list[MirrorFile]:
    """The files of one conversation, the one with the most events first."""
    mirrors = []
    for path in paths:
        try:
            mirror = read_mirror(path)
        except OSError as error:
            told.unreadable.append((path, str(error.strerror)))
            continue
        told.bad_lines += mirror.bad
        told.torn += mirror.torn
        if mirror.rows:
            mirrors.append(mirror)
    return sorted(mirrors, key=lambda each: len(each.rows), reverse=True)


def _choose(
    mirrors: Sequence[MirrorFile], known: dict[int, Row], *, is_stale: bool
) -> dict[int, Row]:
    """Every record of a conversation that anybody has, each once."""
    rows: dict[int, Row] = {}
    for mirror in mirrors:
        rows = merge_rows(rows, mirror.rows)
    if is_stale:
        # What was taken out of the log may still stand in the file: only what is missing is taken.
        return merge_rows(known, rows)
    return merge_rows(rows, known)


def _place_mirror(
    mirrors: Sequence[MirrorFile], rows: Sequence[Row], data: Path, *, is_stale: bool
) -> Mirrored | None:
    """Where the mirror goes on: behind what the file tells, if it tells this and nothing else."""
    if not mirrors:
        return None
    mirror = mirrors[0]
    seq, size = mirror.find_offset()
    if is_stale or len(mirrors) > 1 or any(mirror.rows[each.seq] != each for each in rows[:seq]):
        seq, size = 0, 0
    return Mirrored(path=store_path(mirror.path, data), seq=seq, bytes=size)


def _find_blob(blobs: Mapping[str, bytes], remains: Remains, sha256: str) -> bytes | None:
    found = blobs.get(sha256)
    return remains.read_blob(sha256) if found is None else found


def _sort_usage(remains: Remains) -> dict[str | None, list[Columns]] | None:
    """The counts of the old database by conversation; None: they cannot all be read."""
    faults = remains.faults
    rows = remains.read_table("usage", USAGE, order="rowid")
    if remains.trouble is not None or remains.faults > faults:
        return None
    found: dict[str | None, list[Columns]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


def _take_tables(
    filling: Filling,
    remains: Remains,
    told: Rebuilt,
    usage: dict[str | None, list[Columns]] | None,
) -> None:
    """What no rollout holds, as far as the old database can be read."""
    spent = [
        (None, *row[1:])  # what was spent is counted, also of what is gone
        for id, rows in (usage or {}).items()
        if id is None or not filling.has(id)
        for row in rows
    ]
    filling.insert("usage", USAGE, spent)
    keys = remains.read_table("keys", KEYS, order="key")
    filling.replace_keys([row if filling.has(row[2]) else _forget(row) for row in keys])
    for table in filling.find_tables():
        old = remains.find_columns(table)
        names = [name for name in filling.find_columns(table) if name in old]
        if names:
            rows = remains.read_table(table, names, order=names[0])
            if table == "jobs":
                rows = [_rename_state(row, names) for row in rows]
            told.kept[table] = filling.insert(table, names, rows)


def _rename_state(row: Columns, names: Sequence[str]) -> Columns:
    """A job as today's schema has it; one of schema 7 may be in a state of another name."""
    return tuple(
        OLD_STATES.get(value, value) if name == "state" else value
        for name, value in zip(names, row, strict=True)
    )


def _forget(row: Columns) -> Columns:
    """A key whose conversation is gone: known, and unreadable."""
    key, digest, conversation_id, turn_id, seq = row
    return (key if seq == 0 else hide_key(key), digest, conversation_id, turn_id, 0)
