"""The tables of schedules, for those who do not know SQL: one method a change or a question.

Known credentials are hidden in what is kept of a prompt and of an error, as they are in the log.
It decides nothing; what a change does is in `rows`.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from askd.core.events import PromptAccepted
from askd.core.rewriting import Rewrite, rewrite_body
from askd.core.schedules import Schedule
from askd.store.batch import Change
from askd.store.schedules import queries, rows
from askd.store.schedules.queries import SlotRow
from askd.store.schedules.rows import Passed

T = TypeVar("T")
Hide = Callable[[str], str]


class Changes(Protocol):
    """Who commits changes: the writer."""

    async def apply(self, change: Change[T]) -> T:
        """Commit a change; raises what it raises, and `StorageFailed`."""
        ...


class Questions(Protocol):
    """Who reads what is committed: the reader."""

    async def query(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """The answer of a query; raises `StorageFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """A schedule, up to where its slots are handled, and what it did last.

    `handled_at`: unix seconds; None: the clock is before all that was handled.
    """

    schedule: Schedule
    handled_at: float | None
    last: SlotRow | None


class ScheduleTable:
    """Schedules beside the log. `find_hide` answers how to hide credentials now; None: not at all.

    Every method raises `StorageFailed`; those that are given a schedule `NotFound`.
    """

    def __init__(
        self, changes: Changes, questions: Questions, *, find_hide: Callable[[], Hide | None]
    ) -> None:
        self._changes = changes
        self._questions = questions
        self._find_hide = find_hide

    async def add(self, schedule: Schedule) -> None:
        """Keep a schedule; raises `RequestError` for a name that is taken, or too many."""
        hide = self._find_hide()
        if hide is not None:
            prompt = rewrite_body(schedule.prompt, Rewrite(text=hide, token=hide, name=hide))
            assert isinstance(prompt, PromptAccepted)
            schedule = replace(schedule, prompt=prompt)
        await self._changes.apply(rows.add_schedule(schedule))

    async def remove(self, schedule_id: str) -> None:
        """Forget one."""
        await self._changes.apply(rows.remove_schedule(schedule_id))

    async def pause(self, schedule_id: str, *, why: str | None = None) -> None:
        """Send nothing from now on; `why`: a sentence, if it is no person's wish."""
        await self._changes.apply(rows.pause_schedule(schedule_id, why=why))

    async def resume(self, schedule_id: str, *, conversation_id: str | None) -> None:
        """Go on with the next slot, in this conversation; None: in one that is to be created."""
        await self._changes.apply(
            rows.resume_schedule(schedule_id, conversation_id=conversation_id)
        )

    async def begin(self, schedule_id: str, *, since: float) -> None:
        """Count slots from a moment on, in unix seconds."""
        await self._changes.apply(rows.begin_slots(schedule_id, since=since))

    async def pass_slot(self, passed: Passed) -> None:
        """Handle a slot without a prompt."""
        hide = self._find_hide()
        if hide is not None and passed.error is not None:
            passed = replace(passed, error=hide(passed.error))
        await self._changes.apply(rows.pass_slot(passed))

    async def find(self, text: str) -> Schedule:
        """One, by its id or the beginning of it, or its name."""
        return await self._questions.query(
            lambda connection: queries.find_schedule(connection, text)
        )

    async def read_all(self, *, now: float) -> list[Standing]:
        """All of them, the oldest first; `now` in unix seconds."""

        def query(connection: sqlite3.Connection) -> list[Standing]:
            return [
                Standing(
                    each,
                    queries.find_handled(connection, each.id, now=now),
                    next(iter(queries.list_slots(connection, each.id, limit=1)), None),
                )
                for each in queries.list_schedules(connection)
            ]

        return await self._questions.query(query)

    async def find_handled(self, schedule_id: str, *, now: float) -> float | None:
        """Up to where its slots are handled; None: the clock is before all that was."""
        return await self._questions.query(
            lambda connection: queries.find_handled(connection, schedule_id, now=now)
        )

    async def list_slots(self, schedule_id: str, *, limit: int) -> list[SlotRow]:
        """What was done lately, the last first."""
        return await self._questions.query(
            lambda connection: queries.list_slots(connection, schedule_id, limit=limit)
        )

    async def count_enabled(self) -> int:
        """Schedules that are not paused."""
        return await self._questions.query(queries.count_enabled)
