"""A job's effect happens once, and every try comes to an end that the job shows."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import pytest
import trio
import trio.testing

from askd.core.events import ConversationCreated, ItemAdded, Titled
from askd.core.items import PART_LIMIT_BYTES, AssistantMessage, Text
from askd.errors import RateLimited, StaleFence, Unavailable
from askd.jobs.attempt import HAND_BACK_S, STORAGE_PAUSE_S, insist
from askd.jobs.base import Applied, Effect, GaveUp, Kind, NothingToDo, Outcome, Run
from askd.jobs.worker import POLL_S, Worker
from askd.store.jobs.rows import LONGEST_RETRY_S
from askd.store.log import ClaimedJob, NewJob, Write
from tests.fakes.log import FakeStore
from tests.jobs.test_worker import add_job, make_store
from tests.jobs.test_worker import work as work_on

TIMEOUT_S = 30.0
DONE = NothingToDo()


class Tries:
    """A kind of job that does what the list says, one entry a try; a number: takes so long."""

    def __init__(self, *outcomes: Outcome | Exception | float | trio.Event) -> None:
        self.outcomes = list(outcomes)
        self.jobs: list[ClaimedJob] = []
        self.at: list[float] = []

    async def run(self, job: ClaimedJob) -> Outcome:
        self.jobs.append(job)
        self.at.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        outcome = self.outcomes.pop(0)
        match outcome:
            case Exception():
                raise outcome
            case float():
                await trio.sleep(outcome)
                return DONE
            case trio.Event():
                await outcome.wait()
                return DONE
            case _:
                return outcome


class Doing(Tries):
    """One that does more than answer."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._do = run

    async def run(self, job: ClaimedJob) -> Outcome:
        return await self._do(job)


def work(
    store: FakeStore, tries: Tries, *, delays_s: Sequence[float] = ()
) -> AbstractAsyncContextManager[Worker]:
    """A worker at work on these tries until the block ends."""
    kind = Kind(run=tries.run, timeout_s=TIMEOUT_S, delays_s=delays_s)
    return work_on(store, {"test": kind})


