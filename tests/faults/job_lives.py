"""Lives of the job queue: the daemon's worker on a real SQLite, killed, doubled, at odd times.

What is done to it is drawn at random; what must hold is read off the tables and off what the
tries themselves have seen.
"""

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

import trio

from askd.core.events import ConversationCreated, Titled
from askd.errors import NotFound, RequestError, StaleFence
from askd.jobs.base import Applied, Effect, Kind, Outcome
from askd.jobs.desk import JobDesk
from askd.jobs.worker import Worker
from askd.providers.base import Caller
from askd.store.jobs.rows import JobEnd
from askd.store.jobs.table import JobTable
from askd.store.log import ClaimedJob, Fence, NewJob, Write
from askd.store.writer import Writer
from tests.fakes.schedule_lives import YEARS_S, Fused, Killed, Wall

CONVERSATION = "c"
KEYS = ("a", "b", "c", "d")
"""So few that many an enqueued job is one too many."""
KINDS = ("work", "own", "flaky", "poison", "killer")
HOPELESS = ("poison", "killer")
TIMEOUT_S = 120.0
FURTHEST_S = 2 * YEARS_S
SETTLED_BOOTS = 400
"""So many starts bring everything to its end, or something is stuck: a killer needs a few each."""
OPEN = "('available', 'scheduled', 'running', 'retryable')"


class Harm(Exception):
    """What broke the claim, in a sentence."""


@dataclass(frozen=True)
class Boot:
    """A start of the daemon: who owns what it claims."""

    store: Fused
    boot_id: str

    def __getattr__(self, name: str) -> object:
        return getattr(self.store, name)


class Counting(JobTable):
    """Counts in `returned` how often a try was handed back, which is no fault of the job."""

    def __init__(self, writer: Writer, returned: Counter[str]) -> None:
        super().__init__(writer, find_hide=lambda: None)
        self._returned = returned

    async def end_job(
        self,
        fence: Fence,
        *,
        state: JobEnd,
        error: str | None = None,
        run_at: float | None = None,
    ) -> None:
        # Before it is known: a kill behind the commit would keep it from being counted.
        self._returned[fence.job_id] += state == "available"
        await super().end_job(fence, state=state, error=error, run_at=run_at)


