"""What a try in the background does, and the jobs of conversations in memory only."""

import pytest
import trio
import trio.testing

from askd.errors import Unauthenticated, Unavailable
from askd.sessions.chores import RETRY_S, do_compact, do_prune, hand_over
from askd.sessions.compaction import FAILED, STARTED, CompactionFailed
from askd.sessions.live import LiveSession
from askd.sessions.rules import ContextRules
from askd.sessions.triggers import make_job
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import (
    Scribe,
    changes_of,
    fill,
    find_facts,
    jobs_of,
    make_models,
    news_of,
    now,
    talk,
)
from tests.fakes.sessions import Room, Watcher, open_room, to

RULES = ContextRules(compaction_threshold=0.4, prune_threshold=0.6, summary_tokens=100)
QUIET = ContextRules(compaction=False, prune_threshold=0.6, summary_tokens=100)
ARGUMENTS = {"target": "test/small"}


async def fill_memory(room: Room, turns: int) -> LiveSession:
    """A conversation in memory only; every turn is waited for, and nothing else."""
    session: LiveSession | None = None
    for n in range(turns):
        target = None if session is None else to(session)
        accepted = await room.ask(fill(str(n), 240), target=target, ephemeral=True)
        session = accepted.session
        assert (await room.finish(accepted)).code == 0
    assert session is not None
    return session


async def compact(room: Room, session: LiveSession, *, is_last: bool) -> object:
    read_blob = room.sessions.find_store(session).read_blob
    means = room.sessions.means
    return await do_compact(session, ARGUMENTS, means=means, read_blob=read_blob, is_last=is_last)


def is_due(session: LiveSession) -> bool:
    """Asked anew each time."""
    return session.compactions.is_due


async def test_a_first_failure_leaves_it_due_and_a_last_one_has_the_view_pruned(
    autojump_clock: trio.testing.MockClock,
) -> None:
    scribe = Scribe(troubles=[[Unavailable("no answer")]] * 12)
    async with open_room(models=make_models(scribe), title="off", context=QUIET) as room:
        session = await talk(room, None, *(fill(str(n), 240) for n in range(6)))
        room.store.jobs.clear()
        with pytest.raises(CompactionFailed):
            await compact(room, session, is_last=False)
        assert is_due(session)
        assert jobs_of(room) == []
        with pytest.raises(CompactionFailed):
            await compact(room, session, is_last=True)
        assert not is_due(session)
        assert jobs_of(room) == [("prune", "available")]
        assert await do_prune(session, ARGUMENTS, means=room.sessions.means)


async def test_what_was_asked_for_is_not_pruned_instead() -> None:
    scribe = Scribe(troubles=[[Unauthenticated("no")]])
    async with open_room(models=make_models(scribe), title="off", context=QUIET) as room:
        session = await talk(room, None, *(fill(str(n), 240) for n in range(6)))
        room.store.jobs.clear()
        with pytest.raises(CompactionFailed):
            await do_compact(
                session,
                {"reason": "request"},
                means=room.sessions.means,
                read_blob=room.store.read_blob,
                is_last=True,
            )
        assert jobs_of(room) == []


# ---- in memory only -------------------------------------------------------------------


async def test_a_conversation_in_memory_is_compacted_too_and_has_no_job() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await fill_memory(room, 5)
        await trio.testing.wait_all_tasks_blocked()
        assert [change.kind for change in changes_of(session)] == ["compact"]
        assert room.store.jobs == {}
        assert room.store.writes == [], "nothing of it comes near the disk"
        accepted = await room.ask("go on", target=to(session), ephemeral=True)
        await room.finish(accepted)
        held = find_facts(room.models.requests[-1])
        assert set(held) == {f"FACT-{n}" for n in range(5)}


async def test_there_it_is_tried_twice_and_then_pruned(
    autojump_clock: trio.testing.MockClock,
) -> None:
    scribe = Scribe(troubles=[[Unavailable("no answer")]] * 12)
    rules = ContextRules(compaction_threshold=0.4, prune_threshold=0.4, summary_tokens=100)
    store = FakeStore(now=now)
    async with open_room(
        store=store, models=make_models(scribe), title="off", context=rules
    ) as room:
        session = await fill_memory(room, 4)
        watcher = Watcher()
        session.subscribe(watcher)
        accepted = await room.ask(fill("4", 240), target=to(session), ephemeral=True)
        await room.finish(accepted)
        await trio.sleep(30 + RETRY_S)
        assert len(scribe.asked) == 12
        assert news_of(watcher) == [("started", STARTED), ("failed", FAILED)]
        assert [change.kind for change in changes_of(session)] == ["prune"]


async def test_it_is_over_when_the_conversation_is() -> None:
    gate = trio.Event()
    scribe = Scribe(troubles=[[gate]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session = await fill_memory(room, 5)
        await trio.testing.wait_all_tasks_blocked()
        assert not session.is_idle(), "it is being summarised"
        await room.sessions.delete(session.id)
        await trio.testing.wait_all_tasks_blocked()
        gate.set()
        await trio.testing.wait_all_tasks_blocked()
        assert room.sessions.find_live(session.id) is None


async def test_a_job_that_belongs_to_no_turn_goes_where_the_conversation_is() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=QUIET) as room:
        stored = await talk(room, None, *(fill(str(n), 240) for n in range(4)))
        in_memory = await fill_memory(room, 4)
        for session in (stored, in_memory):
            job = make_job("compact", session, None, room.sessions.means, reason="request")
            await hand_over(session, job)
        await trio.testing.wait_all_tasks_blocked()
        assert [state.conversation_id for state in room.store.jobs.values()] == [stored.id]
        assert [change.reason for change in changes_of(in_memory)] == ["request"]
