"""Jobs run a few of each kind at once; none is forgotten, and none holds up those of another."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from askd.core.events import Body, ConversationCreated, Event, Renamed, Titled, TurnFinished
from askd.jobs.attempt import STORAGE_PAUSE_S
from askd.jobs.base import Effect, Kind, NothingToDo, Outcome
from askd.jobs.desk import JobDesk
from askd.jobs.worker import CLOCK_LOOK_S, POLL_S, SWEEP_S, Worker
from askd.store.jobs.orders import COMPLETED_AGE_S, REMOVAL_BATCH
from askd.store.log import TURN_KIND, ClaimedJob, NewJob, Write
from tests.fakes.log import FakeStore, JobState

START = 1_000_000.0


class Clock:
    """A wall clock that goes with trio's and can be set."""

    def __init__(self) -> None:
        self.set_by = 0.0

    def __call__(self) -> float:
        return START + trio.current_time() + self.set_by


class Work:
    """A kind of job that waits until it is let go; it notes who is at it, and when each began."""

    def __init__(self) -> None:
        self.gates: dict[str, trio.Event] = {}
        self.active: set[str] = set()
        self.most = 0
        self.began: dict[str, float] = {}
        self.slow: set[str] = set()

    async def run(self, job: ClaimedJob) -> Outcome:
        id = job.fence.job_id
        assert id not in self.active, "one job, two tries at once"
        self.began[id] = trio.current_time()
        self.active.add(id)
        self.most = max(self.most, len(self.active))
        try:
            if id in self.slow:
                await self.gates.setdefault(id, trio.Event()).wait()
            else:
                await trio.lowlevel.checkpoint()
        finally:
            self.active.remove(id)
        return Effect([Titled(id)]) if job.arguments.get("says") else NothingToDo()


def make_store(clock: Clock | None = None) -> FakeStore:
    """A store whose clock is trio's, so that times can be compared."""
    return FakeStore(now=clock or Clock())


async def add_job(
    store: FakeStore, id: str = "j", *, kind: str = "test", tries: int = 3, in_s: float = 0.0
) -> JobState:
    """A conversation `c` with a job."""
    create = await store.get("c") is None
    job = NewJob(
        id=id,
        kind=kind,
        unique_key=id,
        arguments={"says": "yes"} if kind == "test" else {},
        run_at=store.now() + in_s,
        max_attempts=tries,
    )
    bodies: list[Body] = [ConversationCreated("c")] if create else [Renamed("x")]
    await store.append(Write(conversation_id="c", bodies=bodies, create=create, jobs=[job]))
    return store.jobs[id]


@asynccontextmanager
async def work(store: FakeStore, kinds: Mapping[str, Kind]) -> AsyncIterator[Worker]:
    """A worker at work until the block ends; what is added is announced, as the writer does."""
    worker = Worker(store, log=store, kinds=kinds, now=store.now, chance=lambda: 0.5)
    store.observe = worker.observe
    async with trio.open_nursery() as nursery:
        await nursery.start(worker.run)
        yield worker
        nursery.cancel_scope.cancel()


async def test_a_few_of_a_kind_run_at_once_and_no_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    tries.slow = {f"j{number}" for number in range(5)}
    for id in sorted(tries.slow):
        await add_job(store, id)
    async with work(store, {"test": Kind(run=tries.run, timeout_s=300, limit=2)}) as worker:
        await trio.sleep(1)
        assert tries.active == {"j0", "j1"}
        for id in ("j0", "j1", "j2", "j3", "j4"):
            (count,) = worker.count()
            assert count.running == len(tries.active)
            tries.gates[id].set()
            await trio.sleep(1)
    assert tries.most == 2
    assert {job.state for job in store.jobs.values()} == {"completed"}
    assert worker.count()[0].ends == {"completed": 5}


async def test_a_slow_kind_holds_up_no_other(autojump_clock: trio.testing.MockClock) -> None:
    store, slow, quick = make_store(), Work(), Work()
    slow.slow = {f"s{number}" for number in range(4)}
    for id in sorted(slow.slow):
        await add_job(store, id, kind="slow")
    last = await add_job(store, "q", kind="quick")
    kinds = {
        "slow": Kind(run=slow.run, timeout_s=300),
        "quick": Kind(run=quick.run, timeout_s=300),
    }
    async with work(store, kinds):
        await trio.sleep(1)
        assert last.state == "completed"
        assert len(slow.active) == 2


async def test_the_job_of_a_turn_is_not_the_workers(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store, kind=TURN_KIND)
    async with work(store, {}):
        await trio.sleep(2 * POLL_S)
    assert (job.state, job.attempt) == ("available", 0)


async def test_work_is_found_at_once_when_it_is_announced_and_by_looking_if_it_is_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    async with work(store, {"test": Kind(run=tries.run, timeout_s=30)}) as worker:
        await trio.sleep(1)
        await add_job(store)  # nobody says so: it is found by looking
        await trio.sleep(POLL_S)
        assert set(tries.began) == {"j"}
        await trio.sleep(1)
        await add_job(store, "k")
        asked = trio.current_time()
        worker.bell.ring()
        await trio.sleep(0.1)
        assert tries.began["k"] == pytest.approx(asked)


