"""A look through all events for those that cannot be read: how many, and where.

It goes on part by part from a place that it hands back, so that whoever looks can
stop. It changes nothing, and names no more conversations than a person will read.
"""

import sqlite3
from dataclasses import dataclass, field

from askd.core.events import Unreadable
from askd.store.event_pages import read_page

SURVEY_S = 10.0
"""A person waits for the answer; a million events take longer, and then it says so."""
PART_EVENTS = 1000
PART_BYTES = 4 * 1024 * 1024
"""Looked at in one go: a few hundredths of a second, in which a thread is taken."""
NAMED = 20
"""Conversations that are named; of the rest the number is enough."""

Place = tuple[str, int]
"""Where the look goes on: in this conversation, after this seq."""
START: Place = ("", 0)
_NEXT = "SELECT id FROM conversations WHERE id > ? ORDER BY id LIMIT 1"


@dataclass(slots=True, kw_only=True)
class Damaged:
    """A conversation with records that cannot be read. `first`: the first of them, in words.

    `unreadable`: those that are there and make no sense. `lost`: those that are not there;
    with any of these nothing can be added to the conversation.
    """

    conversation_id: str
    first: str
    unreadable: int = 0
    lost: int = 0


@dataclass(slots=True, kw_only=True)
class Survey:
    """What was found so far.

    Attributes:
        records: how many were looked at.
        unreadable, lost: as in `Damaged`, of all conversations.
        conversations: how many have such records.
        damaged: the first `NAMED` of them.
        complete: everything was looked at.
    """

    records: int = 0
    unreadable: int = 0
    lost: int = 0
    conversations: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    complete: bool = False
    _last: Damaged | None = None


def look_on(survey: Survey, place: Place, connection: sqlite3.Connection) -> Place | None:
    """Look at the next part and add it to the survey; where to go on, or None at the end."""
    conversation_id, after_seq = place
    if not after_seq:
        found = connection.execute(_NEXT, (conversation_id,)).fetchone()
        if found is None:
            return None
        conversation_id = str(found[0])
    page = read_page(
        connection,
        conversation_id,
        after_seq=after_seq,
        limit=PART_EVENTS,
        limit_bytes=PART_BYTES,
    )
    survey.records += len(page.events)
    unread = sum(isinstance(event.body, Unreadable) for event in page.events)
    if unread:
        _note(survey, conversation_id, page.faults[0], unread - len(page.lost), len(page.lost))
    if page.more and page.events:
        return conversation_id, page.events[-1].seq
    return conversation_id, 0


def _note(survey: Survey, conversation_id: str, first: str, unreadable: int, lost: int) -> None:
    if survey._last is None or survey._last.conversation_id != conversation_id:
        survey._last = Damaged(conversation_id=conversation_id, first=first)
        survey.conversations += 1
        if len(survey.damaged) < NAMED:
            survey.damaged.append(survey._last)
    for counts in (survey, survey._last):
        counts.unreadable += unreadable
        counts.lost += lost
