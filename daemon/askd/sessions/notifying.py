"""A log with which a notification is owed: its job is written with the event that causes it.

It stands before another log and adds a job to a write in which a turn ends or asks, if
somebody wants to hear of that turn. So no way to a turn's end, recovery among them, can
forget it, and none can owe it twice. It tells nobody anything itself.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from askd.core.conversation import Conversation
from askd.core.events import Body, QuestionAsked, TurnFinished, TurnOptions
from askd.core.notifications import is_owed
from askd.sessions.needs import Means
from askd.store.log import Committed, Log, NewJob, Partial, Write

NOTIFY_KIND = "notify"
ATTEMPTS = 1
"""Whether a command that was cut short had shown anything nobody knows; once is better than
twice."""


def wants_notice(options: TurnOptions, setting: bool) -> bool:
    """Whether somebody is to be told of a turn; `setting`: of each detached one."""
    return options.detach and setting if options.notify is None else options.notify


def filter_news(bodies: Iterable[Body]) -> Iterator[QuestionAsked | TurnFinished]:
    """Those of which somebody may want to hear."""
    for body in bodies:
        if isinstance(body, QuestionAsked) or (isinstance(body, TurnFinished) and is_owed(body)):
            yield body


class NotifyingLog(Log):
    """Writes to `log`; `find` answers with a conversation that is in memory."""

    def __init__(
        self, log: Log, *, find: Callable[[str], Conversation | None], means: Means
    ) -> None:
        self._log = log
        self._find = find
        self._means = means

    async def append(self, write: Write) -> Committed:
        """Commit, with the jobs that it causes; raises what the log raises."""
        owed = [] if write.times is not None else self._find_owed(write)
        if owed:
            write = replace(write, jobs=[*write.jobs, *owed])
        return await self._log.append(write)

    def save_partial(self, partial: Partial) -> None:
        """As the log does."""
        self._log.save_partial(partial)

    async def delete(self, conversation_id: str) -> None:
        """As the log does."""
        await self._log.delete(conversation_id)

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        """As the log does."""
        return await self._log.expire(conversation_id, before_at=before_at, archive=archive)

    async def mend_search(self) -> None:
        """As the log does."""
        await self._log.mend_search()

    def _find_owed(self, write: Write) -> list[NewJob]:
        told = list(filter_news(write.bodies))
        conversation = self._find(write.conversation_id) if told else None
        if conversation is None:
            return []
        return [
            self._make_job(write.conversation_id, body)
            for body in told
            if self._is_wanted(conversation, body.turn_id)
        ]

    def _is_wanted(self, conversation: Conversation, turn_id: str) -> bool:
        record = conversation.turns.get(turn_id)
        return record is not None and wants_notice(record.prompt.options, self._means.notifies())

    def _make_job(self, conversation_id: str, body: QuestionAsked | TurnFinished) -> NewJob:
        # `turn_id` would make it a job of the turn's, and show what the turn shows.
        arguments = {"conversation_id": conversation_id, "about_turn": body.turn_id}
        key = body.turn_id
        if isinstance(body, QuestionAsked):
            arguments["question_id"] = key = body.question_id
        return NewJob(
            id=self._means.new_id(),
            kind=NOTIFY_KIND,
            unique_key=f"{conversation_id} {key}",
            arguments=arguments,
            run_at=self._means.now(),
            max_attempts=ATTEMPTS,
        )
