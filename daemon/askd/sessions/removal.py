"""Conversations that go because of their age, not because somebody named them.

One that is at work, or that somebody watches, stays; so does what the log says is
to be kept. It loads nothing: what is old is seldom in memory.
"""

import trio

from askd.sessions.registry import Sessions


async def expire(
    sessions: Sessions, conversation_id: str, *, before_at: float, archive: bool
) -> bool:
    """Remove a conversation in which nothing has changed since `before_at`; whether it was.

    Args:
        before_at: in unix seconds.
        archive: keep its rollout, in the archive.

    Raises:
        StorageFailed: the disk said no.
    """
    session = sessions.find_live(conversation_id)
    if sessions.is_loading(conversation_id) or (session is not None and not session.is_idle()):
        return False
    # Whoever hangs up now is not told; a session without its conversation must not stay.
    with trio.CancelScope(shield=True):
        if not await sessions.log.expire(conversation_id, before_at=before_at, archive=archive):
            return False
        await sessions.forget(conversation_id)
    return True
