"""Conversations: made, listed, found, named, noted in, deleted."""

import logging
from collections.abc import Sequence

from ask.protocol.messages import (
    ConversationCreate,
    ConversationDelete,
    ConversationList,
    ConversationNote,
    ConversationPage,
    ConversationRename,
    ConversationResolve,
    ConversationSummary,
    Deletion,
    Done,
)
from askd.core.conversation import Conversation
from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    Renamed,
    SettingsChanged,
)
from askd.core.items import PART_LIMIT_BYTES, Notice
from askd.errors import Busy, RequestError
from askd.server import wire
from askd.server.handlers.models import check_model
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.admission import is_busy
from askd.sessions.live import LiveSession
from askd.sessions.removal import expire
from askd.sessions.targets import ToCreate
from askd.store.log import Write
from askd.store.refusals import conversation_not_found

log = logging.getLogger(__name__)


async def create(house: House, peer: Peer, params: ConversationCreate) -> ConversationSummary:
    """Create an empty conversation."""
    name = None if params.name is None else await house.sessions.check_name(params.name)
    if params.model is not None:
        await check_model(house, params.model, env=params.env, secrets=params.secrets)
    settings: list[Body] = []
    if params.model is not None or params.system is not None:
        settings = [SettingsChanged(model=params.model, system=params.system)]
    session = await _create(house, name, settings, terminal=params.terminal)
    return wire.summarize(session.row(), session)


async def _create(
    house: House, name: str | None, settings: Sequence[Body], *, terminal: str | None
) -> LiveSession:
    sessions = house.sessions
    conversation_id = sessions.means.new_id()
    write = Write(
        conversation_id=conversation_id,
        bodies=[ConversationCreated(conversation_id, name), *settings],
        create=True,
        terminal=terminal,
    )
    return await sessions.create(write)


async def list_page(house: House, peer: Peer, params: ConversationList) -> ConversationPage:
    """A page of conversations, the last changed first; `live`: those in memory."""
    limit = check_limit(params.limit)
    if params.live:
        return _list_live(house, params.cursor, limit)
    page = await house.reader.list_conversations(
        cursor=params.cursor, limit=limit, before_at=params.before_at, begins=params.begins
    )
    return ConversationPage(
        data=[wire.summarize(row, house.sessions.find_live(row.id)) for row in page.rows],
        total=page.total,
        next_cursor=page.next_cursor,
    )


def _list_live(house: House, cursor: str | None, limit: int) -> ConversationPage:
    """The cursor counts: what is live moves all the time, and there is little of it."""
    try:
        start = int(cursor or 0)
    except ValueError:
        raise RequestError("The cursor is not one of this listing.") from None
    live = house.sessions.live()
    chosen = live[max(start, 0) :][:limit]
    end = max(start, 0) + len(chosen)
    return ConversationPage(
        data=[wire.summarize(session.row(), session) for session in chosen],
        total=len(live),
        next_cursor=str(end) if end < len(live) else None,
    )


async def resolve(house: House, peer: Peer, params: ConversationResolve) -> ConversationSummary:
    """Find the conversation that is meant; with `bind` it becomes that terminal's."""
    target = wire.read_target(params.target)
    found = await house.sessions.resolve(target)
    if isinstance(found, ToCreate):
        session = await _create(house, found.name, [], terminal=params.bind)
        return wire.summarize(session.row(), session)
    if params.bind is not None:
        session = await house.sessions.get(found)
        if not session.ephemeral:
            await session.log.append(Write(conversation_id=found, bodies=[], terminal=params.bind))
        house.sessions.bind(params.bind, session)
        return wire.summarize(session.row(), session)
    live = house.sessions.find_live(found)
    if live is not None:
        return wire.summarize(live.row(), live)
    row = await house.reader.get(found)
    if row is None:
        raise conversation_not_found(found)
    return wire.summarize(row, None)


async def note(house: House, peer: Peer, params: ConversationNote) -> Done:
    """Keep a notice outside of any turn."""
    if len(params.text.encode()) > PART_LIMIT_BYTES:
        raise RequestError(f"conversation/note: {PART_LIMIT_BYTES} bytes at the most.")
    session = await house.sessions.get(params.conversation_id)
    notice = Notice(house.sessions.means.new_id(), params.text, params.level)
    command = _find_last_command(session.conversation)
    await session.append([ItemAdded(None, notice)])
    if params.level == "result" and command is not None:
        log.debug("Persisted special command: %s, result_length=%d", command, len(params.text))
    return Done(conversation_id=session.id)


def _find_last_command(conversation: Conversation) -> str | None:
    """What was typed last of the commands that were kept."""
    for added in reversed(conversation.strays):
        if isinstance(added.item, Notice) and added.item.level == "command":
            return added.item.text.removeprefix("User executed command: ")
    return None


async def rename(house: House, peer: Peer, params: ConversationRename) -> ConversationSummary:
    """Change the name, or take it away."""
    name = None if params.name is None else await house.sessions.check_name(params.name)
    session = await house.sessions.get(params.conversation_id)
    if name != session.conversation.name:
        await session.append([Renamed(name)])
    return wire.summarize(session.row(), session)


async def delete(house: House, peer: Peer, params: ConversationDelete) -> Deletion:
    """Delete a conversation; who follows it is told to look again, and finds nothing."""
    id = params.conversation_id
    if params.before_at is not None:
        is_gone = await expire(house.sessions, id, before_at=params.before_at, archive=False)
        return Deletion(conversation_id=id, deleted=is_gone)
    session = await house.sessions.get(id)
    if not params.interrupt and is_busy(session):
        raise Busy(
            "The conversation is busy: a turn is running or waiting. Interrupt it, or wait for it, "
            "then delete."
        )
    await house.sessions.delete(session.id)
    return Deletion(conversation_id=session.id)
