"""Which conversations have grown too old to keep, and their removal.

Those stay that somebody gave a name or a pin, that are at work, or that were
changed or imported since. It is asked again inside the transaction that removes:
what was said a moment ago is never lost to a question from before.
"""

import sqlite3

from askd.store.batch import Change, Done
from askd.store.changes import delete

_MAY = (
    "name IS NULL AND NOT pinned AND updated_at < :before AND imported_at < :before"
    " AND NOT EXISTS (SELECT 1 FROM open_turns WHERE open_turns.conversation_id = conversations.id)"
)
_MIRRORED = (
    " AND EXISTS (SELECT 1 FROM rollouts WHERE rollouts.conversation_id = conversations.id"
    " AND rollouts.seq >= conversations.last_seq)"
)
"""Its file holds all of it: else, moved to the archive, it would be less than what is removed."""


def find_expired(
    connection: sqlite3.Connection, *, before_at: float, after_id: str, limit: int
) -> list[str]:
    """Ids of those that may go, in order, from one id on."""
    found = connection.execute(
        f"SELECT id FROM conversations WHERE id > :after AND {_MAY} ORDER BY id LIMIT :limit",
        {"before": before_at, "after": after_id, "limit": limit},
    )
    return [id for (id,) in found]


def find_newest(connection: sqlite3.Connection) -> float | None:
    """When something was last written or imported, by the clock of then; None: nothing was."""
    found = connection.execute(
        "SELECT max(max(updated_at, imported_at)) FROM conversations"
    ).fetchone()
    return None if found[0] is None else float(found[0])


def may_expire(
    connection: sqlite3.Connection, conversation_id: str, *, before_at: float, archive: bool
) -> bool:
    """Whether a conversation may go now; with `archive` its rollout has to be whole."""
    found = connection.execute(
        f"SELECT 1 FROM conversations WHERE id = :id AND {_MAY}{_MIRRORED if archive else ''}",
        {"before": before_at, "id": conversation_id},
    ).fetchone()
    return found is not None


def expire(conversation_id: str, *, before_at: float, archive: bool) -> Change[bool]:
    """Remove a conversation if it may go; whether it was."""
    remove = delete(conversation_id, archive=archive)

    def change(connection: sqlite3.Connection, at: float) -> Done[bool]:
        if not may_expire(connection, conversation_id, before_at=before_at, archive=archive):
            return Done(False)
        remove(connection, at)
        return Done(True)

    return change
