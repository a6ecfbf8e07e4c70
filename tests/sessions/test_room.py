"""Room before a request: waited for, pruned, decided on; in that order, and each once."""

from collections.abc import Iterable

import pytest
import trio
import trio.testing

from askd.core.events import TurnOptions, ViewChanged
from askd.core.items import Summary
from askd.core.outcome import DONE, OVERFLOW, Usage
from askd.core.overflow import CLEARING, CONTINUING, HOPELESS, SUMMARIZING
from askd.errors import Unauthenticated, Unavailable
from askd.providers.base import ModelRequest
from askd.sessions.budget import size_request
from askd.sessions.compaction import STARTED, Wish, compact
from askd.sessions.hub import Progress
from askd.sessions.live import LiveSession
from askd.sessions.room import WAIT_S
from askd.sessions.rules import ContextRules
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import (
    Scribe,
    at_work,
    changes_of,
    fill,
    find_facts,
    is_summary_request,
    make_models,
    now,
    settle,
    talk,
)
from tests.fakes.models import Step
from tests.fakes.sessions import Room, Watcher, ends_of, open_room, to

RULES = ContextRules(compaction=False, summary_tokens=100, user_tokens=200)
"""Requests of 2,000 tokens fit; nothing is compacted by itself."""
KEEPING = ContextRules(compaction=False, summary_tokens=100, user_tokens=200, min_turns=100)
"""Nor can anything be pruned."""


async def fill_up(room: Room, turns: int = 7) -> LiveSession:
    """A conversation that nearly fills the window: the next long prompt does not fit."""
    return await talk(room, None, *(fill(str(n), 240) for n in range(turns)))


async def ask(
    room: Room, session: LiveSession, text: str = "", *, options: TurnOptions | None = None
) -> tuple[int, str | None]:
    """A long prompt that does not fit: how its turn ended."""
    end = await room.finish(
        await room.ask(text or fill("last", 300), target=to(session), options=options)
    )
    return end.code, end.message


def said_in(watcher: Watcher) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in watcher.values if isinstance(each, Progress)]


def watch(session: LiveSession) -> Watcher:
    watcher = Watcher()
    session.subscribe(watcher)
    return watcher


def size_of(room: Room, request: ModelRequest) -> int:
    return room.sessions.means.rates.estimate("test/small", size_request(request))


async def test_what_fits_is_sent_and_nothing_is_said() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session = await fill_up(room, 5)
        watcher = watch(session)
        assert await ask(room, session) == (DONE, None)
        assert said_in(watcher) == []
        assert changes_of(session) == []


async def test_what_does_not_fit_is_pruned_first() -> None:
    async with open_room(
        models=make_models(Scribe()), title="off", context=RULES, overflow="ask"
    ) as room:
        session = await fill_up(room)
        assert await ask(room, session) == (DONE, None)
        assert [(c.kind, c.reason) for c in changes_of(session)] == [("prune", "room")]
        assert len(room.models.requests) == 8
        assert size_of(room, room.models.requests[-1]) <= 2000
        assert "FACT-last" in find_facts(room.models.requests[-1])


async def test_a_compaction_under_way_is_waited_for_visibly(
    autojump_clock: trio.testing.MockClock,
) -> None:
    scribe = Scribe(troubles=[[5.0, "They said FACT-all"]])
    async with open_room(
        models=make_models(scribe), title="off", context=RULES, overflow="ask"
    ) as room:
        session = await fill_up(room)
        watcher = watch(session)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_compaction, room, session)
            await trio.testing.wait_all_tasks_blocked()
            assert await ask(room, session) == (DONE, None)
        assert [change.kind for change in changes_of(session)] == ["compact"]
        assert ("waiting", STARTED) in said_in(watcher)
        assert "FACT-all" in find_facts(room.models.requests[-1])


async def run_compaction(room: Room, session: LiveSession) -> None:
    wish = Wish(reason="threshold")
    await compact(session, wish, means=room.sessions.means, read_blob=room.store.read_blob)


