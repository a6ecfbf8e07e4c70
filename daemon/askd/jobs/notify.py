"""The job that notifies somebody of a turn's end, or of what it asks.

What is said is read from the log when the job runs: a question that has been answered
meanwhile is no news any more, and a conversation that is gone has none. How it gets to a
person is the notifier's; whatever goes wrong there, the turn has nothing to do with it.
"""

import logging
from collections.abc import Awaitable, Callable

import trio

from askd.core.conversation import Conversation, TurnRecord, fold
from askd.core.items import AssistantMessage, Blob, Part, Text
from askd.core.notifications import (
    SCANNED_CHARACTERS,
    About,
    Notification,
    tell_end,
    tell_question,
)
from askd.core.titling import find_words, title_from
from askd.errors import NotFound
from askd.jobs.base import GaveUp, NothingToDo, Outcome
from askd.sessions.needs import SessionStore
from askd.store.log import ClaimedJob

log = logging.getLogger(__name__)

Send = Callable[[Notification], Awaitable[None]]
"""Tells a person; raises `GaveUp` with a sentence."""


async def send_nowhere(told: Notification) -> None:
    """For a daemon that notifies nobody."""
    await trio.lowlevel.checkpoint()


class NotifyJob:
    """Notifies. `find_live` answers with a conversation that is in memory already."""

    def __init__(
        self,
        *,
        find_live: Callable[[str], Conversation | None],
        store: SessionStore,
        send: Send,
    ) -> None:
        self._find_live = find_live
        self._store = store
        self._send = send

    async def run(self, job: ClaimedJob) -> Outcome:
        """The one try; raises `GaveUp` if nobody could be told."""
        told = await self._find(job)
        if told is None:
            return NothingToDo()
        try:
            await self._send(told)
        except GaveUp as failure:
            log.warning("Nobody was notified: id=%s: %s", told.about.conversation_id, failure)
            raise
        return NothingToDo()

    async def _find(self, job: ClaimedJob) -> Notification | None:
        """What there is to say; None: nothing any more."""
        if job.conversation_id is None:
            return None
        conversation = self._find_live(job.conversation_id) or fold(
            job.conversation_id, await self._store.load(job.conversation_id)
        )
        record = conversation.turns.get(job.arguments.get("about_turn", ""))
        if record is None:
            return None
        about = About(
            conversation_id=conversation.id,
            turn_id=record.prompt.turn_id,
            name=conversation.name or conversation.title or await self._find_title(record),
        )
        question_id = job.arguments.get("question_id")
        if question_id is not None:
            asked = record.questions.get(question_id)
            is_open = record.finished is None and question_id not in record.answers
            return tell_question(about, asked) if asked is not None and is_open else None
        end = record.finished
        return None if end is None else tell_end(about, end, await self._find_answer(record))

    async def _find_title(self, record: TurnRecord) -> str:
        """What a conversation is called that has no title yet."""
        return title_from(await self._read(find_words(record.prompt.items)))

    async def _find_answer(self, record: TurnRecord) -> str:
        """The beginning of what the turn said last."""
        answers = [
            each.item
            for each in record.items
            if each.status != "superseded" and isinstance(each.item, AssistantMessage)
        ]
        return await self._read(answers[-1].parts) if answers else ""

    async def _read(self, parts: "tuple[Part, ...] | list[Part]") -> str:
        """The beginning of these parts' text."""
        text = ""
        for part in parts:
            match part:
                case Text(text=said):
                    text += said[:SCANNED_CHARACTERS]
                case Blob(sha256=sha256) if part.media_type.startswith("text/"):
                    try:
                        content = await self._store.read_blob(sha256)
                    except NotFound:
                        continue
                    text += content[: SCANNED_CHARACTERS * 4].decode("utf-8", "ignore")
                case Blob():
                    pass
            if len(text) >= SCANNED_CHARACTERS:
                break
        return text
