"""The door: changes of a view come one after the other, and each is decided on what is there."""

import itertools

import pytest
import trio
import trio.testing

from askd.core.conversation import Conversation
from askd.core.events import ViewChanged
from askd.errors import Busy, NotFound, StaleFence, StorageFailed
from askd.sessions.live import LiveSession
from askd.sessions.views import Make, change_view
from askd.store.log import Fence
from tests.fakes.log import FakeStore
from tests.fakes.long_talks import changes_of, talk
from tests.fakes.sessions import Room, open_room

NUMBERS = itertools.count(1)


def clear_of(conversation: Conversation) -> ViewChanged:
    return ViewChanged(f"v{next(NUMBERS)}", "clear", through_turn=conversation.started[-1])


def planned_for(basis: str | None) -> Make:
    """A change that was planned for a view, and comes too late for another."""
    return lambda conversation: clear_of(conversation) if conversation.view.basis == basis else None


async def begin(room: Room) -> LiveSession:
    return await talk(room, None, "hi", "there")


async def test_what_is_decided_is_committed_and_seen() -> None:
    async with open_room(title="off") as room:
        session = await begin(room)
        change = await change_view(session, clear_of)
        assert change is not None
        assert session.conversation.view.basis == change.id
        assert changes_of(session) == [change]
        assert await change_view(session, lambda conversation: None) is None
        assert changes_of(session) == [change]


async def test_of_two_plans_for_one_view_the_second_comes_too_late() -> None:
    store = FakeStore()
    async with open_room(store=store, title="off") as room:
        session = await begin(room)
        store.slow[ViewChanged] = trio.Event()
        found: list[ViewChanged | None] = []

        async def change() -> None:
            found.append(await change_view(session, planned_for(None)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            nursery.start_soon(change)
            await trio.testing.wait_all_tasks_blocked()
            assert found == [], "the second does not look before the first is committed"
            store.slow[ViewChanged].set()
        assert [each is None for each in found].count(True) == 1
        assert len(changes_of(session)) == 1


async def test_whoever_is_cancelled_while_it_is_committed_leaves_the_door_in_order() -> None:
    store = FakeStore()
    async with open_room(store=store, title="off") as room:
        session = await begin(room)
        gate = store.slow[ViewChanged] = trio.Event()

        async def open_later() -> None:
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
            await trio.testing.wait_all_tasks_blocked()
            assert session.viewing.locked()
            gate.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_later)
            with trio.CancelScope() as scope:
                await change_view(session, planned_for(None))
        assert len(changes_of(session)) == 1
        assert await change_view(session, planned_for(None)) is None


async def test_what_cannot_be_stored_changes_nothing() -> None:
    store = FakeStore()
    async with open_room(store=store, title="off") as room:
        session = await begin(room)
        store.fail_if = lambda write: any(isinstance(b, ViewChanged) for b in write.bodies)
        with pytest.raises(StorageFailed):
            await change_view(session, clear_of)
        assert session.conversation.view.basis is None
        store.fail_if = lambda write: False
        assert await change_view(session, planned_for(None)) is not None


async def test_a_job_that_is_another_s_by_now_changes_nothing() -> None:
    async with open_room(title="off") as room:
        session = await begin(room)
        with pytest.raises(StaleFence):
            await change_view(session, clear_of, fulfils=Fence("gone", "boot-0", 1))
        assert changes_of(session) == []


async def test_nothing_is_decided_on_what_is_not_known_whole() -> None:
    async with open_room(title="off") as room:
        session = await begin(room)
        session.make_stale()
        with pytest.raises(Busy, match="read anew"):
            await change_view(session, clear_of)
        await session.wait_known("")
        assert await change_view(session, clear_of) is not None


async def test_of_a_conversation_that_was_deleted_there_is_no_view() -> None:
    async with open_room(title="off") as room:
        session = await begin(room)
        await room.sessions.delete(session.id)
        with pytest.raises(NotFound):
            await change_view(session, clear_of)
