"""A fork is one write: a whole conversation, with its own life and the source's past."""

import pytest

from askd.core.events import CompletionFinished, ConversationCreated, ItemAdded, Renamed
from askd.core.items import Blob, Text
from askd.core.outcome import DONE
from askd.errors import NotFound, RequestError, StorageFailed
from askd.sessions.forks import fork
from askd.sessions.live import LiveSession
from askd.sessions.targets import Target
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, texts_of
from tests.fakes.sessions import Room, open_room, to


async def begin(room: Room, *texts: str, ephemeral: bool = False) -> LiveSession:
    accepted = await room.ask(texts[0], ephemeral=ephemeral)
    await room.finish(accepted)
    for text in texts[1:]:
        await room.finish(await room.ask(text, target=to(accepted.session)))
    return accepted.session


async def test_a_fork_goes_its_own_way() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "one", "two")
        before = source.conversation.last_seq
        made = await fork(room.sessions, source.id, name="other", terminal="tty9")
        assert (made.conversation.name, made.conversation.forked_from) == ("other", source.id)
        assert made.state == "idle"
        await room.finish(await room.ask("three", target=to(made)))
        await room.finish(await room.ask("four", target=to(source)))
        assert texts_of(room.models.requests[2].items)[-1] == "three"
        assert texts_of(room.models.requests[2].items)[:-1] == [
            "one",
            "echo: one",
            "two",
            "echo: two",
        ]
        assert "three" not in texts_of(room.models.requests[3].items)
        assert source.conversation.last_seq > before
        assert await room.sessions.resolve(Target("terminal", "tty9")) == made.id
        assert room.models.rejected == []


async def test_it_is_one_write_of_which_nothing_else_follows() -> None:
    clock = [1000.0]
    store = FakeStore(now=lambda: clock[0])
    async with open_room(store=store, title="first-words") as room:
        source = await begin(room, "one")
        clock[0] = 2000.0
        writes = len(room.store.writes)
        made = await fork(room.sessions, source.id)
        (write,) = room.store.writes[writes:]
        assert (write.create, write.key, list(write.jobs)) == (True, None, [])
        assert isinstance(write.bodies[0], ConversationCreated)
        assert any(isinstance(body, CompletionFinished) for body in write.bodies)
        assert write.times is not None
        assert (write.times[0], set(write.times[1:])) == (2000.0, {1000.0})
        stored = await room.store.load(made.id)
        assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
        row = await room.store.get(made.id)
        assert row == made.row()
        assert (row.created_at, row.updated_at) == (2000.0, 2000.0), "it is new, its past is not"


async def test_as_it_was_at_an_event() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "one", "two")
        end = next(e.seq for e in await room.store.load(source.id) if e.type == "turn_finished")
        made = await fork(room.sessions, source.id, at_seq=end)
        assert len(made.conversation.turns) == 1
        for seq in (0, -1, source.conversation.last_seq + 1):
            with pytest.raises(RequestError, match=f"no event {seq}"):
                await fork(room.sessions, source.id, at_seq=seq)


async def test_a_running_turn_stays_where_it_is() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "one")
        room.models.script = lambda request: ["half", 3600.0]
        running = await room.ask("two", target=to(source))
        queued = await room.ask("three", target=to(source))
        made = await fork(room.sessions, source.id)
        assert len(made.conversation.turns) == 1
        assert (made.state, made.queue) == ("idle", [])
        assert source.status(running.turn_id).state != "finished"
        assert source.status(queued.turn_id).state == "queued"


async def test_what_is_in_memory_only_stays_there() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "secret", ephemeral=True)
        made = await fork(room.sessions, source.id, terminal="tty9")
        assert made.ephemeral
        assert room.store.rows() == []
        assert (await room.finish(await room.ask("go on", target=to(made)))).code == DONE
        assert texts_of(room.models.requests[-1].items)[0] == "secret"
        assert await room.sessions.resolve(Target("terminal", "tty9")) == made.id


async def test_large_content_goes_along() -> None:
    async with open_room(title="off", models=ScriptedModels(window=400_000)) as room:
        text = "long " * 60_000
        source = await begin(room, text)
        made = await fork(room.sessions, source.id)
        (record,) = made.conversation.turns.values()
        assert isinstance(record.prompt.items[0].parts[0], Blob)
        await room.sessions.delete(source.id)
        assert (await room.finish(await room.ask("go on", target=to(made)))).code == DONE
        assert len(room.models.requests) == 2
        assert room.models.requests[-1].items[0].parts == (Text(text),)  # type: ignore[union-attr]


async def test_nothing_is_left_of_a_fork_that_cannot_be() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "one")
        await source.append([Renamed("work")])
        live = len(room.sessions.live())
        with pytest.raises(RequestError, match="work"):
            await fork(room.sessions, source.id, name="work")
        with pytest.raises(RequestError):
            await fork(room.sessions, source.id, name="-bad")
        with pytest.raises(NotFound):
            await fork(room.sessions, "nobody")
        room.store.failing = True
        with pytest.raises(StorageFailed):
            await fork(room.sessions, source.id)
        assert len(room.sessions.live()) == live
        assert len(room.store.rows()) == 1


async def test_an_empty_conversation_can_be_forked() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "one")
        made = await fork(room.sessions, source.id, at_seq=1)
        assert made.conversation.message_count == 0
        assert not any(isinstance(e.body, ItemAdded) for e in await room.store.load(made.id))


async def test_a_source_that_is_deleted_meanwhile_is_not_found() -> None:
    async with open_room(title="off") as room:
        source = await begin(room, "one")
        await room.store.delete(source.id)
        with pytest.raises(NotFound):
            await fork(room.sessions, source.id)