async def test_it_is_not_waited_for_longer_than_half_a_minute(
    autojump_clock: trio.testing.MockClock,
) -> None:
    scribe = Scribe(troubles=[[100.0, "late"]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session = await fill_up(room)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_compaction, room, session)
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            assert await ask(room, session) == (DONE, None)
            assert trio.current_time() - began == pytest.approx(WAIT_S)
            assert [change.kind for change in changes_of(session)] == ["prune"]
        assert [change.kind for change in changes_of(session)] == ["prune", "compact"]
        assert "late" not in str(changes_of(session)[-1].summary)


async def test_what_cannot_be_pruned_is_compacted_at_once() -> None:
    scribe = Scribe()
    async with open_room(
        models=make_models(scribe), title="off", context=KEEPING, overflow="compact"
    ) as room:
        session = await fill_up(room)
        watcher = watch(session)
        assert await ask(room, session) == (DONE, None)
        (change,) = changes_of(session)
        assert (change.kind, change.reason) == ("compact", "overflow")
        assert said_in(watcher) == [("overflow", SUMMARIZING)]
        held = find_facts(room.models.requests[-1])
        assert {"FACT-0", "FACT-6", "FACT-last"} <= set(held)
        # The turn has had its one: none follows at its end.
        assert session.compactions.may_begin("another", room.store.now() + 61)


@pytest.mark.parametrize("trouble", [Unavailable("no answer"), Unauthenticated("no key")])
async def test_a_second_failure_ends_the_turn(
    autojump_clock: trio.testing.MockClock, trouble: Step
) -> None:
    scribe = Scribe(troubles=[[trouble]] * 6)
    async with open_room(
        models=make_models(scribe), title="off", context=KEEPING, overflow="compact"
    ) as room:
        session = await fill_up(room)
        code, message = await ask(room, session)
        assert code == OVERFLOW
        assert message is not None
        assert message.startswith(HOPELESS)
        assert HOPELESS == "Cannot compact: history too large even after truncation"
        assert changes_of(session) == []
        # It can be said again, when the provider is back.
        scribe.troubles.clear()
        assert await ask(room, session) == (DONE, None)


async def test_a_summary_that_is_of_no_use_ends_the_turn() -> None:
    scribe = Scribe(troubles=[["blah blah blah " * 600]])
    async with open_room(
        models=make_models(scribe), title="off", context=KEEPING, overflow="compact"
    ) as room:
        session = await fill_up(room)
        code, message = await ask(room, session)
        assert (code, (message or "").startswith(HOPELESS)) == (OVERFLOW, True)
        assert len(scribe.asked) == 1


async def test_a_reset_leaves_the_prompt_and_a_word_about_it() -> None:
    async with open_room(
        models=make_models(Scribe()), title="off", context=KEEPING, overflow="reset"
    ) as room:
        session = await fill_up(room)
        watcher = watch(session)
        assert await ask(room, session) == (DONE, None)
        assert [change.kind for change in changes_of(session)] == ["clear"]
        first, second = room.models.requests[-1].items
        assert isinstance(first, Summary)
        assert "was cleared" in first.text
        assert find_facts(room.models.requests[-1]) == ["FACT-last"]
        assert second.id.endswith(".0")
        assert said_in(watcher) == [("overflow", CLEARING)]


async def test_it_can_be_sent_as_it_is() -> None:
    async with open_room(
        models=make_models(Scribe()), title="off", context=KEEPING, overflow="continue"
    ) as room:
        session = await fill_up(room)
        watcher = watch(session)
        assert await ask(room, session) == (DONE, None)
        assert [text for _, text in said_in(watcher)] == [CONTINUING]
        assert changes_of(session) == []
        assert size_of(room, room.models.requests[-1]) > 2000


async def test_where_a_person_has_to_decide_and_none_is_there_the_turn_ends() -> None:
    async with open_room(
        models=make_models(Scribe()), title="off", context=KEEPING, overflow="ask"
    ) as room:
        session = await fill_up(room)
        code, message = await ask(room, session)
        assert code == OVERFLOW
        assert "nobody to ask" in (message or "")


async def test_storage_that_fails_changes_no_view() -> None:
    store = FakeStore(now=now)
    async with open_room(
        store=store, models=make_models(Scribe()), title="off", context=RULES
    ) as room:
        session = await fill_up(room)
        store.fail_if = lambda write: any(isinstance(b, ViewChanged) for b in write.bodies)
        turn = await room.ask(fill("last", 300), target=to(session))
        await session.wait_finished(turn.turn_id)
        assert ends_of(session)[turn.turn_id].outcome == "failed"
        assert changes_of(session) == []
        store.fail_if = lambda write: False
        assert await ask(room, session) == (DONE, None)


async def test_a_server_that_always_reports_a_full_window_is_asked_thrice_a_turn_at_most(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def play(request: ModelRequest) -> Iterable[Step]:
        return ["They said this and that."] if is_summary_request(request) else ["ok"]

    store = FakeStore(now=now)
    models = make_models(play, window=8000, reserved=1000, usage=Usage(8000, 10))
    async with (
        open_room(store=store, models=models, title="off") as room,
        at_work(room) as worker,
    ):
        session: LiveSession | None = None
        before = 0
        for n in range(40):
            session = await talk(room, session, fill(str(n), 300))
            await settle(room, worker)
            asked, before = len(models.requests) - before, len(models.requests)
            assert asked <= 3, f"turn {n}: {asked} requests"
            await trio.sleep(61 if n % 3 == 0 else 1)
        assert session is not None
        assert any(change.kind == "compact" for change in changes_of(session))
