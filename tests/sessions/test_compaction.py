"""A compaction from its plan to the view, and what people hear of it."""

import logging
from collections.abc import Iterable

import pytest
import trio
import trio.testing

from askd.core.compaction import PREFIX
from askd.core.events import ItemPinned, ViewChanged
from askd.core.items import Summary, UserMessage
from askd.errors import NotFound, RateLimited, Unauthenticated, Unavailable
from askd.providers.base import Caller
from askd.sessions.compaction import (
    FAILED,
    NOT_SMALLER,
    NOTHING,
    OUTRUN,
    STARTED,
    STOPPED,
    TIME_LIMIT_S,
    CompactionFailed,
    Wish,
    compact,
)
from askd.sessions.compactions import Settled
from askd.sessions.live import LiveSession
from askd.sessions.rules import ContextRules
from askd.sessions.shrinking import clear, prune
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import (
    Scribe,
    changes_of,
    fill,
    find_facts,
    make_models,
    news_of,
    now,
    talk,
)
from tests.fakes.models import ScriptedModels, Step
from tests.fakes.sessions import Room, Watcher, open_room, to

RULES = ContextRules(compaction=False, user_tokens=300, summary_tokens=100)
"""Nothing happens by itself here."""
WISH = Wish(reason="request")


async def begin(room: Room, turns: int = 6, tokens: int = 200) -> tuple[LiveSession, Watcher]:
    """A conversation with a fact a turn, and somebody who watches."""
    session = await talk(room, None, *(fill(str(n), tokens) for n in range(turns)))
    watcher = Watcher()
    session.subscribe(watcher)
    return session, watcher


async def run(room: Room, session: LiveSession, wish: Wish = WISH) -> ViewChanged | None:
    return await compact(session, wish, means=room.sessions.means, read_blob=room.store.read_blob)


async def test_old_turns_leave_and_their_facts_stay() -> None:
    scribe = Scribe()
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, watcher = await begin(room)
        change = await run(room, session)
        assert change is not None
        assert (change.kind, change.reason, change.model) == ("compact", "request", "test/small")
        assert change.usage is not None
        assert change.tokens_before is not None
        assert change.tokens_after is not None
        assert change.tokens_after <= 0.8 * change.tokens_before
        finished = f"Compacted: {change.tokens_before} -> {change.tokens_after} tokens."
        assert news_of(watcher) == [("started", STARTED), ("finished", finished)]
        await talk(room, session, "and now?")
        request = room.models.requests[-1]
        assert set(find_facts(request)) == {f"FACT-{n}" for n in range(6)}
        kinds = [type(item) for item in request.items]
        assert kinds.count(Summary) == 1
        summary = next(item for item in request.items if isinstance(item, Summary))
        assert summary.text.startswith(f"{PREFIX}\nThey said: FACT-0 FACT-1 FACT-2")
        # Users' own messages that are kept stand before the summary; no message is said twice.
        ids = [item.id for item in request.items]
        assert len(ids) == len(set(ids))
        assert all(isinstance(i, UserMessage) for i in request.items[: kinds.index(Summary)])


@pytest.mark.parametrize("turns", [1, 4])
async def test_a_short_conversation_is_left_alone_and_nobody_hears_of_it(turns: int) -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session, watcher = await begin(room, turns=turns, tokens=8)
        ending = session.compactions.listen()
        assert await run(room, session) is None
        assert await ending.wait() == Settled(state="idle", text=NOTHING)
        assert len(room.models.requests) == turns, "no model was asked for a summary"
        assert news_of(watcher) == []
        assert changes_of(session) == []


