"""Which file mirrors which conversation, and how far: the rows of `rollouts` and of removals.

The path of a file follows from the conversation's id and the time of its
creation, in UTC. Below the data directory it is kept relative, so that a home
that was moved or copied does not reach into the old one. A row has three states:
`bytes` above 0, so much of the file tells the events up to `seq`; below 0, the
file is being written for the first time, or anew; 0, somebody wants it written
anew. No file is opened here.
"""

import hashlib
import math
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from askd.core.rollout_lines import LAST_TIME
from askd.store.batch import Change, Done

Place = tuple[float, str]
"""Of a conversation in the order of updates: when it was updated, and its id."""
START: Place = (math.inf, "")
"""Before the one that was updated last."""
PLAIN_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
"""What may stand in a file's name as it is; every id that the daemon makes does."""


@dataclass(frozen=True, slots=True)
class RolloutRow:
    """A row of `rollouts`: its first `bytes` bytes tell the events up to `seq`."""

    path: str
    seq: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """How far a file has come: `before` is what the table says, `seq` and `bytes` are true now."""

    conversation_id: str
    before: RolloutRow
    seq: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A conversation and its row, if it has one."""

    conversation_id: str
    created_at: float
    last_seq: int
    row: RolloutRow | None


@dataclass(frozen=True, slots=True)
class Removal:
    """A file whose conversation is gone, or that was written elsewhere since."""

    path: str
    archive: bool


def place_file(directory: Path, conversation_id: str, created_at: float) -> Path:
    """Where the file of a conversation belongs, as Codex names its own but in UTC."""
    moment = datetime.fromtimestamp(min(max(created_at, 0.0), LAST_TIME), UTC)
    folder = directory / f"{moment:%Y}" / f"{moment:%m}" / f"{moment:%d}"
    return folder / f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{name_file(conversation_id)}.jsonl"


def name_file(conversation_id: str) -> str:
    """What stands for a conversation in the name of its file: its id, if that can."""
    if PLAIN_ID.fullmatch(conversation_id):
        return conversation_id
    return hashlib.sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def store_path(path: Path, data: Path) -> str:
    """The path as a row has it."""
    return str(path.relative_to(data)) if path.is_relative_to(data) else str(path)


# ---- questions ---------------------------------------------------------------------


def read_rollout(connection: sqlite3.Connection, conversation_id: str) -> RolloutRow | None:
    """The row of a conversation; None: it has no file yet."""
    found = connection.execute(
        "SELECT path, seq, bytes FROM rollouts WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()
    return None if found is None else RolloutRow(*found)


def list_rollouts(
    connection: sqlite3.Connection, *, after: Place, limit: int
) -> tuple[list[Listed], Place | None]:
    """Conversations, the last updated first, and where to go on; None: there are no more."""
    found = connection.execute(
        "SELECT id, created_at, last_seq, path, seq, bytes, updated_at FROM conversations"
        " LEFT JOIN rollouts ON conversation_id = id"
        f" WHERE {'TRUE' if after == START else '(updated_at, id) < (?, ?)'}"
        " ORDER BY updated_at DESC, id DESC LIMIT ?",
        (limit,) if after == START else (*after, limit),
    ).fetchall()
    rows = [
        Listed(
            conversation_id=id,
            created_at=created_at,
            last_seq=last_seq,
            row=None if path is None else RolloutRow(path, seq, size),
        )
        for id, created_at, last_seq, path, seq, size, _ in found
    ]
    if len(found) < limit:
        return rows, None
    last_id, *_, updated_at = found[-1]
    return rows, (updated_at, last_id)


def find_resets(connection: sqlite3.Connection) -> list[str]:
    """Conversations whose file somebody wants written anew."""
    return [
        id for (id,) in connection.execute("SELECT conversation_id FROM rollouts WHERE bytes = 0")
    ]


def read_removals(connection: sqlite3.Connection) -> list[Removal]:
    """Every file that is to go."""
    return [
        Removal(path, bool(archive))
        for path, archive in connection.execute("SELECT path, archive FROM rollout_removals")
    ]


def count_mirrored(connection: sqlite3.Connection, ahead: Mapping[str, int]) -> tuple[int, int]:
    """How many conversations are mirrored whole, and how many are not.

    `ahead`: events that are in the file of a conversation though no row says so yet.
    """
    whole, total = connection.execute(
        "SELECT count(CASE WHEN seq >= last_seq AND bytes > 0 THEN 1 END), count(*)"
        " FROM conversations LEFT JOIN rollouts ON conversation_id = id"
    ).fetchone()
    for id, seq in ahead.items():
        found = connection.execute(
            "SELECT last_seq > seq OR bytes <= 0, last_seq FROM conversations"
            " JOIN rollouts ON conversation_id = id WHERE id = ?",
            (id,),
        ).fetchone()
        whole += found is not None and bool(found[0]) and seq >= found[1]
    return whole, total - whole


# ---- changes -----------------------------------------------------------------------


def claim(conversation_id: str, path: str, mark: int) -> Change[bool]:
    """Note that a file is about to be written from its beginning; False: nobody is there.

    It comes before the file, so that no file is ever there that no row knows. `mark` is
    above 0 and another one each time: who resets the row meanwhile is noticed.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[bool]:
        _leave(connection, conversation_id, path)
        done = connection.execute(
            "INSERT INTO rollouts (conversation_id, path, seq, bytes)"
            " SELECT id, ?, 0, ? FROM conversations WHERE id = ?"
            " ON CONFLICT (conversation_id) DO UPDATE SET"
            " path = excluded.path, seq = 0, bytes = excluded.bytes",
            (path, -mark, conversation_id),
        )
        return Done(done.rowcount > 0)

    return change


def move(conversation_id: str, before: RolloutRow, path: str) -> Change[bool]:
    """The file has been copied to `path`; the old one is to go. False: it is another by now."""

    def change(connection: sqlite3.Connection, at: float) -> Done[bool]:
        if read_rollout(connection, conversation_id) != before:
            return Done(False)
        _leave(connection, conversation_id, path)
        connection.execute(
            "UPDATE rollouts SET path = ? WHERE conversation_id = ?", (path, conversation_id)
        )
        return Done(True)

    return change


def _leave(connection: sqlite3.Connection, conversation_id: str, path: str) -> None:
    """Have the conversation's file removed if it is another one than `path`; that one stays."""
    connection.execute(
        "INSERT INTO rollout_removals (path)"
        " SELECT path FROM rollouts WHERE conversation_id = ? AND path != ?"
        " ON CONFLICT DO NOTHING",
        (conversation_id, path),
    )
    connection.execute("DELETE FROM rollout_removals WHERE path = ?", (path,))


def save_offsets(offsets: Sequence[Offset]) -> Change[list[str]]:
    """Keep how far files have come; answers whose rows were still as `before` says."""

    def change(connection: sqlite3.Connection, at: float) -> Done[list[str]]:
        saved = []
        for each in offsets:
            before = each.before
            done = connection.execute(
                "UPDATE rollouts SET seq = ?, bytes = ?"
                " WHERE conversation_id = ? AND path = ? AND seq = ? AND bytes = ?",
                (each.seq, each.bytes, each.conversation_id, before.path, before.seq, before.bytes),
            )
            if done.rowcount:
                saved.append(each.conversation_id)
        return Done(saved)

    return change


def forget_removals(paths: Sequence[str]) -> Change[None]:
    """These files are gone."""

    def change(connection: sqlite3.Connection, at: float) -> Done[None]:
        connection.executemany(
            "DELETE FROM rollout_removals WHERE path = ?", [(path,) for path in paths]
        )
        return Done(None)

    return change
