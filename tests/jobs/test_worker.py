"""A job's effect happens once, and every try comes to an end."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    Renamed,
    Titled,
    TurnFinished,
)
from askd.core.items import PART_LIMIT_BYTES, AssistantMessage, Text
from askd.errors import Unavailable
from askd.jobs.worker import POLL_S, STORAGE_PAUSE_S, Kind, Worker
from askd.store.log import ClaimedJob, NewJob, Write
from tests.fakes.log import FakeStore, JobState

TIMEOUT_S = 30.0
START = 1_000_000.0

Run = Callable[[ClaimedJob], Awaitable[Sequence[Body]]]


class Tries:
    """A kind of job that does what the list says, one entry a try."""

    def __init__(self, *outcomes: Sequence[Body] | Exception | float | trio.Event) -> None:
        self.outcomes = list(outcomes)
        self.jobs: list[ClaimedJob] = []
        self.at: list[float] = []

    async def run(self, job: ClaimedJob) -> Sequence[Body]:
        self.jobs.append(job)
        self.at.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        outcome = self.outcomes.pop(0)
        match outcome:
            case Exception():
                raise outcome
            case float():
                await trio.sleep(outcome)
                return ()
            case trio.Event():
                await outcome.wait()
                return ()
            case _:
                return outcome


def make_store() -> FakeStore:
    """A store whose clock is trio's, so that times can be compared."""
    return FakeStore(now=lambda: START + trio.current_time())


async def add_job(
    store: FakeStore, *, kind: str = "test", id: str = "j", tries: int = 3
) -> JobState:
    """A conversation `c` with a job."""
    create = await store.get("c") is None
    job = NewJob(
        id=id,
        kind=kind,
        unique_key=id,
        arguments={"x": "y"},
        run_at=store.now(),
        max_attempts=tries,
    )
    bodies: list[Body] = [ConversationCreated("c")] if create else [Renamed("x")]
    await store.append(Write(conversation_id="c", bodies=bodies, create=create, jobs=[job]))
    return store.jobs[id]


@asynccontextmanager
async def work(store: FakeStore, run: Run) -> AsyncIterator[Worker]:
    """A worker at work until the block ends."""
    worker = Worker(
        store,
        kinds={"test": Kind(run, timeout_s=TIMEOUT_S)},
        now=store.now,
        chance=lambda: 0.5,
    )
    store.observe = worker.observe
    async with trio.open_nursery() as nursery:
        await nursery.start(worker.run)
        yield worker
        nursery.cancel_scope.cancel()


