"""The one door through which a conversation's view changes.

Whoever wants a change looks at the conversation as it is when its turn has come, and
decides then; nobody else changes the view between that look and the commit. What was
planned for another view is found out here, by whoever planned it, and is not carried
out. It plans nothing itself.

A completion that runs has its request already and is not disturbed: the next one sees
the new view.
"""

from collections.abc import Callable

import trio

from askd.core.conversation import Conversation
from askd.core.events import ViewChanged
from askd.errors import Busy
from askd.sessions.live import LiveSession
from askd.sessions.offload import offload_bodies
from askd.store.log import Fence, Write
from askd.store.refusals import conversation_not_found

Make = Callable[[Conversation], ViewChanged | None]
"""Decides on a change, looking at the conversation as it is now; None: on none."""


async def change_view(
    session: LiveSession, make: Make, *, fulfils: Fence | None = None
) -> ViewChanged | None:
    """Carry out what `make` decides, and return when it is committed; None: nothing changed.

    Args:
        fulfils: the change is this job's effect: committed with its completion, or not at all.

    Raises:
        NotFound: the conversation was deleted.
        Busy: not all of the conversation is known just now; a moment later it will be.
        StorageFailed: it could not be stored; `StaleFence` is one of these.
    """
    async with session.viewing:
        _check(session)
        change = make(session.conversation)
        if change is None:
            return None
        lean, blobs = offload_bodies([change])
        write = Write(
            conversation_id=session.id,
            bodies=lean,
            blobs=list(blobs.items()),
            fulfils=fulfils,
        )
        # The door stays closed until it is known what has become of the write: who is cancelled
        # here must not let the next one look at a view that is about to change.
        with trio.CancelScope(shield=True):
            await session.log.append(write)
        return change


def _check(session: LiveSession) -> None:
    """A change is decided on what the log holds, or not at all."""
    if session.deleted:
        raise conversation_not_found(session.id)
    if session.is_stale:
        raise Busy("The conversation is being read anew; ask again in a moment.")
