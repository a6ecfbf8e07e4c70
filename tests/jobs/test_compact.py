"""The job that compacts: claimed, tried twice, its effect and its end one write."""

import pytest
import trio
import trio.testing

from askd.core.events import ViewChanged
from askd.errors import Unauthenticated, Unavailable
from askd.jobs.base import GaveUp, NothingToDo
from askd.jobs.compact import CompactJob
from askd.sessions.compaction import FAILED, STARTED
from askd.sessions.rules import ContextRules
from askd.store.log import ClaimedJob, Fence
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import (
    Scribe,
    at_work,
    changes_of,
    fill,
    find_facts,
    jobs_of,
    make_models,
    news_of,
    now,
    settle,
    talk,
)
from tests.fakes.sessions import Watcher, open_room

RULES = ContextRules(compaction_threshold=0.4, prune_threshold=0.4, summary_tokens=100)
TURNS = [fill(str(n), 240) for n in range(4)]


def claimed(conversation_id: str | None, job_id: str = "j") -> ClaimedJob:
    return ClaimedJob(
        fence=Fence(job_id, "boot-1", 1),
        kind="compact",
        conversation_id=conversation_id,
        arguments={},
        attempt=1,
        max_attempts=2,
    )


async def test_past_the_threshold_the_view_is_compacted_by_itself() -> None:
    async with (
        open_room(models=make_models(Scribe()), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, *TURNS)
        await settle(room, worker)
        assert jobs_of(room) == [("compact", "completed")]
        (change,) = changes_of(session)
        assert (change.kind, change.reason) == ("compact", "threshold")
        (write,) = [each for each in room.store.writes if each.fulfils is not None]
        assert [type(body) for body in write.bodies] == [ViewChanged], "effect and end are one"
        await talk(room, session, "go on")
        assert set(find_facts(room.models.requests[-1])) == {f"FACT-{n}" for n in range(4)}


async def test_a_conversation_that_is_not_in_memory_is_loaded_for_it() -> None:
    store = FakeStore(now=now)
    async with open_room(
        store=store, models=make_models(Scribe()), title="off", context=RULES
    ) as room:
        session = await talk(room, None, *TURNS)
        conversation_id = session.id
    # The daemon ended before anybody had taken the job; another one finds it.
    async with (
        open_room(store=store, models=make_models(Scribe()), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        await settle(room, worker)
        assert jobs_of(room) == [("compact", "completed")]
        session = await room.sessions.get(conversation_id)
        assert session.conversation.view.basis is not None


async def test_a_provider_that_fails_is_tried_twice_and_then_the_view_is_pruned(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = FakeStore(now=now)
    scribe = Scribe(troubles=[[Unavailable("no answer")]] * 12)
    async with (
        open_room(store=store, models=make_models(scribe), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, *TURNS[:3])
        watcher = Watcher()
        session.subscribe(watcher)
        await talk(room, session, TURNS[3])
        await settle(room, worker)
        assert jobs_of(room) == [("compact", "discarded"), ("prune", "completed")]
        assert len(scribe.asked) == 12
        assert news_of(watcher) == [("started", STARTED), ("failed", FAILED)]
        assert [change.kind for change in changes_of(session)] == ["prune"]


async def test_the_second_try_may_do_it(autojump_clock: trio.testing.MockClock) -> None:
    store = FakeStore(now=now)
    scribe = Scribe(troubles=[[Unavailable("no answer")]] * 6)
    async with (
        open_room(store=store, models=make_models(scribe), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, *TURNS)
        await settle(room, worker)
        assert [change.kind for change in changes_of(session)] == ["compact"]
        (job,) = room.store.jobs.values()
        assert (job.state, job.attempt) == ("completed", 2)


async def test_where_another_try_cannot_help_there_is_none() -> None:
    scribe = Scribe(troubles=[[Unauthenticated("The key was refused.")]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session = await talk(room, None, *TURNS)
        with pytest.raises(GaveUp, match="refused"):
            await CompactJob(room.sessions).run(claimed(session.id))


@pytest.mark.parametrize("conversation_id", [None, "no-such-conversation"])
async def test_without_a_conversation_there_is_nothing_to_do(conversation_id: str | None) -> None:
    async with open_room(title="off") as room:
        outcome = await CompactJob(room.sessions).run(claimed(conversation_id))
        assert outcome == NothingToDo()


async def test_a_job_that_was_cancelled_meanwhile_has_no_effect() -> None:
    gate = trio.Event()
    scribe = Scribe(troubles=[[gate, "too late"]])
    async with (
        open_room(models=make_models(scribe), title="off", context=RULES) as room,
        at_work(room) as worker,
    ):
        session = await talk(room, None, *TURNS)
        await trio.testing.wait_all_tasks_blocked()
        (job,) = room.store.jobs.values()
        assert job.state == "running"
        await room.store.cancel_job(job.job.id)
        gate.set()
        await settle(room, worker)
        await trio.testing.wait_all_tasks_blocked()
        assert changes_of(session) == []
        assert not session.compactions.is_due
        assert jobs_of(room) == [("compact", "cancelled")]
