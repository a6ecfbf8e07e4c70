"""Jobs are waited for without a gap, and each kind is steered by whom it belongs to."""

import pytest
import trio
import trio.testing

from askd.errors import NotFound
from askd.jobs.desk import LOOK_S, JobDesk, Steering
from askd.jobs.worker import Worker
from askd.providers.base import Caller
from askd.store.jobs.queries import JobRow
from askd.store.log import TURN_KIND
from tests.fakes.log import FakeStore
from tests.jobs.test_worker import add_job, make_store

LENT = Caller(secrets={"KEY": "of the caller"})


def make_desk(store: FakeStore, **steering: Steering) -> tuple[JobDesk, Worker]:
    worker = Worker(store, log=store, kinds={}, now=store.now, chance=lambda: 0.5)
    return JobDesk(store, reader=store, worker=worker, steering=steering), worker


async def test_waiting_ends_when_the_last_is_over_or_the_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    first, last = await add_job(store, "j"), await add_job(store, "k")
    desk, worker = make_desk(store)
    ended: dict[str, float] = {}

    async def wait(name: str, *, only_one: bool) -> None:
        rows, over = await desk.wait(["j", "k"], only_one=only_one, timeout_s=100)
        assert over
        assert [row.id for row in rows] == ["j", "k"]
        ended[name] = trio.current_time()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wait("any", only_one=True))
        nursery.start_soon(lambda: wait("all", only_one=False))
        for job, at in ((first, 1.0), (last, 2.0)):
            await trio.sleep_until(at)
            job.state = "completed"
            worker.ends.ring()
    assert ended == pytest.approx({"any": 1.0, "all": 2.0}, abs=0.01)


async def test_waiting_has_a_limit(autojump_clock: trio.testing.MockClock) -> None:
    store = make_store()
    await add_job(store)
    desk, _ = make_desk(store)
    rows, over = await desk.wait(["j"], only_one=False, timeout_s=12)
    assert ([row.state for row in rows], over) == (["available"], False)
    assert trio.current_time() == pytest.approx(12)
    assert not (await desk.wait(["j"], only_one=False, timeout_s=0))[1]


async def test_a_job_that_goes_with_its_conversation_is_not_waited_for_any_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    await add_job(store)
    desk, _ = make_desk(store)
    with trio.fail_after(LOOK_S + 1):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.delete, "c")
            with pytest.raises(NotFound):
                await desk.wait(["j"], only_one=False, timeout_s=300)


async def test_orders_are_heard_by_the_worker_and_by_those_who_wait() -> None:
    store = make_store()
    await add_job(store)
    desk, worker = make_desk(store)
    heard = worker.bell.listen()
    assert (await desk.cancel("j")).state == "cancelled"
    assert heard.is_set()
    heard = worker.bell.listen()
    assert (await desk.retry("j", LENT)).state == "available"
    assert heard.is_set()
    with pytest.raises(NotFound):
        await desk.cancel("nobody")


async def test_a_kind_that_is_not_the_workers_is_steered_by_its_own() -> None:
    store = make_store()
    job = await add_job(store, kind=TURN_KIND)
    other = await add_job(store, "other", kind=TURN_KIND)
    told: list[tuple[str, str]] = []

    async def cancel(row: JobRow) -> None:
        told.append(("cancel", row.id))
        job.state = "cancelled"

    async def retry(row: JobRow, caller: Caller) -> str:
        assert caller is LENT
        told.append(("retry", row.id))
        return other.job.id

    desk, _ = make_desk(store, **{TURN_KIND: Steering(cancel=cancel, retry=retry)})
    assert (await desk.cancel("j")).state == "cancelled"
    assert (await desk.retry("j", LENT)).id == "other"
    assert told == [("cancel", "j"), ("retry", "j")]
