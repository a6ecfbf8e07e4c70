"""A turn that is a job is ended and asked anew through its conversation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from askd.core.events import TurnOptions
from askd.core.items import PART_LIMIT_BYTES
from askd.core.outcome import FAILED
from askd.errors import AskdError, NotFound, RequestError
from askd.jobs.desk import Steering
from askd.jobs.turn import steer_turns
from askd.providers.base import Caller
from askd.sessions.prompts import Accepted
from askd.store.jobs.queries import JobRow
from askd.store.log import TURN_KIND
from tests.fakes.models import ScriptedModels, texts_of
from tests.fakes.sessions import Room, ends_of, open_room, to

NOBODY = Caller()


@asynccontextmanager
async def open_orders(models: ScriptedModels | None = None) -> AsyncIterator[tuple[Room, Steering]]:
    async with open_room(models=models) as room:
        steering = steer_turns(room.sessions, room.admission, new_id=room.ids)
        yield room, steering[TURN_KIND]


async def leave(room: Room, text: str = "hello", **more: object) -> Accepted:
    """A detached prompt."""
    accepted = await room.ask(text, options=TurnOptions(detach=True), **more)  # type: ignore[arg-type]
    assert accepted.job_id == accepted.turn_id
    return accepted


async def find(room: Room, accepted: Accepted) -> JobRow:
    assert accepted.job_id is not None
    (row,) = await room.store.find_jobs([accepted.job_id])
    return row


async def test_a_running_turn_is_interrupted_and_the_order_answered_when_it_has_ended() -> None:
    async with open_orders(ScriptedModels(lambda request: ["half", trio.Event()])) as (room, turns):
        accepted = await leave(room)
        await trio.testing.wait_all_tasks_blocked()
        await turns.cancel(await find(room, accepted))
        row = await find(room, accepted)
        assert (row.state, row.code) == ("cancelled", FAILED)
        assert ends_of(accepted.session)[accepted.turn_id].message == (
            "Interrupted by ask jobs cancel."
        )
        await turns.cancel(row)  # it stays as it is
        assert await find(room, accepted) == row


async def test_a_queued_turn_is_withdrawn() -> None:
    async with open_orders(ScriptedModels(lambda request: [trio.Event()])) as (room, turns):
        first = await leave(room)
        second = await leave(room, target=to(first.session))
        await turns.cancel(await find(room, second))
        assert second.session.status(second.turn_id).outcome == "withdrawn"
        assert (await find(room, second)).state == "cancelled"
        assert first.session.status(first.turn_id).state == "running"


async def test_tried_again_the_same_prompt_is_another_turn_of_the_conversation() -> None:
    models = ScriptedModels(
        lambda request: [RuntimeError("no")] if len(models.requests) < 2 else "y"
    )
    async with open_orders(models) as (room, turns):
        text = "x" * (PART_LIMIT_BYTES + 10)
        models.window = 10**9
        accepted = await leave(room, text, cwd="/there", cwd_id="1:2")
        await room.finish(accepted)
        assert (await find(room, accepted)).state == "discarded"
        lent = Caller(env={"LANG": "C"}, secrets={"KEY": "k"})
        again = await turns.retry(await find(room, accepted), lent)
        assert again != accepted.turn_id
        status = await accepted.session.wait_finished(again)
        assert status.outcome == "completed"
        assert texts_of(models.requests[-1].items)[-1] == text
        assert models.callers[-1] == lent
        prompt = accepted.session.conversation.turns[again].prompt
        assert (prompt.cwd, prompt.cwd_id) == ("/there", "1:2")
        (row,) = await room.store.find_jobs([again])
        assert (row.state, row.conversation_id) == ("completed", accepted.session.id)


@pytest.mark.parametrize("over", [False, True])
async def test_what_runs_or_went_well_is_not_tried_again(over: bool) -> None:
    gate = trio.Event()
    async with open_orders(ScriptedModels(lambda request: [gate])) as (room, turns):
        accepted = await leave(room)
        if over:
            gate.set()
            await room.finish(accepted)
        with pytest.raises(RequestError, match="cannot be tried again") as caught:
            await turns.retry(await find(room, accepted), NOBODY)
        assert caught.value.reason == "wrong_job_state"
        assert len(accepted.session.conversation.turns) == 1


async def test_a_retry_that_cannot_be_accepted_says_why_and_leaves_nothing() -> None:
    models = ScriptedModels(lambda request: [RuntimeError("no")])
    async with open_orders(models) as (room, turns):
        accepted = await leave(room)
        await room.finish(accepted)
        models.key_needed = "KEY"
        with pytest.raises(AskdError, match="No key"):
            await turns.retry(await find(room, accepted), NOBODY)
        assert len(accepted.session.conversation.turns) == 1


async def test_the_job_of_a_conversation_that_is_gone() -> None:
    async with open_orders(ScriptedModels(lambda request: [RuntimeError("no")])) as (room, turns):
        accepted = await leave(room)
        await room.finish(accepted)
        row = await find(room, accepted)
        await room.sessions.delete(accepted.session.id)
        for order in (turns.cancel(row), turns.retry(row, NOBODY)):
            with pytest.raises(NotFound):
                await order
