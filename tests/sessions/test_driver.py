"""The driver keeps a session going: order, crashes, storage that fails, every moment of a turn."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from askd.core.context import build_context
from askd.core.conversation import fold
from askd.core.events import ItemAdded, PromptAccepted, TurnFinished, TurnOptions, TurnStarted
from askd.core.items import AssistantMessage, Snapshot, join_text
from askd.core.outcome import DONE, FAILED, STORAGE
from askd.core.pairs import find_faults
from askd.providers.base import ModelRequest
from askd.sessions.hub import TurnUnsaved
from askd.sessions.live import LiveSession
from askd.sessions.needs import TitleMode
from askd.store.log import Write
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, call_tools, last_words, texts_of
from tests.fakes.sessions import Room, Watcher, ends_of, open_room, to
from tests.sessions.test_turns import Clock

MOMENTS = 200
"""More than any turn of these tests has; a sweep ends when nothing is left to disturb."""


def with_a_tool(request: ModelRequest) -> Iterable[Step]:
    """One call, then an answer that takes several moments."""
    if any(isinstance(item, AssistantMessage) and item.calls for item in request.items):
        return ["it ", "is ", "noon, ", last_words(request)]
    return ["wait... ", *call_tools("clock")]


async def pass_moments(count: int) -> None:
    """Let everyone else do `count` steps."""
    for _ in range(count):
        await trio.lowlevel.checkpoint()


async def check_log(store: FakeStore, conversation_id: str) -> None:
    """Every turn that was accepted ended exactly once, and nothing is unpaired."""
    events = await store.load(conversation_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    ends = [event.body.turn_id for event in events if isinstance(event.body, TurnFinished)]
    accepted = [event.body.turn_id for event in events if isinstance(event.body, PromptAccepted)]
    assert sorted(ends) == sorted(accepted)
    conversation = fold(conversation_id, events)
    assert build_context(conversation, None, system=None).faults == ()
    items = [added.item for record in conversation.turns.values() for added in record.items]
    # A snapshot is taken between calls and their outputs; no model is told of it.
    assert find_faults([each for each in items if not isinstance(each, Snapshot)]) == []


# ---- order ---------------------------------------------------------------------------


async def test_twenty_prompts_at_once_are_accepted_at_once_and_answered_in_order() -> None:
    gate = trio.Event()
    models = ScriptedModels(lambda request: [gate, f"answer to {last_words(request)}"])
    async with open_room(models=models) as room:
        first = await room.ask("0")
        session = first.session
        turns = {}

        async def ask(number: int) -> None:
            accepted = await room.ask(str(number), target=to(session))
            turns[accepted.turn_id] = (number, accepted.position)

        async with trio.open_nursery() as nursery:
            for number in range(1, 21):
                nursery.start_soon(ask, number)
        assert session.status(first.turn_id).state == "running"
        order = list(session.conversation.turns)[1:]
        assert [turns[turn][1] for turn in order] == list(range(1, 21))
        gate.set()
        for turn in turns:
            await session.wait_finished(turn)
        assert session.conversation.started == [first.turn_id, *order]
        for turn in order:
            (added,) = session.conversation.turns[turn].items
            assert isinstance(added.item, AssistantMessage)
            assert join_text(added.item.parts) == f"answer to {turns[turn][0]}"
        last = texts_of(models.requests[-1].items)
        assert last[:-1:2] == ["0", *(str(turns[turn][0]) for turn in order[:-1])]
        await check_log(room.store, session.id)


async def test_a_queued_prompt_can_be_withdrawn_and_the_rest_goes_on() -> None:
    gate = trio.Event()
    async with open_room(models=ScriptedModels(lambda request: [gate, "ok"])) as room:
        one = await room.ask("1")
        two = await room.ask("2", target=to(one.session))
        three = await room.ask("3", target=to(one.session))
        status = await one.session.withdraw(two.turn_id)
        assert (status.state, status.outcome, status.code) == ("finished", "withdrawn", FAILED)
        gate.set()
        assert (await room.finish(three)).code == DONE
        assert len(room.models.requests) == 2
        assert (await one.session.withdraw(three.turn_id)).outcome == "completed"
        await check_log(room.store, one.session.id)


async def test_withdrawing_races_with_starting_at_every_moment() -> None:
    outcomes = set()
    for moment in range(MOMENTS):
        async with open_room() as room:
            accepted = await room.ask()
            await pass_moments(moment)
            status = await accepted.session.withdraw(accepted.turn_id)
            end = await room.finish(accepted)
            assert (end.outcome == "withdrawn") == (len(room.models.requests) == 0)
            assert (end.outcome == "withdrawn") == (status.outcome == "withdrawn")
            outcomes.add(end.outcome)
            await check_log(room.store, accepted.session.id)
        if status.outcome == "completed":
            break
    assert outcomes == {"withdrawn", "completed"}


# ---- every moment of a turn ------------------------------------------------------------


async def test_an_interrupt_at_any_moment_leaves_one_end_and_no_faults() -> None:
    outcomes = set()
    for moment in range(MOMENTS):
        async with open_room(models=ScriptedModels(with_a_tool), tools=[Clock()]) as room:
            accepted = await room.ask("please")
            session = accepted.session
            await pass_moments(moment)
            over = session.status(accepted.turn_id).state == "finished"
            await session.interrupt(accepted.turn_id, "the sweep")
            end = await room.finish(accepted)
            outcomes.add(end.outcome)
            again = await room.ask("again", target=to(session))
            assert (await room.finish(again)).code == DONE
            await check_log(room.store, session.id)
            assert room.models.rejected == []
            assert session.texts.snapshot() == []
        if over:
            break
    assert outcomes == {"withdrawn", "interrupted", "completed"}


async def test_who_subscribes_at_any_moment_sees_the_text_exactly_once() -> None:
    for moment in range(MOMENTS):
        async with open_room(models=ScriptedModels(with_a_tool), tools=[Clock()]) as room:
            accepted = await room.ask("please")
            session = accepted.session
            await pass_moments(moment)
            watcher = Watcher()
            snapshot = session.snapshot(0)
            assert snapshot is not None
            session.subscribe(watcher)
            over = session.status(accepted.turn_id).state == "finished"
            await room.finish(accepted)
            seen: dict[tuple[str, str], str] = {
                (text.item_id, text.kind): text.text for text in snapshot.live
            }
            for delta in watcher.deltas:
                key = (delta.item_id, delta.kind)
                assert delta.offset == len(seen.get(key, "")), "twice, or missing"
                seen[key] = seen.get(key, "") + delta.text
            already = {
                event.body.item.id for event in snapshot.events if isinstance(event.body, ItemAdded)
            }
            for added in session.conversation.turns[accepted.turn_id].items:
                if isinstance(added.item, AssistantMessage):
                    text = seen.get((added.item.id, "text"))
                    whole = join_text(added.item.parts)
                    assert text == (None if added.item.id in already else whole)
            seqs = [event.seq for event in (*snapshot.events, *watcher.events)]
            assert seqs == list(range(1, len(seqs) + 1))
        if over:
            break
    else:
        pytest.fail("the sweep did not come to the end of the turn")


@pytest.mark.parametrize("detach", [False, True])
async def test_a_kill_at_any_moment_loses_nothing_that_was_accepted(detach: bool) -> None:
    ends = set()
    for moment in range(MOMENTS):
        store = FakeStore()
        models = ScriptedModels(with_a_tool)
        reached_the_end = False
        async with open_room(store=store, models=models, tools=[Clock()]) as room:

            async def talk(room: Room = room) -> None:
                options = TurnOptions(detach=detach)
                one = await room.ask("one", key="k1", options=options)
                two = await room.ask("two", key="k2", target=to(one.session), options=options)
                await room.finish(two)
                nonlocal reached_the_end
                reached_the_end = True

            room.nursery.start_soon(talk)
            await pass_moments(moment)
        async with open_room(store=store, models=models, tools=[Clock()]) as room:
            await room.sessions.recover()
            one = await room.ask("one", key="k1")
            two = await room.ask("two", key="k2", target=to(one.session))
            assert two.session is one.session
            for accepted in (one, two):
                end = await room.finish(accepted)
                ends.add(end.outcome)
                assert end.outcome == "completed" or not detach, (moment, end, models.rejected)
            await check_log(store, one.session.id)
            assert len(one.session.conversation.turns) == 2
            assert models.rejected == []
        if reached_the_end:
            break
    else:
        pytest.fail("the sweep did not come to the end of the talk")
    assert ends == ({"completed"} if detach else {"completed", "interrupted"})


# ---- crashes ---------------------------------------------------------------------------


def crash_on(store: FakeStore, text: str) -> Callable[[Write], bool]:
    """A bug that shows when an item with this text is stored."""

    def fail(write: Write) -> bool:
        for body in write.bodies:
            if isinstance(body, ItemAdded) and text in repr(body.item):
                raise RuntimeError("a bug")
        return False

    return fail


async def test_a_crash_inside_a_turn_closes_it_and_the_session_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_room(models=ScriptedModels(with_a_tool), tools=[Clock()]) as room:
        room.store.fail_if = crash_on(room.store, "noon, crash")
        bad = await room.ask("crash")
        watcher = Watcher()
        bad.session.subscribe(watcher)
        good = await room.ask("fine", target=to(bad.session))
        assert (await room.finish(good)).code == DONE
        end = ends_of(bad.session)[bad.turn_id]
        assert (end.outcome, end.code, end.reason) == ("failed", FAILED, "internal")
        # What a bug says may hold a key: the log hides it, and nobody else is told.
        assert end.message == "Something went wrong inside askd (RuntimeError); its log says more."
        assert end in [event.body for event in watcher.events]
        assert "Turn crashed" in caplog.text
        assert room.models.rejected == []
        await check_log(room.store, bad.session.id)


async def test_a_crash_between_call_and_output_leaves_no_call_unanswered() -> None:
    async with open_room(models=ScriptedModels(with_a_tool), tools=[Clock()]) as room:
        room.store.fail_if = crash_on(room.store, "text='noon'")
        bad = await room.ask("crash")
        assert (await room.finish(bad)).reason == "internal"
        await check_log(room.store, bad.session.id)


async def test_a_crash_of_which_even_the_end_crashes_does_not_stop_the_session() -> None:
    async with open_room() as room:
        bug = crash_on(room.store, "echo: bad")

        def fail(write: Write) -> bool:
            if any(isinstance(body, TurnFinished) and body.code for body in write.bodies):
                raise RuntimeError("another bug")
            return bug(write)

        room.store.fail_if = fail
        bad = await room.ask("bad")
        good = await room.ask("good", target=to(bad.session))
        assert (await bad.session.wait_finished(bad.turn_id)).outcome == "failed"
        assert (await room.finish(good)).code == DONE
        room.store.fail_if = lambda write: False
        await room.finish(await room.ask("more", target=to(bad.session)))
        await check_log(room.store, bad.session.id)


async def test_a_crash_while_storage_fails_is_told_and_stored_later(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room() as room:
        bug = crash_on(room.store, "echo")

        def fail(write: Write) -> bool:
            try:
                return bug(write)
            except RuntimeError:
                room.store.failing = True
                raise

        room.store.fail_if = fail
        accepted = await room.ask()
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        status = await accepted.session.wait_finished(accepted.turn_id)
        assert status.outcome == "failed"
        await trio.sleep(1)
        assert [v.outcome for v in watcher.values if isinstance(v, TurnUnsaved)] == ["failed"]
        assert ends_of(accepted.session) == {}
        room.store.failing = False
        await trio.sleep(10)
        assert ends_of(accepted.session)[accepted.turn_id].reason == "internal"
        assert accepted.session.closing == {}


# ---- storage ---------------------------------------------------------------------------


@asynccontextmanager
async def unsaved_turn(title: TitleMode = "off") -> AsyncIterator[tuple[Room, LiveSession, str]]:
    """A turn that was accepted, answered, and could not be stored."""
    async with open_room(title=title) as room:
        accepted = await room.ask("first")
        room.store.failing = True
        await accepted.session.wait_finished(accepted.turn_id)
        yield room, accepted.session, accepted.turn_id


async def test_an_unsaved_turn_is_closed_as_soon_as_storage_allows_and_never_run_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with unsaved_turn() as (room, session, turn_id):
        await trio.sleep(60)
        assert ends_of(session) == {}
        assert session.state == "idle"
        room.store.failing = False
        await trio.sleep(10)
        end = ends_of(session)[turn_id]
        assert (end.outcome, end.code, end.reason) == ("interrupted", STORAGE, "storage_failed")
        assert end.message == "Failed to save turn: The disk is full."
        await trio.sleep(100)
        assert len(room.models.requests) == 1
        assert session.closing == {}
        await check_log(room.store, session.id)


async def test_an_unsaved_turn_does_not_stand_in_the_way_of_the_next_prompt(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with unsaved_turn() as (room, session, turn_id):
        room.store.fail_if = lambda write: any(
            isinstance(body, TurnFinished) and body.turn_id == turn_id for body in write.bodies
        )
        room.store.failing = False
        accepted = await room.ask("second", target=to(session))
        assert accepted.position == 0
        assert (await room.finish(accepted)).code == DONE
        assert turn_id not in ends_of(session)
        room.store.fail_if = lambda write: False
        await trio.sleep(10)
        assert turn_id in ends_of(session)
        await check_log(room.store, session.id)


async def test_an_unsaved_turn_has_no_title_to_give_and_the_next_one_finds_its_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with unsaved_turn(title="first-words") as (room, session, _):
        before = session.conversation.title
        room.store.failing = False
        await room.finish(await room.ask("second", target=to(session)))
        assert (before, session.conversation.title) == (None, "first")
        await check_log(room.store, session.id)


async def test_prompts_that_waited_while_storage_failed_are_answered_all_the_same() -> None:
    gate = trio.Event()
    models = ScriptedModels(lambda request: [gate, "ok"])
    async with open_room(models=models) as room:
        one = await room.ask("1")
        two = await room.ask("2", target=to(one.session))
        watcher = Watcher()
        one.session.subscribe(watcher)
        room.store.failing = True
        gate.set()
        for accepted in (one, two):
            assert (await one.session.wait_finished(accepted.turn_id)).code == STORAGE
        assert "".join(delta.text for delta in watcher.deltas) == "okok"


async def test_a_commit_that_was_reported_as_failed_is_found_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The disk says no, and keeps it all the same: the next event shows that one is missing."""
    async with open_room() as room:
        accepted = await room.ask("one")
        await room.finish(accepted)
        session = accepted.session
        watcher = Watcher()
        session.subscribe(watcher)
        room.store.observe = lambda events: None
        await session.append([TurnStarted("ghost", 1)])
        room.store.observe = room.sessions.observe
        second = await room.ask("two", target=to(session))
        await room.finish(second)
        seqs = [event.seq for event in watcher.events]
        assert seqs == list(range(seqs[0], session.conversation.last_seq + 1))
        assert isinstance(watcher.events[0].body, TurnStarted)