async def test_effect_and_completion_are_one_write(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Tries([Titled("A title")])
    job = await add_job(store)
    async with work(store, tries.run):
        await trio.sleep(1)
    assert (job.state, job.attempt) == ("completed", 1)
    write = store.writes[-1]
    assert write.bodies == [Titled("A title")]
    assert write.fulfils == tries.jobs[0].fence
    assert tries.jobs[0].arguments == {"x": "y"}


async def test_a_large_effect_is_stored_beside_the_log(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    long = AssistantMessage("n", (Text("x" * (PART_LIMIT_BYTES + 1)),))
    job = await add_job(store)
    async with work(store, Tries([ItemAdded(None, long)]).run):
        await trio.sleep(1)
    assert job.state == "completed"
    assert len(store.writes[-1].blobs) == 1


async def test_nothing_to_do_is_done(autojump_clock: trio.testing.MockClock) -> None:
    store = make_store()
    job = await add_job(store)
    writes = len(store.writes)
    async with work(store, Tries([]).run):
        await trio.sleep(1)
    assert job.state == "completed"
    assert len(store.writes) == writes


async def test_failures_are_tried_again_later_and_then_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Tries(Unavailable("No."), ValueError("bug"), KeyError())
    job = await add_job(store)
    async with work(store, tries.run):
        await trio.sleep(1000)
    assert job.state == "discarded"
    assert job.errors == ["No.", "bug", "KeyError"]
    assert [at - tries.at[0] for at in tries.at] == pytest.approx([0, 2, 6], abs=0.1)
    assert [each.attempt for each in tries.jobs] == [1, 2, 3]


async def test_a_later_try_can_succeed(autojump_clock: trio.testing.MockClock) -> None:
    store = make_store()
    job = await add_job(store)
    async with work(store, Tries(Unavailable("No."), [Titled("T")]).run):
        await trio.sleep(10)
    assert (job.state, job.attempt, job.errors) == ("completed", 2, ["No."])


async def test_a_try_that_takes_too_long_has_failed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    slow, quick = await add_job(store, tries=1), await add_job(store, id="k")
    async with work(store, Tries(TIMEOUT_S + 1, []).run):
        await trio.sleep(TIMEOUT_S + 2)
    assert (slow.state, slow.errors) == ("discarded", ["It took longer than 30 s."])
    assert quick.state == "completed"


async def test_an_unknown_kind_is_given_up_with_a_sentence(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store, kind="dig")
    async with work(store, Tries().run):
        await trio.sleep(1)
    assert job.state == "discarded"
    assert job.errors == ["This version knows no job of kind 'dig'."]


async def test_an_effect_that_the_log_refuses_is_a_failure(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store, tries=1)
    async with work(store, Tries([ConversationCreated("c")]).run):
        await trio.sleep(1)
    assert job.state == "discarded"


async def test_work_is_found_at_once_when_a_turn_ends_and_by_looking_if_nobody_says(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Tries([], [])
    async with work(store, tries.run) as worker:
        await trio.sleep(1)
        await add_job(store)  # no turn ended: it is found by looking
        await trio.sleep(POLL_S)
        assert len(tries.at) == 1
        await trio.sleep(1)
        await add_job(store, id="k")
        asked = trio.current_time()
        worker.observe([Event("c", 9, 0.0, TurnFinished("t", "completed", 0))])
        await trio.sleep(0.1)
        assert tries.at[1] == pytest.approx(asked)


async def test_a_conversation_that_is_deleted_takes_its_jobs_along(
    autojump_clock: trio.testing.MockClock,
) -> None:
    for outcome in ([Titled("T")], []):
        store, gate = make_store(), trio.Event()

        async def run(
            job: ClaimedJob, gate: trio.Event = gate, outcome: Sequence[Body] = outcome
        ) -> Sequence[Body]:
            await gate.wait()
            return outcome

        await add_job(store)
        async with work(store, run):
            await trio.sleep(1)
            await store.delete("c")
            gate.set()
            await trio.sleep(1)
            other = await add_job(store, id="k")
            await trio.sleep(POLL_S + 1)
            assert other.attempt == 1
        assert store.rows()[0].title in (None, "T")


async def test_an_attempt_that_is_no_longer_current_changes_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, gate = make_store(), trio.Event()
    job = await add_job(store)

    async def run(claimed: ClaimedJob) -> Sequence[Body]:
        await gate.wait()
        return [Titled("stale")]

    async with work(store, run):
        await trio.sleep(1)
        job.owner = "another boot"
        gate.set()
        await trio.sleep(1)
    assert job.state == "executing"
    assert store.rows()[0].title is None


async def test_while_storage_fails_nothing_is_forgotten(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, gate = make_store(), trio.Event()
    job = await add_job(store)
    async with work(store, Tries(gate).run):
        await trio.sleep(1)
        store.failing = True
        gate.set()
        await trio.sleep(100)
        assert job.state == "executing"
        store.failing = False
        await trio.sleep(STORAGE_PAUSE_S + 1)
        assert job.state == "completed"


async def test_a_full_disk_refuses_an_effect_and_the_job_is_tried_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)
    store.fail_if = lambda write: write.fulfils is not None and job.attempt == 1
    async with work(store, Tries([Titled("T")], [Titled("T")]).run):
        await trio.sleep(10)
    assert (job.state, job.attempt, job.errors) == ("completed", 2, ["The disk is full."])


async def test_a_worker_that_is_cancelled_leaves_its_job_to_the_next_boot(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)
    async with work(store, Tries(trio.Event()).run):
        await trio.sleep(1)
    assert job.state == "executing"
    store.boot_id = "boot-2"
    async with work(store, Tries([Titled("T")]).run):
        await trio.sleep(1)
    assert (job.state, job.attempt) == ("completed", 2)


async def test_a_job_that_kills_the_daemon_each_time_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store, tries=2)
    for boot in range(3):
        store.boot_id = f"boot-{boot}"
        async with work(store, Tries(trio.Event()).run):
            await trio.sleep(1)
    assert (job.state, job.attempt) == ("discarded", 2)