async def test_effect_and_completion_are_one_write(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    more = NewJob(id="more", kind="later", unique_key="", arguments={}, run_at=9e9, max_attempts=1)
    tries = Tries(Effect([Titled("A title")], [more]))
    job = await add_job(store)
    async with work(store, tries):
        await trio.sleep(1)
    assert (job.state, job.attempt) == ("completed", 1)
    write = store.writes[-1]
    assert write.bodies == [Titled("A title")]
    assert write.fulfils == tries.jobs[0].fence
    assert store.jobs["more"].state == "scheduled"
    assert tries.jobs[0].arguments == {"says": "yes"}


async def test_a_large_effect_is_stored_beside_the_log(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    long = AssistantMessage("n", (Text("x" * (PART_LIMIT_BYTES + 1)),))
    job = await add_job(store)
    async with work(store, Tries(Effect([ItemAdded(None, long)]))):
        await trio.sleep(1)
    assert job.state == "completed"
    assert len(store.writes[-1].blobs) == 1


@pytest.mark.parametrize("outcome", [DONE, Effect([])])
async def test_nothing_to_do_is_done(
    autojump_clock: trio.testing.MockClock, outcome: Outcome
) -> None:
    store = make_store()
    job = await add_job(store)
    writes = len(store.writes)
    async with work(store, Tries(outcome)):
        await trio.sleep(1)
    assert job.state == "completed"
    assert len(store.writes) == writes


async def test_a_kind_may_commit_its_effect_itself(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)

    async def run(claimed: ClaimedJob) -> Outcome:
        await store.append(
            Write(conversation_id="c", bodies=[Titled("By myself")], fulfils=claimed.fence)
        )
        return Applied()

    tries = Doing(run)
    async with work(store, tries) as worker:
        await trio.sleep(1)
    assert (job.state, job.errors) == ("completed", [])
    assert worker.count()[0].ends == {"completed": 1}


async def test_an_effect_that_was_said_to_be_stored_and_was_not_does_not_hang(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)
    async with work(store, Tries(Applied())):
        await trio.sleep(1)
    assert (job.state, job.errors) == (
        "discarded",
        ["Its effect was said to be stored, and was not."],
    )


async def test_failures_are_tried_again_later_and_then_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, tries = make_store(), Tries(Unavailable("No."), ValueError("bug"), KeyError())
    job = await add_job(store)
    async with work(store, tries) as worker:
        await trio.sleep(1000)
    assert job.state == "discarded"
    assert job.errors == ["No.", "bug", "KeyError"]
    assert [at - tries.at[0] for at in tries.at] == pytest.approx([0, 2, 6], abs=0.1)
    assert [each.attempt for each in tries.jobs] == [1, 2, 3]
    assert worker.count()[0].ends == {"failed": 2, "discarded": 1}


async def test_what_another_try_cannot_help_is_given_up_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)
    async with work(store, Tries(GaveUp("There is nothing to shorten."))):
        await trio.sleep(1000)
    assert (job.state, job.attempt) == ("discarded", 1)
    assert job.errors == ["There is nothing to shorten."]


async def test_a_kind_has_its_own_delays_and_a_provider_the_last_word(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    slow_down = RateLimited("Slow.", data={"retry_at": store.now() + 100})
    tries = Tries(Unavailable("a"), Unavailable("b"), slow_down, DONE)
    await add_job(store, tries=4)
    async with work(store, tries, delays_s=(0.25, 0.5)):
        await trio.sleep(1000)
    assert tries.at == pytest.approx([0, 0.25, 0.75, 100], abs=0.1)


async def test_a_provider_cannot_put_a_job_off_for_years(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)
    async with work(store, Tries(RateLimited("Slow.", data={"retry_at": 9e12}))):
        await trio.sleep(1)
        assert job.run_at <= store.now() + LONGEST_RETRY_S


async def test_what_a_person_can_act_on_is_taken_out_of_its_wrapping(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    fault = ExceptionGroup("nursery", [ValueError("bug"), Unavailable("No answer.")])
    job = await add_job(store)
    async with work(store, Tries(fault, DONE)):
        await trio.sleep(10)
    assert job.errors == ["No answer."]


async def test_a_later_try_can_succeed(autojump_clock: trio.testing.MockClock) -> None:
    store = make_store()
    job = await add_job(store)
    async with work(store, Tries(Unavailable("No."), Effect([Titled("T")]))):
        await trio.sleep(10)
    assert (job.state, job.attempt, job.errors) == ("completed", 2, ["No."])


async def test_a_try_that_takes_too_long_has_failed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    slow = await add_job(store, tries=1)
    async with work(store, Tries(TIMEOUT_S + 1)):
        await trio.sleep(TIMEOUT_S - 1)
        assert slow.state == "running"
        await trio.sleep(2)
    assert (slow.state, slow.errors) == ("discarded", ["It took longer than 30 s."])


async def test_an_unknown_kind_is_given_up_with_a_sentence(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store, kind="dig")
    async with work(store, Tries()):
        await trio.sleep(1)
    assert job.state == "discarded"
    assert job.errors == ["This version knows no job of kind 'dig'."]


async def test_an_effect_that_the_log_refuses_is_a_failure(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store, tries=1)
    async with work(store, Tries(Effect([ConversationCreated("c")]))):
        await trio.sleep(1)
    assert job.state == "discarded"


async def test_a_full_disk_refuses_an_effect_and_the_job_is_tried_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)
    store.fail_if = lambda write: write.fulfils is not None and job.attempt == 1
    async with work(store, Tries(Effect([Titled("T")]), Effect([Titled("T")]))):
        await trio.sleep(10)
    assert (job.state, job.attempt, job.errors) == ("completed", 2, ["The disk is full."])


@pytest.mark.parametrize("outcome", [Effect([Titled("T")]), DONE])
async def test_a_conversation_that_is_deleted_takes_its_jobs_along(
    autojump_clock: trio.testing.MockClock, outcome: Outcome
) -> None:
    store, gate = make_store(), trio.Event()

    async def run(job: ClaimedJob) -> Outcome:
        await gate.wait()
        return outcome

    tries = Doing(run)
    await add_job(store)
    async with work(store, tries):
        await trio.sleep(1)
        await store.delete("c")
        gate.set()
        await trio.sleep(1)
        other = await add_job(store, "k")
        await trio.sleep(POLL_S + 1)
        assert (other.state, other.attempt) == ("completed", 1)


@pytest.mark.parametrize("outcome", [Effect([Titled("stale")]), DONE, StaleFence("Late.")])
async def test_an_attempt_that_is_no_longer_current_changes_nothing(
    autojump_clock: trio.testing.MockClock, outcome: Outcome | Exception
) -> None:
    store, gate = make_store(), trio.Event()
    job = await add_job(store)

    async def run(claimed: ClaimedJob) -> Outcome:
        await gate.wait()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    tries = Doing(run)
    async with work(store, tries) as worker:
        await trio.sleep(1)
        job.owner = "another boot"
        gate.set()
        await trio.sleep(1)
        assert worker.count()[0].ends == {"cancelled": 1}
    assert (job.state, job.errors) == ("running", [])
    assert store.rows()[0].title is None


async def test_storage_that_does_not_answer_keeps_no_daemon_from_its_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = make_store()
    job = await add_job(store)

    async def hang(*args: object, **more: object) -> None:
        await trio.sleep_forever()

    async with work(store, Tries(trio.Event())):
        await trio.sleep(1)
        store.end_job = hang  # type: ignore[method-assign]
        asked = trio.current_time()
    assert trio.current_time() - asked <= HAND_BACK_S + 0.1
    assert job.state == "running"


async def test_storage_is_asked_until_it_answers(autojump_clock: trio.testing.MockClock) -> None:
    store = make_store()
    store.failing = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(insist, store.reset_orphans)
        await trio.sleep(3 * STORAGE_PAUSE_S + 1)
        store.failing = False
    assert trio.current_time() == pytest.approx(4 * STORAGE_PAUSE_S)