# ---- after a restart ---------------------------------------------------------------------


async def crash_with(
    script: Callable[[ModelRequest], Iterable[Step]], **more: object
) -> tuple[FakeStore, str]:
    """A store in which a daemon died in the middle of a turn."""
    store = FakeStore()
    async with open_room(store=store, models=ScriptedModels(script)) as room:
        accepted = await room.ask("hi", key="k", **more)  # type: ignore[arg-type]
        await trio.sleep(1)
        return store, accepted.turn_id
    raise AssertionError


async def test_after_a_crash_a_turn_is_interrupted_with_the_text_so_far(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, turn_id = await crash_with(lambda request: ["half", 6000.0])
    async with open_room(store=store) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        assert (await session.wait_finished(turn_id)).outcome == "interrupted"
        (added,) = session.conversation.turns[turn_id].items
        assert added.status == "interrupted"
        assert isinstance(added.item, AssistantMessage)
        assert join_text(added.item.parts) == "half"
        assert room.models.requests == []


async def test_after_a_crash_a_detached_turn_is_run_once_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store, turn_id = await crash_with(
        lambda request: ["half", 6000.0], options=TurnOptions(detach=True)
    )
    async with open_room(store=store) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        assert (await session.wait_finished(turn_id)).outcome == "completed"
        record = session.conversation.turns[turn_id]
        assert record.attempt == 2
        assert [added.status for added in record.items] == ["superseded", "complete"]
        assert texts_of(room.models.requests[0].items) == ["hi"]


async def crash_before_the_start(**more: object) -> FakeStore:
    """A store in which a daemon died before an accepted turn had started."""
    store = FakeStore()
    models = ScriptedModels(lambda request: [trio.Event()], key_needed="KEY")
    async with open_room(store=store, models=models, turns=1) as room:
        await room.ask("in the way", key="other", secrets={"KEY": "s"})
        await trio.testing.wait_all_tasks_blocked()
        await room.ask("hi", key="k", secrets={"KEY": "s"})
        await trio.testing.wait_all_tasks_blocked()
    return store


async def test_a_turn_with_its_callers_key_waits_for_the_caller_to_come_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = await crash_before_the_start()
    async with open_room(store=store, models=ScriptedModels(key_needed="KEY")) as room:
        await room.sessions.recover()
        await trio.sleep(50)
        assert room.models.requests == []
        accepted = await room.ask("hi", key="k", secrets={"KEY": "again"})
        assert (await room.finish(accepted)).code == DONE
        assert trio.current_time() < 55
        assert room.models.callers[0].secrets == {"KEY": "again"}
        assert accepted.session.callers == {}


async def test_a_caller_who_does_not_come_back_leaves_it_to_the_daemons_own_key(
    autojump_clock: trio.testing.MockClock,
) -> None:
    for own_key in (True, False):
        store = await crash_before_the_start()
        models = ScriptedModels(key_needed=None if own_key else "KEY")
        async with open_room(store=store, models=models) as room:
            await room.sessions.recover()
            begun = trio.current_time()
            accepted = await room.ask("hi", key="k")
            end = await room.finish(accepted)
            assert 59 < trio.current_time() - begun < 62
            assert end.code == (DONE if own_key else 4)


async def test_a_turn_that_waits_for_its_caller_can_be_withdrawn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = await crash_before_the_start()
    async with open_room(store=store, models=ScriptedModels(key_needed="KEY")) as room:
        accepted = await room.ask("hi", key="k")
        status = await accepted.session.interrupt(accepted.turn_id, "a test")
        assert status.outcome == "withdrawn"


async def test_recovery_waits_for_storage(autojump_clock: trio.testing.MockClock) -> None:
    store, turn_id = await crash_with(lambda request: ["half", 6000.0])
    async with open_room(store=store) as room:
        store.failing = True
        await room.sessions.recover()
        (session,) = room.sessions.live()
        await trio.sleep(30)
        assert session.status(turn_id).state == "running"
        store.failing = False
        assert (await session.wait_finished(turn_id)).outcome == "interrupted"


async def test_draining_starts_nothing_and_lets_what_runs_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    models = ScriptedModels(lambda request: [float(last_words(request)), "done"])
    async with open_room(models=models) as room:
        quick = await room.ask("5")
        queued = await room.ask("1", target=to(quick.session))
        slow = await room.ask("500")
        await trio.sleep(1)
        await room.sessions.drain(20)
        assert 20 < trio.current_time() < 25
        assert ends_of(quick.session)[quick.turn_id].outcome == "completed"
        assert quick.session.status(queued.turn_id).state == "queued"
        end = ends_of(slow.session)[slow.turn_id]
        assert (end.outcome, end.code) == ("interrupted", FAILED)
    async with open_room(store=room.store) as room:
        await room.sessions.recover()
        session = room.sessions.find_live(quick.session.id)
        assert session is not None
        assert (await session.wait_finished(queued.turn_id)).outcome == "completed"
