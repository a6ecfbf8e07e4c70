"""Where people and programs ask for schedules: added, looked at, sent now, paused, removed.

What is wrong with one is said when it is added, as far as it can be known then. The clock is
told of every change; it alone sends what is due.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from askd.core.events import PromptAccepted
from askd.core.schedules import Missed, Schedule, find_next
from askd.errors import AskdError, RequestError, SecretsNeeded, StorageFailed, UnknownModel
from askd.jobs.bell import Bell
from askd.jobs.cron import find_machine_zone
from askd.jobs.firing import send_now
from askd.jobs.schedule import ReadCron
from askd.providers.base import Caller
from askd.sessions.admission import Admission
from askd.sessions.prompts import Accepted
from askd.sessions.registry import Sessions
from askd.sessions.schemas import check_schema
from askd.sessions.targets import Target, check_name
from askd.sessions.toolbox import check_words
from askd.store.schedules.queries import SlotRow
from askd.store.schedules.table import ScheduleTable

KEPT_KEYS = " For a schedule only a key that is kept counts."
"""Whoever reads which variable to set would set it in a shell, where it helps no schedule."""
SHOWN_SLOTS = 20
"""Of one schedule, what it did lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A schedule as it is asked for; None: not said."""

    cron: str
    prompt: PromptAccepted
    zone: str | None = None
    name: str | None = None
    session: str | None = None
    missed: Missed = "once"


@dataclass(frozen=True, slots=True)
class Sight:
    """A schedule as it can be shown.

    Attributes:
        next_at: its next slot, unix seconds; None: paused, or there is none.
        trouble: why nothing is sent, a sentence.
        slots: what it did lately, the last first; of a list the last alone.
    """

    schedule: Schedule
    next_at: float | None
    trouble: str | None
    slots: Sequence[SlotRow] = field(default=())


class ScheduleDesk:
    """Orders for schedules; a text names one by its id, the beginning of it, or its name.

    `now`: the wall clock in unix seconds; `bell`, `explain_wait`: the clock's.
    """

    def __init__(
        self,
        table: ScheduleTable,
        *,
        sessions: Sessions,
        admission: Admission,
        read_cron: ReadCron,
        now: Callable[[], float],
        new_id: Callable[[], str],
        bell: Bell,
        explain_wait: Callable[[str], str | None],
    ) -> None:
        self._table = table
        self._sessions = sessions
        self._admission = admission
        self._read_cron = read_cron
        self._now = now
        self._new_id = new_id
        self._bell = bell
        self._explain_wait = explain_wait

    async def add(self, wanted: Wanted) -> tuple[Sight, str | None]:
        """Keep a schedule; with it a sentence, if its prompt would be refused now.

        Raises:
            RequestError: the expression, the zone, a name, or what the prompt asks for is wrong.
            NotFound: the conversation has to be there, and is not.
            UnknownModel: no provider has it.
            AskdError: the library that reads expressions is not installed.
        """
        zone = wanted.zone or find_machine_zone()
        if find_next(self._read_cron(wanted.cron, zone), self._now()) is None:
            raise RequestError(f"{wanted.cron!r} is never true.", reason="bad_cron")
        if wanted.name is not None:
            check_schedule_name(wanted.name)
        options = replace(wanted.prompt.options, detach=True)
        if options.answer_schema is not None:
            check_schema(options.answer_schema)
        check_words(options, self._sessions.means.tools)
        conversation_id = await self._find_conversation(wanted.session)
        warning = await self._check_model(wanted.prompt, conversation_id)
        schedule = Schedule(
            id=self._new_id(),
            name=wanted.name,
            cron=wanted.cron,
            zone=zone,
            missed=wanted.missed,
            session=wanted.session,
            conversation_id=conversation_id,
            prompt=replace(wanted.prompt, options=options),
            created_at=self._now(),
        )
        await self._table.add(schedule)
        self._bell.ring()
        return self._see(await self._table.find(schedule.id), ()), warning

    async def list_all(self) -> list[Sight]:
        """Every schedule, the oldest first, with what it did last."""
        standings = await self._table.read_all(now=self._now())
        return [
            self._see(each.schedule, () if each.last is None else (each.last,))
            for each in standings
        ]

    async def find(self, text: str) -> Sight:
        """One, with what it did lately; raises `NotFound`."""
        schedule = await self._table.find(text)
        return self._see(schedule, await self._table.list_slots(schedule.id, limit=SHOWN_SLOTS))

    async def run(self, text: str, *, key: str) -> Accepted:
        """Send its prompt now, paused or not; the same key is the same turn.

        Raises:
            NotFound: there is none, or its conversation is gone.
            StorageFailed: its prompt cannot be read any more.
            AskdError: whatever keeps a prompt from being accepted.
        """
        schedule = await self._table.find(text)
        if schedule.damage is not None:
            raise StorageFailed(f"The schedule {schedule.id} cannot be sent. {schedule.damage}")
        accepted = await send_now(self._admission, schedule, key)
        self._bell.ring()
        return accepted

    async def pause(self, text: str) -> Sight:
        """Send nothing until it is resumed; raises `NotFound`."""
        schedule = await self._table.find(text)
        await self._table.pause(schedule.id)
        self._bell.ring()
        return await self.find(schedule.id)

    async def resume(self, text: str) -> Sight:
        """Go on with the next slot; raises `NotFound`, also if its conversation cannot be made."""
        schedule = await self._table.find(text)
        conversation_id = schedule.conversation_id
        if conversation_id is None:
            conversation_id = await self._find_conversation(schedule.session)
        await self._table.resume(schedule.id, conversation_id=conversation_id)
        self._bell.ring()
        return await self.find(schedule.id)

    async def remove(self, text: str) -> Schedule:
        """Forget it; what it has sent stays. Raises `NotFound`."""
        schedule = await self._table.find(text)
        await self._table.remove(schedule.id)
        self._bell.ring()
        return schedule

    def _see(self, schedule: Schedule, slots: Sequence[SlotRow]) -> Sight:
        if schedule.damage is not None:
            return Sight(schedule, None, schedule.damage, slots)
        if schedule.paused_at is not None:
            return Sight(schedule, None, schedule.paused_why, slots)
        try:
            after = self._read_cron(schedule.cron, schedule.zone)
        except AskdError as error:
            return Sight(schedule, None, error.message, slots)
        trouble = self._explain_wait(schedule.id)
        return Sight(schedule, find_next(after, self._now()), trouble, slots)

    async def _find_conversation(self, session: str | None) -> str | None:
        """The id of the conversation that is meant; None: it is to be created, or always anew."""
        if session is None:
            return None
        found = await self._sessions.resolve(Target("session", session, create=True))
        if not isinstance(found, str):
            return None
        live = self._sessions.find_live(found)
        if live is not None and live.ephemeral:
            raise RequestError("An ephemeral conversation does not last until a schedule's time.")
        return found

    async def _check_model(self, prompt: PromptAccepted, conversation_id: str | None) -> str | None:
        """Why the prompt would be refused if it were sent now; None: it would not be."""
        name = prompt.options.model
        try:
            if name is None and conversation_id is not None:
                session = await self._sessions.get(conversation_id)
                name = session.conversation.settings.model
            await self._sessions.means.models.resolve(name, Caller(env=prompt.env or {}))
        except UnknownModel:
            raise
        except AskdError as error:
            kept = KEPT_KEYS if isinstance(error, SecretsNeeded) else ""
            return f"As things are, it would be refused: {error.message}{kept}"
        return None


def check_schedule_name(name: str) -> str:
    """The name, if it can be one: as conversations have them. Raises `RequestError` (bad_name)."""
    try:
        return check_name(name)
    except RequestError as error:
        message = error.message.replace("for a conversation", "for a schedule")
        raise RequestError(message, reason=error.reason) from None
