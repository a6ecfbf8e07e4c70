"""Where a turn is: the values that its session answers with."""

import trio
import trio.testing

from askd.sessions.turn_status import TurnStatus
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import open_room, to


async def test_a_turn_is_queued_then_running_then_finished() -> None:
    gate = trio.Event()
    async with open_room(models=ScriptedModels(lambda request: [gate, "ok"]), title="off") as room:
        first = await room.ask("one")
        second = await room.ask("two", target=to(first.session))
        await trio.testing.wait_all_tasks_blocked()
        assert first.session.status(first.turn_id) == TurnStatus(first.turn_id, "running")
        assert first.session.status(second.turn_id) == TurnStatus(second.turn_id, "queued")
        gate.set()
        await room.finish(second)
        end = first.session.status(first.turn_id)
        assert end == TurnStatus(first.turn_id, "finished", "completed", 0)