async def test_the_end_of_a_turn_is_heard_by_whoever_waits_and_asks_the_table_for_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Most turns cause no job: those that do are announced with it."""
    store, tries = make_store(), Work()
    async with work(store, {"test": Kind(run=tries.run, timeout_s=30)}) as worker:
        await trio.sleep(1)
        await add_job(store)
        heard = worker.ends.listen()
        worker.observe([Event("c", 9, 0.0, TurnFinished("t", "completed", 0))])
        assert heard.is_set()
        await trio.sleep(1)
        assert not tries.began


async def test_a_job_is_run_when_its_time_has_come(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    job = await add_job(store, in_s=200.0)
    assert job.state == "scheduled"
    async with work(store, {"test": Kind(run=tries.run, timeout_s=30)}):
        await trio.sleep(300)
    assert tries.began["j"] == pytest.approx(200, abs=0.1)


async def test_a_clock_that_is_set_forward_is_noticed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    clock, tries = Clock(), Work()
    store = make_store(clock)
    await add_job(store, in_s=50.0)
    async with work(store, {"test": Kind(run=tries.run, timeout_s=30)}):
        await trio.sleep(1)
        clock.set_by = 3e8
        await trio.sleep(CLOCK_LOOK_S + 0.1)
        assert tries.began.keys() == {"j"}


async def test_a_clock_that_is_set_back_delays_what_has_a_time_and_nothing_else(
    autojump_clock: trio.testing.MockClock,
) -> None:
    clock, tries = Clock(), Work()
    store = make_store(clock)
    later = await add_job(store, "later", in_s=50.0)
    async with work(store, {"test": Kind(run=tries.run, timeout_s=30)}):
        await trio.sleep(1)
        clock.set_by = -3600
        new = await add_job(store, "new")
        await trio.sleep(POLL_S + 1)
        assert (later.state, new.state) == ("scheduled", "completed")
        await trio.sleep(3600)
        assert later.state == "completed"


async def test_what_is_cancelled_is_stopped_and_has_no_effect(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    tries.slow = {"j"}
    job = await add_job(store)
    async with work(store, {"test": Kind(run=tries.run, timeout_s=300, limit=1)}) as worker:
        await trio.sleep(1)
        other = await add_job(store, "k")
        await JobDesk(store, reader=store, worker=worker).cancel("j")
        await trio.sleep(1)
        assert tries.active == set()
        assert (job.state, other.state) == ("cancelled", "completed")
        assert worker.count()[0].ends == {"cancelled": 1, "completed": 1}
    assert store.rows()[0].title == "k"


async def test_while_storage_fails_nothing_is_forgotten(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    tries.slow = {"j", "k"}
    jobs = [await add_job(store), await add_job(store, "k"), await add_job(store, "l")]
    async with work(store, {"test": Kind(run=tries.run, timeout_s=300)}):
        await trio.sleep(1)
        store.failing = True
        for gate in tries.gates.values():
            gate.set()
        await trio.sleep(100)
        assert [job.state for job in jobs] == ["running", "running", "available"]
        store.failing = False
        await trio.sleep(3 * STORAGE_PAUSE_S + 30)
    assert [job.state for job in jobs] == ["completed"] * 3
    titles = [body for write in store.writes for body in write.bodies if isinstance(body, Titled)]
    assert len(titles) == 3


async def test_a_worker_that_is_stopped_hands_its_jobs_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A proper end is no failure: however often, the job keeps its tries."""
    store, tries = make_store(), Work()
    tries.slow = {"j"}
    job = await add_job(store, tries=1)
    kinds = {"test": Kind(run=tries.run, timeout_s=300)}
    for boot in range(3):
        store.boot_id = f"boot-{boot}"
        async with work(store, kinds) as worker:
            await trio.sleep(1)
            assert job.state == "running"
        assert (job.state, job.errors) == ("available", [])
        assert worker.count()[0].ends == {"stopped": 1}
    tries.slow.clear()
    async with work(store, kinds):
        await trio.sleep(1)
    assert job.state == "completed"


async def test_a_job_that_kills_the_daemon_each_time_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    tries.slow = {"j"}
    job = await add_job(store, tries=2)
    for boot in range(3):
        store.boot_id = f"boot-{boot}"
        async with work(store, {"test": Kind(run=tries.run, timeout_s=300)}):
            await trio.sleep(1)
            store.failing = True  # killed: nobody hands anything back
        store.failing = False
    assert (job.state, job.attempt) == ("discarded", 2)


async def test_old_jobs_are_cleared_away_when_there_is_nothing_to_do(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Work()
    await add_job(store)
    for number in range(REMOVAL_BATCH + 3):
        new = NewJob(
            id=f"o{number}",
            kind="test",
            unique_key="",
            arguments={},
            run_at=0.0,
            max_attempts=1,
        )
        at = store.now() - COMPLETED_AGE_S - 1
        store.jobs[new.id] = JobState(new, "c", "completed", finished_at=at)
    async with work(store, {"test": Kind(run=tries.run, timeout_s=30)}):
        await trio.sleep(1)
        assert store.removed == [REMOVAL_BATCH, 3]
        assert set(store.jobs) == {"j"}
        store.failing = True
        await trio.sleep(SWEEP_S + POLL_S)
        store.failing = False
        await trio.sleep(SWEEP_S + 2 * POLL_S)
    assert store.removed[:2] == [REMOVAL_BATCH, 3]
    assert store.removed[2:] in ([0], [0, 0])
