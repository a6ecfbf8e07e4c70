"""The tools of a face that look back: `search_history`, `read_conversation`, `list_conversations`.

They read what is stored and change nothing; a conversation that is kept in memory only is not
there for them. Whoever configured the face allowed it to look; where the settings deny
`search_history` to models, no face looks back either. What comes out is bounded, and what is
left out is said to be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import trio

from ask.protocol.messages import ConversationList, ConversationSearch
from askd.core.approval_questions import cut_middle
from askd.core.events import Event
from askd.core.markdown import lay_out_message
from askd.core.rollout_lines import format_time
from askd.core.spoken import Speech, Spoken
from askd.errors import RequestError
from askd.server.handlers import conversations, search
from askd.server.handlers.transfers import load_events
from askd.server.house import House
from askd.server.mcp.asking import find_conversation
from askd.server.mcp.calls import ListArguments, ReadArguments, Reply, SearchArguments
from askd.server.peer import Peer
from askd.store.refusals import conversation_not_found
from askd.tools.history import NAME, describe_hit

MESSAGE_CHARACTERS = 8_000
"""Of one message; what tools gave back is longer, and seldom what is looked for."""
TEXT_CHARACTERS = 100_000
"""Of all that one call reads; the latest stays."""


def check_allowed(house: House) -> None:
    """Raise `RequestError` where the settings deny models to search the history."""
    if house.sessions.means.approval().tools.get(NAME) == "deny":
        raise RequestError(
            f"The user's settings deny {NAME}: nothing of earlier conversations is shown."
        )


async def search_history(house: House, arguments: SearchArguments) -> Reply:
    """Messages in which everything was found, the best first."""
    check_allowed(house)
    where = arguments.conversation
    wanted = ConversationSearch(
        text=arguments.query,
        conversation_id=None if where is None else await find_conversation(house, where),
        rank=True,
        limit=arguments.limit,
    )
    page = await search.find(house, Peer(), wanted)
    lines = [describe_hit(hit) for hit in page.data]
    hits = [_leave_out(asdict(hit), "marks", "item_id") for hit in page.data]
    return Reply(
        texts=("\n".join(lines) or "Nothing was found; every word has to be in one message.",),
        data={"hits": hits},
    )


async def list_conversations(house: House, arguments: ListArguments) -> Reply:
    """The stored conversations, the last changed first."""
    check_allowed(house)
    wanted = ConversationList(cursor=arguments.cursor, limit=arguments.limit)
    page = await conversations.list_page(house, Peer(), wanted)
    rows = [
        {
            "conversation_id": each.id,
            "name": each.name,
            "title": each.title,
            "model": each.model,
            "messages": each.message_count,
            "updated_at": each.updated_at,
        }
        for each in page.data
    ]
    lines = [
        f"{each.id}, {format_time(each.updated_at)}, {each.message_count} messages: "
        f"{' '.join((each.name or each.title or 'untitled').split())}"
        for each in page.data
    ]
    data = {"conversations": rows, "total": page.total, "next_cursor": page.next_cursor}
    return Reply(texts=("\n".join(lines) or "There are no conversations.",), data=data)


async def read_conversation(house: House, arguments: ReadArguments) -> Reply:
    """What was said in the last turns of a conversation, as text."""
    check_allowed(house)
    conversation_id = await find_conversation(house, arguments.conversation)
    events = await load_events(house, conversation_id)
    if not events:
        raise conversation_not_found(conversation_id)
    # In a thread: a long conversation takes a while, and nobody else should.
    text, left = await trio.to_thread.run_sync(
        _lay_out, events, arguments.turns, arguments.skip, abandon_on_cancel=True
    )
    more = f"{left} earlier turns: call again with skip {arguments.skip + arguments.turns}."
    head = f"Conversation: {conversation_id}"
    return Reply(texts=(text or "Nothing was said.", f"{head}. {more}" if left else head))


def _lay_out(events: Sequence[Event], turns: int, skip: int) -> tuple[str, int]:
    """The chosen turns, and how many are before them. A turn begins with what a user says."""
    speech = Speech()
    for event in events:
        speech.feed(event, {})  # attachments are named, not shown
    messages = speech.messages
    starts = [place for place, each in enumerate(messages) if each.role == "user"]
    end = len(starts) - skip
    if end <= 0:
        return "", 0
    first = max(0, end - turns)
    stop = starts[end] if end < len(starts) else len(messages)
    begin = starts[first] if first else 0
    return _join(messages[begin:stop]), first


def _join(messages: Sequence[Spoken]) -> str:
    """All of them, or the last of them, as far as they fit."""
    laid: list[str] = []
    room = TEXT_CHARACTERS
    for message in reversed(messages):
        text = cut_middle(lay_out_message(message).strip("\n"), MESSAGE_CHARACTERS)
        room -= len(text)
        if room < 0:
            laid.append("[What was said before this is left out: ask for fewer turns.]")
            break
        laid.append(text)
    return "\n\n".join(reversed(laid))


def _leave_out(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}
