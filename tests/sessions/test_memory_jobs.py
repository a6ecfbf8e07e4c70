"""Jobs of conversations in memory only: in order, and one of each kind at a time."""

import trio
import trio.testing

from askd.sessions.memory_jobs import MemoryJobs
from askd.store.log import NewJob


def job(id: str, kind: str) -> NewJob:
    return NewJob(id=id, kind=kind, unique_key="c", arguments={}, run_at=0.0, max_attempts=1)


async def test_they_are_taken_in_order_and_none_waits_twice() -> None:
    jobs = MemoryJobs()
    for each in (job("1", "compact"), job("2", "prune"), job("3", "compact")):
        jobs.add(each)
    assert [(await jobs.take()).id for _ in range(2)] == ["1", "2"]
    jobs.add(job("4", "compact"))
    assert (await jobs.take()).id == "4"


async def test_whoever_takes_waits_for_one() -> None:
    jobs, taken = MemoryJobs(), []

    async def take() -> None:
        taken.append(await jobs.take())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await trio.testing.wait_all_tasks_blocked()
        assert taken == []
        jobs.add(job("1", "prune"))
    assert [each.id for each in taken] == ["1"]
