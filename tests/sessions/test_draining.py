"""Before the daemon ends turns do, but for those that the next one can run again."""

import pytest
import trio
import trio.testing

from askd.core.events import TurnFinished, TurnOptions
from askd.core.recovery import MAX_ATTEMPTS
from askd.sessions.draining import INTERRUPT_WAIT_S, STOPPED
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, call_tools
from tests.fakes.sessions import Room, ends_of, open_room
from tests.sessions.approval_world import Door, call, models_that
from tests.sessions.test_driver import check_log
from tests.sessions.test_turns import Clock

DETACHED = TurnOptions(detach=True)


def held() -> ScriptedModels:
    return ScriptedModels(lambda request: ["half", trio.Event()])


async def begin(room: Room, options: TurnOptions, **more: object) -> str:
    """A turn that says half a word and then nothing."""
    accepted = await room.ask(options=options, **more)  # type: ignore[arg-type]
    await trio.sleep(1)
    return accepted.turn_id


async def test_what_somebody_watches_is_interrupted_and_what_nobody_does_is_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = FakeStore()
    async with open_room(store=store, models=held()) as room:
        attended = await begin(room, TurnOptions())
        detached = await begin(room, DETACHED)
        await room.sessions.drain(20)
        assert trio.current_time() < 25
        ends = {id: end for each in room.sessions.live() for id, end in ends_of(each).items()}
        assert set(ends) == {attended}
        assert ends[attended].message == STOPPED
    async with open_room(store=store) as room:
        await room.sessions.recover()
        session = next(each for each in room.sessions.live())
        status = await session.wait_finished(detached)
        assert status.outcome == "completed"
        assert session.conversation.turns[detached].attempt == 2
        await check_log(store, session.id)


async def test_there_is_time_to_end_by_itself(autojump_clock: trio.testing.MockClock) -> None:
    async with open_room(models=ScriptedModels(lambda request: ["a", 5.0, "b"])) as room:
        turns = [await begin(room, options) for options in (TurnOptions(), DETACHED)]
        await room.sessions.drain(20)
        for session in room.sessions.live():
            assert [end.outcome for end in ends_of(session).values()] == ["completed"]
        assert len(turns) == 2


@pytest.mark.parametrize("why", ["effects", "attempts", "ephemeral"])
async def test_what_the_next_daemon_could_not_run_is_interrupted(
    autojump_clock: trio.testing.MockClock, why: str
) -> None:
    models = held()
    if why == "effects":
        models.script = lambda request: (
            [trio.Event()] if len(models.requests) > 1 else call_tools("clock")
        )
    async with open_room(models=models, tools=[Clock(effects=True)]) as room:
        options = TurnOptions() if why == "ephemeral" else DETACHED
        turn_id = await begin(room, options, ephemeral=why == "ephemeral")
        (session,) = room.sessions.live()
        if why == "attempts":
            session.conversation.turns[turn_id].attempt = MAX_ATTEMPTS
        await room.sessions.drain(20)
        assert isinstance(ends_of(session)[turn_id], TurnFinished)
        assert ends_of(session)[turn_id].outcome == "interrupted"


async def test_who_loses_patience_ends_the_waiting_of_those_who_have_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_room(models=held()) as room:
        await begin(room, TurnOptions())
        await begin(room, DETACHED)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(room.sessions.drain, float("inf"))
            await trio.sleep(30)
            await room.sessions.drain(0)
        assert trio.current_time() < 30 + 3 + 2 * INTERRUPT_WAIT_S


async def test_a_turn_that_begins_to_wait_for_a_person_is_not_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    doors = Door()
    models = models_that([5.0, *call("door")], ["done"])
    async with open_room(models=models, tools=[doors]) as room:
        turn_id = await begin(room, TurnOptions(detach=True, approve="ask"))
        await room.sessions.drain(1000)
        assert trio.current_time() < 10
        (session,) = room.sessions.live()
        assert session.status(turn_id).state == "running"
        assert len(session.conversation.open_questions) == 1
        assert doors.opened == []
