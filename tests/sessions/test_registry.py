"""Sessions are loaded once, miss nothing while they are, and leave when nobody needs them."""

from collections.abc import Sequence

import pytest
import trio
import trio.testing

from askd.core.events import ConversationCreated, Event, Renamed
from askd.core.outcome import DONE
from askd.errors import AskdError, Busy, NotFound, RequestError, StorageFailed
from askd.sessions import registry
from askd.sessions.live import LiveSession
from askd.sessions.targets import Target, ToCreate
from askd.store.log import Write
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, texts_of
from tests.fakes.sessions import Watcher, open_room, to


async def store_one(store: FakeStore, name: str | None = "work") -> None:
    bodies = [ConversationCreated("c", name)]
    await store.append(Write(conversation_id="c", bodies=bodies, create=True))


async def test_a_conversation_is_loaded_once_however_many_ask() -> None:
    async with open_room() as room:
        await store_one(room.store)
        found: list[LiveSession] = []

        async def get() -> None:
            found.append(await room.sessions.get("c"))

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(get)
        assert len({id(session) for session in found}) == 1
        assert found[0].conversation.name == "work"
        assert room.sessions.find_live("c") is found[0]
        assert room.sessions.live() == [found[0]]


async def test_what_is_committed_while_it_loads_is_not_missed_at_any_moment() -> None:
    for moment in range(12):
        async with open_room() as room:
            await store_one(room.store)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(room.sessions.get, "c")
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                await room.store.append(Write(conversation_id="c", bodies=[Renamed("b")]))
                await room.store.append(Write(conversation_id="c", bodies=[Renamed("c")]))
            session = await room.sessions.get("c")
            assert session.conversation.name == "c"
            assert session.conversation.last_seq == 3
            assert not session.is_stale


async def test_one_who_gives_up_loading_does_not_take_the_others_along() -> None:
    async with open_room() as room:
        await store_one(room.store)
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as first:
                    first.start_soon(room.sessions.get, "c")
                    await trio.lowlevel.checkpoint()
                    nursery.start_soon(room.sessions.get, "c")
                    await trio.lowlevel.checkpoint()
                    scope.cancel()
        assert room.sessions.find_live("c") is not None


async def test_what_is_not_there_or_cannot_be_read() -> None:
    async with open_room() as room:
        with pytest.raises(NotFound, match="Conversation not found: id=x"):
            await room.sessions.get("x")
        await store_one(room.store)
        room.store.unreadable = True
        with pytest.raises(StorageFailed, match="Failed to load conversation: "):
            await room.sessions.get("c")

        async def explode(conversation_id: str) -> list[Event]:
            raise ValueError("bad bytes")

        room.store.load = explode  # type: ignore[method-assign]
        with pytest.raises(StorageFailed, match="Failed to load conversation: bad bytes"):
            await room.sessions.get("c")
        assert room.sessions.live() == []


async def test_events_of_conversations_that_nobody_has_in_memory_are_passed_over() -> None:
    async with open_room() as room:
        await store_one(room.store)
        assert room.sessions.live() == []


async def test_a_session_that_fails_on_an_event_fails_alone_and_mends(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room() as room:
        one, two = await room.ask("1"), await room.ask("2")
        await room.finish(one)
        await room.finish(two)
        observe = one.session.observe

        def fail(events: Sequence[Event]) -> None:
            one.session.observe = observe  # type: ignore[method-assign]
            raise RuntimeError("a bug")

        one.session.observe = fail  # type: ignore[method-assign]
        watcher = Watcher()
        one.session.subscribe(watcher)
        await one.session.append([Renamed("a")])
        await two.session.append([Renamed("b")])
        await trio.sleep(1)
        assert one.session.conversation.name == "a"
        assert two.session.conversation.name == "b"
        assert [event.body for event in watcher.events] == [Renamed("a")]


async def test_idle_sessions_leave_memory_and_come_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room() as room:
        idle = await room.ask("idle")
        watched = await room.ask("watched")
        kept = await room.ask("kept", ephemeral=True)
        for accepted in (idle, watched, kept):
            await room.finish(accepted)
        watcher = Watcher()
        watched.session.subscribe(watcher)
        room.models.script = lambda request: [trio.Event()]
        working = await room.ask("working")
        await trio.sleep(registry.IDLE_UNLOAD_S - 1)
        assert len(room.sessions.live()) == 4
        await trio.sleep(registry.SWEEP_S + 1)
        assert set(room.sessions.live()) == {watched.session, kept.session, working.session}
        room.models.script = lambda request: ["back"]
        again = await room.ask("again", target=to(idle.session))
        assert again.session is not idle.session
        assert (await room.finish(again)).code == DONE
        assert texts_of(room.models.requests[-1].items) == ["idle", "echo: idle", "again"]


async def test_a_first_prompt_is_answered_however_long_its_commit_takes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room() as room:
        committed = room.store.slow[ConversationCreated] = trio.Event()
        answered: list[int] = []

        async def ask() -> None:
            accepted = await room.ask("first")
            assert room.sessions.find_live(accepted.session.id) is accepted.session
            answered.append((await room.finish(accepted)).code)

        async def create() -> None:
            write = Write(conversation_id="c", bodies=[ConversationCreated("c")], create=True)
            session = await room.sessions.create(write)
            await trio.sleep(registry.SWEEP_S + 1)
            assert room.sessions.find_live("c") is session

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(create)
            await trio.sleep(registry.IDLE_UNLOAD_S + 2 * registry.SWEEP_S)
            committed.set()
        assert answered == [DONE]


async def test_ephemeral_conversations_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "EPHEMERAL_LIMIT", 2)
    async with open_room() as room:
        oldest = await room.ask("1", ephemeral=True, terminal="t")
        newer = await room.ask("2", ephemeral=True)
        for accepted in (oldest, newer):
            await room.finish(accepted)
        oldest.session.touched_at -= 1
        room.models.script = lambda request: [trio.Event()]
        await room.ask("3", ephemeral=True)
        assert oldest.session not in room.sessions.live()
        with pytest.raises(NotFound):
            await room.sessions.get(oldest.session.id)
        with pytest.raises(NotFound):
            await room.sessions.resolve(Target("terminal", "t"))
        assert await room.sessions.memory.load(oldest.session.id) == []
        await room.ask("4", ephemeral=True)
        with pytest.raises(Busy):
            await room.ask("5", ephemeral=True)
        assert len(room.sessions.live()) == 2


