"""Whether the rollouts can still tell what the database cannot: asked before a rebuild is advised.

It reads the conversations that are named to it and the files that their rows name,
in bounded time, and changes nothing.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from askd.store.bodies import decode_event
from askd.store.database import open_readonly
from askd.store.recovery.mirrors import read_mirror
from askd.store.rollouts.rows import read_rollout


def can_tell(database: Path, conversation_ids: Sequence[str], *, limit_s: float) -> bool | None:
    """Whether a file holds one of their unreadable records; None: there was no time to see.

    Raises `StorageFailed`, `sqlite3.Error`.
    """
    until = time.monotonic() + limit_s
    with closing(open_readonly(database)) as connection:
        for id in conversation_ids:
            if time.monotonic() > until:
                return None
            bad = set(_find_unreadable(connection, id))
            if bad and _is_told(_find_file(connection, database.parent, id), bad):
                return True
    return False


def _find_unreadable(connection: sqlite3.Connection, id: str) -> Iterator[int]:
    rows = connection.execute(
        "SELECT seq, at, type, version, CAST(body AS BLOB) FROM events WHERE conversation_id = ?",
        (id,),
    )
    for seq, at, kind, version, body in rows:
        if isinstance(seq, int) and decode_event(id, seq, at, kind, version, body)[1] is not None:
            yield seq


def _find_file(connection: sqlite3.Connection, data: Path, id: str) -> Path | None:
    row = read_rollout(connection, id)
    return None if row is None else data / row.path


def _is_told(path: Path | None, seqs: set[int]) -> bool:
    if path is None:
        return False
    try:
        rows = read_mirror(path).rows
    except OSError:
        return False
    return any(seq in rows and rows[seq].is_readable() for seq in seqs)
