"""Reading a conversation's events in pages, and following it live.

The last page comes from the session's memory, and the subscription begins as the
answer is queued, with no checkpoint between: nothing is missing, nothing comes twice.
"""

import logging
from collections.abc import Sequence

from ask.protocol.frames import encode_notification
from ask.protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    ConversationRead,
    ConversationRef,
    ConversationSubscribe,
    Done,
    EventPage,
    SubscribeResult,
)
from askd.core.events import Event
from askd.errors import RequestError
from askd.server import fitting, wire
from askd.server.handlers.paging import check_limit, check_seq
from askd.server.house import House
from askd.server.peer import Answer, Peer
from askd.sessions.live import LiveSession
from askd.sessions.streaming import LiveText
from askd.store.refusals import conversation_not_found

ENVELOPE_BYTES = 16 * 1024
"""What the ids and names around running texts may take of an answer."""
CHARACTER_BYTES = 4
"""The most that a code point takes."""
REPLAY_LIMIT = 256
"""Events that following a prompt sends at once; where there are more, a gap says to read them."""

log = logging.getLogger(__name__)


async def read(house: House, peer: Peer, params: ConversationRead) -> EventPage:
    """A page of events."""
    events, more = await _read_events(
        house, params.conversation_id, check_seq(params.after_seq), check_limit(params.limit)
    )
    page = fitting.cut_page(events)
    more = more or len(page) < len(events)
    if params.after_seq == 0 or peer.displayed != params.conversation_id:
        peer.displayed = params.conversation_id
        await _log_display(house, params.conversation_id)
    return EventPage(data=[fitted.value for fitted in page], next_after_seq=_last(page, more))


async def _log_display(house: House, conversation_id: str) -> None:
    """Once for a reader, wherever it begins."""
    if not log.isEnabledFor(logging.INFO):
        return
    live = house.sessions.find_live(conversation_id)
    row = live.row() if live is not None else await house.reader.get(conversation_id)
    if row is not None:
        log.info(
            "Displaying conversation: id=%s, message_count=%d", conversation_id, row.message_count
        )


async def subscribe(house: House, peer: Peer, params: ConversationSubscribe) -> Answer:
    """A page of events; with the last one the running texts, and everything from then on."""
    limit, after_seq = check_limit(params.limit), check_seq(params.after_seq)
    session = await house.sessions.get(params.conversation_id)
    peer.check_room(session.id)
    if after_seq > session.conversation.last_seq:
        raise RequestError(
            f"after_seq is {after_seq}, the last event is {session.conversation.last_seq}.",
            data={"field": "after_seq"},
        )
    snapshot = session.snapshot(after_seq)
    if snapshot is None or len(snapshot.events) > limit:
        events, _ = await _read_events(house, session.id, after_seq, limit)
        return _answer_page(fitting.cut_page(events))
    page = fitting.cut_page(snapshot.events)
    if len(page) < len(snapshot.events):
        return _answer_page(page)
    taken = sum(fitted.size for fitted in page) + ENVELOPE_BYTES
    room = MESSAGE_LIMIT_BYTES - taken
    fits = sum(len(text.text) for text in snapshot.live) * CHARACTER_BYTES <= room
    answer = SubscribeResult(
        data=[fitted.value for fitted in page],
        next_after_seq=None,
        live=wire.encode_live(snapshot.live) if fits else [],
    )

    def begin() -> None:
        peer.subscribe(session, interactive=params.interactive)
        if not fits:
            _post_live(peer, session.id, snapshot.live)

    return Answer(answer, begin)


def unsubscribe(house: House, peer: Peer, params: ConversationRef) -> Done:
    """Nothing more of this conversation; what is queued may still come."""
    peer.unsubscribe(params.conversation_id)
    return Done(conversation_id=params.conversation_id)


def follow(peer: Peer, session: LiveSession, *, from_seq: int, interactive: bool) -> None:
    """Send the events from `from_seq` on, the running texts, and everything from then on.

    Without a checkpoint. A peer that follows the conversation already has them.
    """
    if peer.follow(session, interactive=interactive):
        return
    snapshot = session.snapshot(from_seq - 1)
    if snapshot is None or len(snapshot.events) > REPLAY_LIMIT:
        peer.outbox.post(encode_notification("gap", {"conversation_id": session.id}))
        return
    for event in snapshot.events:
        peer.outbox.post(wire.encode_published(event))
    _post_live(peer, session.id, snapshot.live)
    peer.subscribe(session, interactive=interactive)


def _post_live(peer: Peer, conversation_id: str, live: Sequence[LiveText]) -> None:
    for text in live:
        peer.outbox.post(wire.encode_delta(wire.to_delta(conversation_id, text)))


def _answer_page(page: list[fitting.Fitted]) -> Answer:
    return Answer(
        SubscribeResult(
            data=[fitted.value for fitted in page], next_after_seq=_last(page, True), live=[]
        )
    )


def _last(page: list[fitting.Fitted], more: bool) -> int | None:
    return int(page[-1].value["seq"]) if more and page else None


async def _read_events(
    house: House, conversation_id: str, after_seq: int, limit: int
) -> tuple[Sequence[Event], bool]:
    """A page from memory if the conversation is live, else from the disk; and is there more."""
    session = house.sessions.find_live(conversation_id)
    snapshot = None if session is None else session.snapshot(after_seq)
    if snapshot is not None:
        return snapshot.events[:limit], len(snapshot.events) > limit
    if session is not None and session.ephemeral:
        everything = await house.sessions.memory.load(conversation_id)
        later = [event for event in everything if event.seq > after_seq]
        return later[:limit], len(later) > limit
    events, more = await house.reader.read_events(
        conversation_id,
        after_seq=after_seq,
        limit=limit,
        limit_bytes=fitting.PAGE_LIMIT_BYTES,
        holes=True,  # what is left of a damaged conversation can be seen, if not added to
    )
    if not events and await house.reader.get(conversation_id) is None:
        raise conversation_not_found(conversation_id)
    return events, more