async def test_resolving() -> None:
    async with open_room() as room:
        await store_one(room.store)
        assert await room.sessions.resolve(Target("session", "work")) == "c"
        assert await room.sessions.resolve(Target("new")) == ToCreate(None)
        with pytest.raises(RequestError, match="is stored"):
            await room.sessions.resolve(Target("session", "work"), ephemeral=True)


async def test_deleting_ends_what_runs_and_what_waits() -> None:
    models = ScriptedModels(lambda request: [trio.Event()])
    async with open_room(models=models) as room:
        running = await room.ask("1")
        queued = await room.ask("2", target=to(running.session))
        await trio.testing.wait_all_tasks_blocked()
        ended: list[str] = []

        async def wait(turn_id: str) -> None:
            try:
                status = await running.session.wait_finished(turn_id)
                ended.append(str(status.outcome))
            except AskdError as error:
                ended.append(error.reason)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, running.turn_id)
            nursery.start_soon(wait, queued.turn_id)
            await trio.testing.wait_all_tasks_blocked()
            await room.sessions.delete(running.session.id)
        assert sorted(ended) == ["interrupted", "withdrawn"]
        assert room.sessions.live() == []
        assert room.store.rows() == []
        with pytest.raises(NotFound):
            await room.sessions.get(running.session.id)
        with pytest.raises(NotFound):
            running.session.status(running.turn_id)


async def test_who_leaves_while_one_is_deleted_leaves_no_session_without_conversation() -> None:
    for moment in range(12):
        async with open_room() as room:
            await store_one(room.store)
            await room.sessions.get("c")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(room.sessions.delete, "c")
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            is_stored = await room.store.get("c") is not None
            assert (room.sessions.find_live("c") is not None) is is_stored, moment
    assert not is_stored


async def test_recovery_goes_on_past_what_cannot_be_read(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = FakeStore()
    async with open_room(store=store, models=ScriptedModels(lambda request: [9e9])) as room:
        bad = await room.ask("bad")
        good = await room.ask("good")
        await trio.sleep(1)
    load, unfinished = store.load, store.unfinished

    async def load_some(conversation_id: str) -> list[Event]:
        if conversation_id == bad.session.id:
            raise StorageFailed("Failed to load conversation: half of it is gone")
        return await load(conversation_id)

    async def fail_once() -> list[str]:
        store.unfinished = unfinished  # type: ignore[method-assign]
        raise StorageFailed("The disk is not there yet.")

    store.load = load_some  # type: ignore[method-assign]
    store.unfinished = fail_once  # type: ignore[method-assign]
    async with open_room(store=store) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        assert session.id == good.session.id
        assert (await session.wait_finished(good.turn_id)).outcome == "interrupted"
    assert "Cannot recover yet" in caplog.text
    assert f"Cannot recover: id={bad.session.id}" in caplog.text


async def test_sessions_that_were_loaded_before_the_start_are_driven_after_it() -> None:
    async with open_room() as room:
        sessions = registry.Sessions(
            log=room.store,
            memory=room.sessions.memory,
            reader=room.store,
            means=room.sessions.means,
            encode=lambda value: b"",
        )
        room.sessions.draining = True
        room.store.observe = sessions.observe
        session = await sessions.open("c")
        room.admission._sessions = sessions
        await store_one(room.store)
        accepted = await room.ask("hi", target=to(session))
        await room.nursery.start(sessions.run)
        assert (await room.finish(accepted)).code == DONE