async def test_turns_made_meanwhile_stay_as_they_were_said() -> None:
    gate = trio.Event()
    scribe = Scribe(troubles=[[gate, "the summary"]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, _ = await begin(room)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, room, session)
            await trio.testing.wait_all_tasks_blocked()
            await talk(room, session, "FACT-new one", "FACT-new two")
            gate.set()
        (change,) = changes_of(session)
        assert change.up_to_seq is not None
        assert change.up_to_seq < session.conversation.last_seq
        await talk(room, session, "go on")
        said = [
            item.parts[0].text  # type: ignore[union-attr]
            for item in room.models.requests[-1].items
            if isinstance(item, UserMessage)
        ]
        assert said[-3:] == ["FACT-new one", "FACT-new two", "go on"]


async def test_a_running_completion_is_not_disturbed() -> None:
    gate = trio.Event()
    scribe = Scribe()
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, _ = await begin(room)
        room.models.script = lambda request: [gate, "ok"] if not scribe.asked else scribe(request)
        turn = await room.ask("a long one", target=to(session))
        await trio.testing.wait_all_tasks_blocked()
        room.models.script = scribe
        assert await run(room, session) is not None
        gate.set()
        assert (await room.finish(turn)).code == 0
        assert len(room.models.requests[-2].items) == 13, "as it was sent before"


async def test_pinned_messages_stay() -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session, _ = await begin(room)
        first = session.conversation.turns[session.conversation.started[0]].prompt.items[0]
        await session.append([ItemPinned(first.id)])
        assert await run(room, session) is not None
        await talk(room, session, "go on")
        assert room.models.requests[-1].items[0] == first


async def test_another_model_can_summarise() -> None:
    rules = ContextRules(compaction=False, model="test/large", summary_tokens=100)
    async with open_room(models=make_models(Scribe()), title="off", context=rules) as room:
        session, _ = await begin(room)
        change = await run(room, session)
        assert change is not None
        assert change.model == "test/large"
        assert room.models.requests[-1].model == "large"
        await talk(room, session, *(fill(f"x{n}", 200) for n in range(4)))
        change = await run(room, session, Wish(reason="request", writer="test/small"))
        assert change is not None
        assert change.model == "test/small"


async def test_it_is_asked_for_with_what_the_last_caller_lent() -> None:
    models = make_models(Scribe(), key_needed="KEY")
    async with open_room(models=models, title="off", context=RULES) as room:
        lent = {"KEY": "secret"}
        first = await room.ask(fill("0", 200), secrets=lent)
        await room.finish(first)
        for n in range(1, 6):
            prompt = await room.ask(fill(str(n), 200), target=to(first.session), secrets=lent)
            await room.finish(prompt)
        assert first.session.callers == {}
        assert await run(room, first.session) is not None
        assert models.callers[-1] == Caller(env={}, secrets=lent)


# ---- what changes meanwhile -----------------------------------------------------------


async def test_a_view_that_was_cleared_meanwhile_is_not_brought_back() -> None:
    gate = trio.Event()
    scribe = Scribe(troubles=[[gate, "the summary of what was cleared"]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, watcher = await begin(room)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, room, session)
            await trio.testing.wait_all_tasks_blocked()
            await clear(session, new_id=room.ids)
            gate.set()
        assert [change.kind for change in changes_of(session)] == ["clear"]
        assert news_of(watcher) == [("started", STARTED), ("finished", NOTHING)]
        assert not session.compactions.is_due


async def test_a_view_that_was_pruned_meanwhile_is_planned_once_more() -> None:
    gate = trio.Event()
    scribe = Scribe(troubles=[[gate, "late"]])
    rules = ContextRules(compaction=False, compaction_threshold=0.5, summary_tokens=100)
    async with open_room(models=make_models(scribe), title="off", context=rules) as room:
        session, _ = await begin(room, turns=7, tokens=265)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, room, session)
            await trio.testing.wait_all_tasks_blocked()
            model = await room.models.resolve(None, Caller())
            assert await prune(session, model, means=room.sessions.means, reason="test")
            gate.set()
        assert [change.kind for change in changes_of(session)] == ["prune", "compact"]
        assert "late" not in (changes_of(session)[-1].summary or Summary("", "")).text
        assert len(scribe.asked) == 2


async def test_it_is_given_up_quietly_when_it_is_outrun_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room(models=make_models(Scribe()), title="off", context=RULES) as room:
        session, watcher = await begin(room, turns=9, tokens=200)

        def play(request: object) -> Iterable[Step]:
            # While it is written, somebody takes a step in the same place.
            nursery.start_soon(outrun)
            return [1.0, "too late"]

        async def outrun() -> None:
            await session.append(
                [ViewChanged(room.ids(), "clear", through_turn=session.conversation.started[0])]
            )

        room.models.script = play
        async with trio.open_nursery() as nursery:
            assert await run(room, session) is None
        assert news_of(watcher)[-1] == ("finished", OUTRUN)


# ---- what goes wrong ------------------------------------------------------------------


async def test_a_provider_that_fails_leaves_all_as_it_was(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    scribe = Scribe(troubles=[[Unavailable("no answer")]] * 6)
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, watcher = await begin(room)
        before = session.conversation.last_seq
        ending = session.compactions.listen()
        with (
            caplog.at_level(logging.WARNING),
            pytest.raises(CompactionFailed, match="no answer") as failed,
        ):
            await run(room, session)
        assert failed.value.helps
        assert FAILED == "Compression failed, conversation may hit limits soon"
        assert FAILED in caplog.text
        assert session.conversation.last_seq == before
        assert news_of(watcher) == [("started", STARTED), ("failed", FAILED)]
        settled = await ending.wait()
        assert (settled.state, settled.text, settled.why) == ("failed", FAILED, "no answer")
        assert not session.compactions.is_due
        await talk(room, session, "all the same")


async def test_one_that_will_be_tried_again_is_announced_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    scribe = Scribe(troubles=[[RateLimited("later", data={"retry_at": 10.0**10})]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, watcher = await begin(room)
        with pytest.raises(CompactionFailed):
            await run(room, session, Wish(reason="threshold", is_last=False))
        assert news_of(watcher) == [("started", STARTED)]
        assert await run(room, session) is not None
        assert [state for state, _ in news_of(watcher)] == ["started", "finished"]


@pytest.mark.parametrize("is_last", [True, False])
async def test_what_another_try_cannot_help_is_over_at_once(is_last: bool) -> None:
    scribe = Scribe(troubles=[[Unauthenticated("The key was refused.")]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, watcher = await begin(room)
        with pytest.raises(CompactionFailed, match="refused") as failed:
            await run(room, session, Wish(reason="threshold", is_last=is_last))
        assert not failed.value.helps
        assert news_of(watcher)[-1] == ("failed", FAILED)


async def test_a_result_that_is_not_a_fifth_smaller_is_refused() -> None:
    rules = ContextRules(compaction=False, user_tokens=20, summary_tokens=500)
    scribe = Scribe(troubles=[["blah blah " * 700]])
    async with open_room(models=make_models(scribe), title="off", context=rules) as room:
        session, watcher = await begin(room)
        with pytest.raises(CompactionFailed, match="at least 20 %") as failed:
            await run(room, session)
        assert (failed.value.helps, failed.value.message) == (False, NOT_SMALLER)
        assert changes_of(session) == []
        assert news_of(watcher)[-1] == ("failed", FAILED)


async def test_all_of_it_has_five_minutes(autojump_clock: trio.testing.MockClock) -> None:
    scribe = Scribe(troubles=[[1e6]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, _ = await begin(room)
        began = trio.current_time()
        with pytest.raises(CompactionFailed, match="longer than 300 s"):
            await run(room, session)
        assert trio.current_time() - began == TIME_LIMIT_S


async def test_one_that_is_stopped_says_so() -> None:
    scribe = Scribe(troubles=[[trio.Event()]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, watcher = await begin(room)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, room, session)
            await trio.testing.wait_all_tasks_blocked()
            assert session.compactions.is_due
            nursery.cancel_scope.cancel()
        assert news_of(watcher)[-1] == ("finished", STOPPED)
        assert not session.compactions.is_due


async def test_a_conversation_that_is_deleted_meanwhile() -> None:
    gate = trio.Event()
    scribe = Scribe(troubles=[[gate, "for nobody"]])
    async with open_room(models=make_models(scribe), title="off", context=RULES) as room:
        session, _ = await begin(room)

        async def fail() -> None:
            with pytest.raises(NotFound):
                await run(room, session)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            await trio.testing.wait_all_tasks_blocked()
            await room.sessions.delete(session.id)
            gate.set()


async def test_a_change_that_cannot_be_stored_may_be_tried_again() -> None:
    store = FakeStore(now=now)
    models: ScriptedModels = make_models(Scribe())
    async with open_room(store=store, models=models, title="off", context=RULES) as room:
        session, _ = await begin(room)
        store.fail_if = lambda write: any(isinstance(b, ViewChanged) for b in write.bodies)
        with pytest.raises(CompactionFailed, match="full") as failed:
            await run(room, session)
        assert failed.value.helps
        store.fail_if = lambda write: False
        assert await run(room, session) is not None