class Life:
    """One queue and all that is done to it. `seed` says what."""

    def __init__(self, seed: str, make_store: Callable[[Wall], Fused] = Fused) -> None:
        self.chance = random.Random(seed)
        self.wall = Wall()
        self.store = make_store(self.wall)
        self.boots = 0
        self.added = 0
        self.fences: list[Fence] = []
        self.tries: Counter[str] = Counter()
        self.returned: Counter[str] = Counter()
        self.retried: set[str] = set()
        self.limits: dict[str, int] = {}
        self.excess: list[str] = []

    async def live(self, steps: int) -> None:
        """Live through so many steps, and settle; raises `Harm`."""
        created = ConversationCreated(CONVERSATION)
        await self.store.append(Write(conversation_id=CONVERSATION, bodies=[created], create=True))
        acts = (*[self._enqueue] * 4, self._run, self._run, self._run, self._overlap)
        quick = (self._jump, self._cancel, self._retry, self._come_late)
        for _ in range(steps):
            await self.chance.choice(acts + quick)()
            self.check()
        await self._settle()

    # ---- what happens ----------------------------------------------------------------

    async def _enqueue(self) -> None:
        """One job, at times with the key of one that is not over, at times for later."""
        self.added += 1
        id = f"{self.added:04d}-job"
        tries = self.chance.randint(1, 4)
        self.limits[id] = tries
        job = NewJob(
            id=id,
            kind=self.chance.choice(KINDS),
            unique_key=self.chance.choice(KEYS),
            arguments={
                "for_s": self.chance.choice(("0", "0", "1", "40", "300")),
                "fails": str(self.chance.randint(0, 3)),
            },
            run_at=self.wall() + self.chance.choice((0.0, 0.0, 5.0, 300.0)),
            max_attempts=tries,
        )
        await self.store.append(Write(conversation_id=CONVERSATION, bodies=[], jobs=[job]))

    async def _run(self) -> None:
        """A daemon for a while: ended properly, or killed in one of its transactions."""
        fuse = self.chance.choice((None, self.chance.randint(1, 10)))
        await self._boot(self.chance.choice((0.0, 0.5, 5.0, 60.0, 700.0)), fuse)

    async def _boot(self, for_s: float, fuse: int | None) -> None:
        self.store.fuse, self.store.late = fuse, self.chance.random() < 0.5
        try:
            async with self._work() as desk:
                await trio.sleep(for_s)
                if self.chance.random() < 0.3:
                    await self._steer(desk)
                    await trio.sleep(1.0)
                self.check_owners()
        except* Killed:
            pass
        self.store.fuse = None

    async def _overlap(self) -> None:
        """A second daemon takes over while the first still works: all its fences are stale."""
        try:
            async with self._work():
                await trio.sleep(self.chance.choice((0.1, 2.0, 20.0)))
                async with self._work():
                    await trio.sleep(self.chance.choice((0.1, 2.0, 20.0, 400.0)))
        except* Killed:
            pass
        self.store.fuse = None

    async def _jump(self) -> None:
        by_s = self.chance.choice((YEARS_S, -YEARS_S, 3600.0, -3600.0, self.chance.uniform(-9, 9)))
        if abs(self.wall.set_by + by_s) <= FURTHEST_S:
            self.wall.set_by += by_s

    async def _cancel(self) -> None:
        await self._steer(self._make_desk(*self._make_worker()), cancel=True)

    async def _retry(self) -> None:
        await self._steer(self._make_desk(*self._make_worker()), cancel=False)

    async def _steer(self, desk: JobDesk, *, cancel: bool | None = None) -> None:
        """A person cancels a job or has it tried again; a refusal is an answer."""
        if not self.added:
            return
        id = f"{self.chance.randint(1, self.added):04d}-job"
        cancel = self.chance.random() < 0.5 if cancel is None else cancel
        with suppress(NotFound, RequestError):
            if cancel:
                await desk.cancel(id)
            else:
                # Before it is known: a kill behind the commit would keep it from being noted.
                known = id in self.retried
                self.retried.add(id)
                try:
                    await desk.retry(id, cast("Caller", None))  # only jobs of turns borrow of it
                except (NotFound, RequestError):
                    if not known:
                        self.retried.discard(id)

    async def _come_late(self) -> None:
        """The effect of an earlier try arrives: refused, unless nothing came after that try."""
        if self.fences:
            fence = self.chance.choice(self.fences)
            with suppress(StaleFence):
                await self.store.append(effect_of(fence))

    async def _settle(self) -> None:
        """Whatever waits for a time gets it, and everything comes to an end."""
        self.wall.set_by += 3 * FURTHEST_S
        for _ in range(SETTLED_BOOTS):
            await self._boot_quietly()
            self.check()
            if not self._count(f"SELECT count(*) FROM jobs WHERE state IN {OPEN}"):
                return
        raise Harm("A job is never over, however often the daemon starts.")

    async def _boot_quietly(self) -> None:
        try:
            async with self._work():
                await trio.sleep(3600.0)
                self.check_owners()
        except* Killed:
            pass
        self.store.fuse = None

    # ---- the house -------------------------------------------------------------------

    @asynccontextmanager
    async def _work(self) -> AsyncIterator[JobDesk]:
        worker, table = self._make_worker()
        async with trio.open_nursery() as nursery:  # in it: the worker
            await nursery.start(worker.run)
            yield self._make_desk(worker, table)
            nursery.cancel_scope.cancel()

    def _make_worker(self) -> tuple[Worker, JobTable]:
        self.boots += 1
        # Of the writer the table needs `apply` and the boot's id.
        writer = cast("Writer", Boot(self.store, f"boot {self.boots}"))
        table = Counting(writer, self.returned)
        kinds = {
            name: Kind(run=self._try, timeout_s=TIMEOUT_S, limit=2, delays_s=(2.0, 30.0))
            for name in KINDS
        }
        worker = Worker(
            table,
            log=self.store,
            kinds=kinds,
            now=self.wall,
            chance=self.chance.random,
        )
        return worker, table

    def _make_desk(self, worker: Worker, table: JobTable) -> JobDesk:
        return JobDesk(table, reader=self.store.reader, worker=worker)

    async def _try(self, job: ClaimedJob) -> Outcome:
        id = job.fence.job_id
        self.fences.append(job.fence)
        self.tries[id] += 1
        if job.attempt > job.max_attempts:
            self.excess.append(id)
        await trio.sleep(float(job.arguments["for_s"]))
        if job.kind == "killer":
            self.store.fuse, self.store.late = 0, False  # nothing is committed from here on
            raise Killed
        if job.kind == "poison" or (
            job.kind == "flaky" and job.attempt <= int(job.arguments["fails"])
        ):
            raise ValueError("as it was made")
        if job.kind == "own":
            await self.store.append(effect_of(job.fence))
            return Applied()
        return Effect(effect_of(job.fence).bodies)

    # ---- what must hold --------------------------------------------------------------

    def check(self) -> None:
        """What holds at any moment."""
        connection = self.store.connection
        effects: Counter[str] = Counter(
            text
            for (text,) in connection.execute(
                "SELECT json_extract(body, '$.title') FROM events WHERE type = 'titled'"
            )
        )
        for id, times in effects.items():
            if times > 1:
                raise Harm(f"The effect of a job is there {times} times: {id}.")
        for id, kind, state in connection.execute("SELECT id, kind, state FROM jobs").fetchall():
            if (state == "completed") != (id in effects):
                raise Harm(f"A job is {state}, and has {effects[id]} effects: {id}.")
            if kind in HOPELESS and id in effects and not self._came_late(id):
                raise Harm(f"A job that cannot succeed has an effect: {id}.")
        if connection.execute(
            f"SELECT 1 FROM jobs WHERE state IN {OPEN} GROUP BY kind, unique_key"
            " HAVING count(*) > 1"
        ).fetchone():
            raise Harm("Two jobs of one key are open at once.")
        if self.excess:
            raise Harm(f"A job was tried again after its last try: {self.excess[0]}.")
        for id, tries in self.tries.items():
            if id not in self.retried and tries - self.returned[id] > self.limits[id]:
                raise Harm(f"A job was tried {tries} times, and may be {self.limits[id]}: {id}.")

    def check_owners(self) -> None:
        """After a start nothing runs in the name of an earlier one."""
        (stuck,) = self.store.connection.execute(
            "SELECT count(*) FROM jobs WHERE state = 'running' AND owner <> ?",
            (f"boot {self.boots}",),
        ).fetchone()
        if stuck and self.store.fuse is None:
            raise Harm(f"After a start {stuck} jobs run in the name of an earlier one.")

    def _came_late(self, id: str) -> bool:
        return any(fence.job_id == id for fence in self.fences)

    def _count(self, query: str) -> int:
        (count,) = self.store.connection.execute(query).fetchone()
        return int(count)


def effect_of(fence: Fence) -> Write:
    """What a try brings: one event that names the job."""
    return Write(conversation_id=CONVERSATION, bodies=[Titled(fence.job_id)], fulfils=fence)
