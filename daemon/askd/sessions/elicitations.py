"""What servers want to know in the middle of calls: asked as durable questions, and waited for.

The turn runs meanwhile and is not parked: a call cannot be come back to. So its question
lives no longer than the call: however that ends, what is still open of it is closed before
the call's output is given, and who wanted to know hears `cancel`. While a person thinks,
the turn counts for nothing among those that may run at once.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from askd.core.elicitations import CANCEL, CannotAsk, describe_elicitation
from askd.core.events import QuestionAnswered, QuestionAsked
from askd.core.items import ToolCall
from askd.core.questions import (
    CLOSED,
    EXPIRED,
    EXPIRY,
    describe_question,
    digest_question,
    find_number,
)
from askd.errors import AskdError
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.parking import ATTENDED_S, DETACHED_S, POLL_S
from askd.tools.base import Said, Wish

log = logging.getLogger(__name__)

WISHES_A_CALL = 16
"""A server that asks more often in one call plays with its person."""
CLOSE_S = 5.0
"""How long the end of a call waits for its question to be closed in the log."""

CANCELLED = Said(action="cancel")
NOBODY = "The server {who!r} wanted an answer from a person, and nobody is there to be asked."
TOO_OFTEN = "The server {who!r} asked more than {limit} times in one call; it is not asked again."
CANNOT = "The server {who!r} wanted an answer from a person, but {why}"
UNSAVED = "The server {who!r} wanted an answer from a person, and no question can be stored."


class LentPlace:
    """The place of a turn among those that may run, for others while it waits for people."""

    def __init__(self, turns: trio.CapacityLimiter) -> None:
        self._turns = turns
        self._waiting = 0

    @contextmanager
    def lend(self) -> Iterator[None]:
        """Lend it while the block runs, once however many calls of the turn wait.

        Who has an answer goes on at once, if there is room or not: nobody waits twice.
        """
        self._waiting += 1
        if self._waiting == 1:
            self._turns.total_tokens += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._turns.total_tokens -= 1


class Elicitations:
    """The wishes of one call. `ask` from any task, also several at once; `close` ends them.

    Attributes:
        unasked: why a person was never asked what was wanted; a sentence, or None.
    """

    def __init__(
        self,
        session: LiveSession,
        turn_id: str,
        call: ToolCall,
        item_id: str,
        *,
        means: Means,
        report: Report,
        is_stored: Callable[[], bool],
        place: LentPlace,
    ) -> None:
        self.unasked: str | None = None
        self._session = session
        self._turn_id = turn_id
        self._call = call
        self._item_id = item_id
        self._means = means
        self._report = report
        self._is_stored = is_stored
        self._place = place
        self._wishes = 0
        self._asked: list[str] = []
        self._scopes: set[trio.CancelScope] = set()
        self._closed = False

    async def ask(self, wish: Wish) -> Said:
        """What a person says to it; `cancel` where nobody can, does in time, or may any more."""
        await trio.lowlevel.checkpoint()
        options = self._session.conversation.turns[self._turn_id].prompt.options
        self._wishes += 1
        if self._closed:
            return CANCELLED
        if self._wishes > WISHES_A_CALL:
            return self._refuse(TOO_OFTEN.format(who=wish.who, limit=WISHES_A_CALL))
        if not self._is_stored():
            return self._refuse(UNSAVED.format(who=wish.who))
        if not (self._session.hub.attended or options.detach):
            return self._refuse(NOBODY.format(who=wish.who))
        said = CANCELLED
        scope = trio.CancelScope()
        self._scopes.add(scope)
        try:
            with scope:
                said = await self._ask_person(wish, is_detached=options.detach)
        finally:
            self._scopes.discard(scope)
        return said

    async def _ask_person(self, wish: Wish, *, is_detached: bool) -> Said:
        try:
            question = await self._append(wish, DETACHED_S if is_detached else ATTENDED_S)
        except CannotAsk as error:
            return self._refuse(CANNOT.format(who=wish.who, why=error))
        except AskdError as error:
            log.warning("A question could not be stored: id=%s: %s", self._session.id, error)
            return self._refuse(UNSAVED.format(who=wish.who))
        if question is None:
            return CANCELLED
        answer: QuestionAnswered | None = None
        try:
            with self._place.lend():
                answer = await self._wait(question)
        finally:
            if answer is None:
                await self._close([question.question_id])
        return _hear(answer)

    async def close(self) -> None:
        """The call is over: nothing is asked any more, and what is asked is closed."""
        self._closed = True
        for scope in self._scopes:
            scope.cancel()
        if self._wishes:
            await self._close(self._asked)

    def _refuse(self, sentence: str) -> Said:
        if self.unasked is None:
            self.unasked = sentence
            self._report("warning", sentence)
        return CANCELLED

    async def _append(self, wish: Wish, waits_s: float) -> QuestionAsked | None:
        """Ask it; None: the call was over meanwhile."""
        call = self._call
        asked = describe_elicitation(
            who=wish.who,
            tool=call.name,
            call_id=call.call_id,
            text=wish.text,
            schema=wish.schema,
            url=wish.url,
        )
        detail = describe_question(self._item_id, asked.text, asked.choices, asked.more)
        async with self._session.admission:  # no other call takes the same number
            record = self._session.conversation.turns[self._turn_id]
            if self._closed or record.finished is not None:
                return None
            question = QuestionAsked(
                turn_id=self._turn_id,
                question_id=f"{self._turn_id}.q{find_number(record)}",
                kind="elicitation",
                digest=digest_question("elicitation", detail),
                detail=detail,
                expires_at=self._means.now() + waits_s,
            )
            # Committed or not, it is known which: a question must not stay that nobody closes.
            with trio.CancelScope(shield=True):
                await self._session.append([question])
            self._asked.append(question.question_id)
        return question

    async def _wait(self, question: QuestionAsked) -> QuestionAnswered | None:
        """Its answer; None: it is not open any more, and was not answered."""
        session, id = self._session, question.question_id
        while id in session.conversation.open_questions:
            left = question.expires_at - self._means.now()
            if left <= 0:
                await self._answer([id], by=EXPIRY, decision=EXPIRED)
                break
            with trio.move_on_after(min(left, POLL_S)):
                await session.mailbox.wait_next()
        record = session.conversation.turns.get(self._turn_id)
        return None if record is None else record.answers.get(id)

    async def _close(self, question_ids: list[str]) -> None:
        with trio.move_on_after(CLOSE_S, shield=True):
            await self._answer(question_ids, by=CLOSED, decision=CANCEL)

    async def _answer(self, question_ids: list[str], *, by: str, decision: str) -> None:
        """Answer those of them that are open, unless storage refuses; the first answer wins."""
        session = self._session
        async with session.admission:  # one that is just being asked is among them
            unanswered = session.conversation.open_questions
            answers = [
                QuestionAnswered(self._turn_id, each, by, decision)
                for each in question_ids
                if each in unanswered and not session.deleted
            ]
            try:
                if answers:
                    await session.append(answers)
            except AskdError as error:  # the turn's end closes it, in every reading of the log
                log.warning("A question could not be closed: id=%s: %s", session.id, error)


def _hear(answer: QuestionAnswered | None) -> Said:
    """What an answer means to who asked; what was closed or came too late is no decision."""
    match None if answer is None else answer.decision:
        case "accept":
            return Said(action="accept", content=dict((answer and answer.content) or {}))
        case "decline":
            return Said(action="decline")
        case _:
            return CANCELLED
