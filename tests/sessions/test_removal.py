"""Old conversations go unread; what is at work, watched or just asked for stays."""

from functools import partial

import pytest
import trio
import trio.testing

from askd.errors import NotFound
from askd.sessions.removal import expire
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Watcher, open_room, to

LATER = 1e12


async def test_what_nobody_uses_goes_also_from_memory() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi")
        await accepted.session.wait_finished(accepted.turn_id)
        await trio.testing.wait_all_tasks_blocked()
        id = accepted.session.id
        assert not await expire(room.sessions, id, before_at=0.0, archive=False), "it is young"
        assert await expire(room.sessions, id, before_at=LATER, archive=True)
        assert room.store.expired == [(id, True)]
        assert room.sessions.live() == []
        with pytest.raises(NotFound):
            await room.sessions.get(id)
        assert not await expire(room.sessions, id, before_at=LATER, archive=False)


async def test_who_leaves_meanwhile_leaves_no_session_without_conversation() -> None:
    for moment in range(12):
        async with open_room() as room:
            accepted = await room.ask("hi")
            await accepted.session.wait_finished(accepted.turn_id)
            await trio.testing.wait_all_tasks_blocked()
            id = accepted.session.id
            async with trio.open_nursery() as nursery:
                nursery.start_soon(
                    partial(expire, before_at=LATER, archive=False), room.sessions, id
                )
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            is_stored = await room.store.get(id) is not None
            assert (room.sessions.find_live(id) is not None) is is_stored, moment
    assert not is_stored


async def test_what_is_not_in_memory_is_not_loaded() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi")
        await accepted.session.wait_finished(accepted.turn_id)
        await trio.testing.wait_all_tasks_blocked()
        room.sessions.discard(accepted.session)
        room.store.unreadable = True
        assert await expire(room.sessions, accepted.session.id, before_at=LATER, archive=False)


async def test_what_is_at_work_or_watched_stays() -> None:
    hold = trio.Event()
    async with open_room(models=ScriptedModels(lambda request: [hold])) as room:
        accepted = await room.ask("hi")
        session, watcher = accepted.session, Watcher()
        await trio.testing.wait_all_tasks_blocked()
        assert not await expire(room.sessions, session.id, before_at=LATER, archive=False)
        session.subscribe(watcher)
        hold.set()
        await session.wait_finished(accepted.turn_id)
        await trio.testing.wait_all_tasks_blocked()
        assert not await expire(room.sessions, session.id, before_at=LATER, archive=False)
        assert not watcher.broken_off
        session.unsubscribe(watcher)
        assert await expire(room.sessions, session.id, before_at=LATER, archive=False)


async def test_what_is_being_loaded_stays() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi")
        await accepted.session.wait_finished(accepted.turn_id)
        await trio.testing.wait_all_tasks_blocked()
        id = accepted.session.id
        room.sessions.discard(accepted.session)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(room.sessions.get, id)
            while not room.sessions.is_loading(id):
                await trio.lowlevel.checkpoint()
            assert not await expire(room.sessions, id, before_at=LATER, archive=False)
        assert room.sessions.find_live(id) is not None


async def test_who_came_while_it_went_is_told() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi")
        session, watcher = accepted.session, Watcher()
        await session.wait_finished(accepted.turn_id)
        await trio.testing.wait_all_tasks_blocked()
        expire_row = room.store.expire

        async def expire_and_be_watched(
            conversation_id: str, *, before_at: float, archive: bool
        ) -> bool:
            session.subscribe(watcher)
            return await expire_row(conversation_id, before_at=before_at, archive=archive)

        room.store.expire = expire_and_be_watched  # type: ignore[method-assign]  # in between
        assert await expire(room.sessions, session.id, before_at=LATER, archive=False)
        assert watcher.broken_off
        with pytest.raises(NotFound):
            await room.ask("more", target=to(session))
