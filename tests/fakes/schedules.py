"""Schedules on a real SQLite in memory, without a thread, so that time can be a test's own.

What is asked runs at once, on the one connection: the SQL, the migrations and the transactions
are the daemon's. A daemon is "killed" by cancelling what runs on it; what it committed is there.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import trio

from askd.core.events import Event, PromptAccepted, TurnOptions
from askd.core.items import Text, UserMessage
from askd.core.schedules import Schedule
from askd.errors import AskdError, StorageFailed
from askd.jobs.bell import Bell
from askd.jobs.cron import read_cron
from askd.jobs.schedule import ReadCron, ScheduleClock
from askd.jobs.schedule_desk import ScheduleDesk
from askd.sessions.admission import Admission
from askd.sessions.needs import Means
from askd.sessions.registry import Sessions
from askd.store import changes, expiry
from askd.store.batch import Change, commit_batch
from askd.store.database import read_text
from askd.store.log import Committed, Log, Partial, Write
from askd.store.memory import MemoryLog
from askd.store.migrations import migrate
from askd.store.queries import Reader
from askd.store.schedules.table import ScheduleTable
from askd.tools.registry import Registry
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import encode, make_id

T = TypeVar("T")


class Straight(Log):
    """Writer and reader in one: a database in memory, and each change a transaction.

    Attributes:
        now: the wall clock, which may be set.
        failing: everything is refused.
        observe: who hears of what is committed.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.failing = False
        self.observe: Callable[[Sequence[Event]], None] = lambda events: None
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.text_factory = read_text
        migrate(self.connection, Path(":memory:"), at=0.0)
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.reader = _StraightReader(self)

    async def apply(self, change: Change[T]) -> T:
        await trio.lowlevel.checkpoint()  # a kill here: nothing was committed
        if self.failing:
            raise StorageFailed("The disk is full.")
        (outcome,) = commit_batch(self.connection, [change], at=self.now())
        if isinstance(outcome, Exception):
            raise outcome
        if outcome.events:
            self.observe(outcome.events)
        await trio.lowlevel.checkpoint()  # a kill here: it was committed, and nobody heard
        value: T = outcome.value
        return value

    async def append(self, write: Write) -> Committed:
        return await self.apply(changes.append(write))

    def save_partial(self, partial: Partial) -> None:
        commit_batch(self.connection, [changes.save_partials([partial])], at=self.now())

    async def delete(self, conversation_id: str) -> None:
        await self.apply(changes.delete(conversation_id))

    async def expire(self, conversation_id: str, *, before_at: float, archive: bool) -> bool:
        return await self.apply(
            expiry.expire(conversation_id, before_at=before_at, archive=archive)
        )

    async def mend_search(self) -> None:
        await self.apply(changes.mend_search)

    def count_prompts(self) -> dict[str, int]:
        """How many prompts are in the log, by the key that they were accepted under."""
        rows = self.connection.execute(
            "SELECT json_extract(body, '$.key'), count(*) FROM events"
            " WHERE type = 'prompt_accepted' GROUP BY 1"
        )
        return dict(rows.fetchall())


class _StraightReader(Reader):
    """The daemon's queries, on the same connection."""

    def __init__(self, store: Straight) -> None:
        super().__init__(Path(":memory:"))
        self._store = store

    async def query(self, query: Callable[[sqlite3.Connection], T]) -> T:
        await trio.lowlevel.checkpoint()
        return query(self._store.connection)


def make_prompt(text: str = "hello", **options: object) -> PromptAccepted:
    """A schedule's prompt."""
    return PromptAccepted(
        turn_id="",
        key="",
        items=(UserMessage("", (Text(text),)),),
        options=TurnOptions(detach=True, **options),  # type: ignore[arg-type]
    )


def make_schedule(id: str = "s" * 8, **fields: object) -> Schedule:
    """A schedule of every minute, in UTC, into the conversation `work`."""
    said: dict[str, object] = {
        "name": None,
        "cron": "* * * * *",
        "zone": "UTC",
        "missed": "once",
        "session": "work",
        "conversation_id": None,
        "prompt": make_prompt(),
        "created_at": 0.0,
    }
    return Schedule(id=id, **{**said, **fields})  # type: ignore[arg-type]


class Timekeeping:
    """A daemon's schedules: what is stored, who asks for changes, and the clock that runs."""

    def __init__(
        self, store: Straight, models: ScriptedModels, *, cron: ReadCron = read_cron
    ) -> None:
        means = Means(
            models=models,
            tools=Registry(()),
            now=store.now,
            new_id=make_id,
            title_mode=lambda: "off",
            turns=trio.CapacityLimiter(64),
        )
        self.store = store
        self.models = models
        memory = MemoryLog(observe=lambda events: self.sessions.observe(events), now=store.now)
        self.sessions = Sessions(
            log=store, memory=memory, reader=store.reader, means=means, encode=encode
        )
        self.admission = Admission(self.sessions, new_id=make_id)
        self.table = ScheduleTable(store, store.reader, find_hide=lambda: None)
        self.told: list[tuple[str, AskdError]] = []
        self.clock = ScheduleClock(
            self.table,
            admission=self.admission,
            read_cron=cron,
            now=store.now,
            tell=self._tell,
        )
        self.desk = ScheduleDesk(
            self.table,
            sessions=self.sessions,
            admission=self.admission,
            read_cron=cron,
            now=store.now,
            new_id=make_id,
            bell=self.clock.bell,
            explain_wait=self.clock.explain_wait,
        )
        store.observe = self.sessions.observe

    async def _tell(self, schedule: Schedule, error: AskdError) -> None:
        self.told.append((schedule.id, error))
        await trio.lowlevel.checkpoint()

    def count_prompts(self) -> dict[str, int]:
        """As of its store."""
        return self.store.count_prompts()


@asynccontextmanager
async def keep_time(
    store: Straight, models: ScriptedModels | None = None, *, cron: ReadCron = read_cron
) -> AsyncIterator[Timekeeping]:
    """A daemon with its clock, until the block ends; then it is killed."""
    room = Timekeeping(store, models or ScriptedModels(), cron=cron)
    # In it: the sessions and the clock.
    async with trio.open_nursery() as nursery:
        await nursery.start(room.sessions.run)
        nursery.start_soon(room.sessions.recover)
        nursery.start_soon(room.clock.run)
        yield room
        nursery.cancel_scope.cancel()


def make_desk(
    sessions: Sessions,
    admission: Admission,
    *,
    now: Callable[[], float],
    new_id: Callable[[], str] = make_id,
) -> ScheduleDesk:
    """A desk without a clock, on tables of its own, for a house that keeps its log elsewhere."""
    store = Straight(now)
    return ScheduleDesk(
        ScheduleTable(store, store.reader, find_hide=lambda: None),
        sessions=sessions,
        admission=admission,
        read_cron=read_cron,
        now=now,
        new_id=new_id,
        bell=Bell(),
        explain_wait=lambda _: None,
    )
