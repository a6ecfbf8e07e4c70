"""A fork is made: one write that begins another conversation with the past of this one.

One write, so that there is a whole fork or none, and so that what its answers
took is not counted a second time. Of a conversation in memory the fork is in
memory too.
"""

from functools import partial

import trio

from askd.core.events import Body, ConversationCreated
from askd.core.forks import plan_fork
from askd.errors import RequestError
from askd.sessions.live import LiveSession
from askd.sessions.registry import Sessions
from askd.store.log import Write
from askd.store.refusals import conversation_not_found


async def fork(
    sessions: Sessions,
    source_id: str,
    *,
    at_seq: int | None = None,
    name: str | None = None,
    terminal: str | None = None,
) -> LiveSession:
    """The session of the new conversation.

    Args:
        at_seq: the source as it was after this event; None: as it is.
        terminal: it becomes the conversation that this terminal used last.

    Raises:
        NotFound: there is no such conversation.
        RequestError: it has no such event, or the name cannot be one or is taken.
        StorageFailed: it cannot be read, or the fork not be written.
    """
    name = None if name is None else await sessions.check_name(name)
    source = await sessions.get(source_id)
    last_seq = source.conversation.last_seq
    if at_seq is not None and not 1 <= at_seq <= last_seq:
        raise RequestError(
            f"There is no event {at_seq}: the last one is {last_seq}.", data={"field": "at_seq"}
        )
    store = sessions.memory if source.ephemeral else sessions.reader
    events = await store.load(source_id)
    if not events:
        raise conversation_not_found(source_id)
    # In a thread: of a long conversation it takes long enough to be noticed.
    copies = await trio.to_thread.run_sync(partial(plan_fork, events, at_seq=at_seq))
    new_id = sessions.means.new_id()
    created: list[Body] = [ConversationCreated(new_id, name, forked_from=source_id)]
    write = Write(
        conversation_id=new_id,
        bodies=[*created, *(each.body for each in copies)],
        create=True,
        terminal=terminal,
        times=[sessions.means.now(), *(each.at for each in copies)],
    )
    return await sessions.create(write, ephemeral=source.ephemeral)
