"""A notification is owed with the event that causes it, once, and by whoever ends the turn."""

from dataclasses import replace

import pytest

from askd.core.events import QuestionAsked, TurnFinished, TurnOptions
from askd.errors import RequestError
from askd.sessions.notifying import NOTIFY_KIND, wants_notice
from askd.store.log import NewJob, Write
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Room, open_room, to

NOTIFY = TurnOptions(notify=True)
ASKED = QuestionAsked("t", "t.q1", "approval", "d", {"text": "?"}, 1e12)


def find_owed(room: Room) -> list[NewJob]:
    return [each.job for each in room.store.jobs.values() if each.job.kind == NOTIFY_KIND]


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("setting", [False, True])
@pytest.mark.parametrize("notify", [None, False, True])
def test_who_says_it(detach: bool, setting: bool, notify: bool | None) -> None:
    options = TurnOptions(detach=detach, notify=notify)
    expected = notify if notify is not None else (detach and setting)
    assert wants_notice(options, setting) is expected


async def test_an_end_owes_one_in_the_write_of_the_end() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=NOTIFY)
        await room.finish(accepted)
        (job,) = find_owed(room)
        assert job.arguments == {
            "conversation_id": accepted.session.id,
            "about_turn": accepted.turn_id,
        }
        assert job.max_attempts == 1
        (write,) = [each for each in room.store.writes if job in each.jobs]
        assert any(isinstance(body, TurnFinished) for body in write.bodies)


async def test_a_turn_that_said_nothing_owes_none() -> None:
    async with open_room() as room:
        for options in (TurnOptions(), TurnOptions(detach=True), TurnOptions(notify=False)):
            await room.finish(await room.ask("hi", options=options))
        assert find_owed(room) == []


async def test_each_question_owes_one_and_the_end_another() -> None:
    async with open_room(models=ScriptedModels(lambda request: iter(()))) as room:
        accepted = await room.ask("hi", options=NOTIFY)
        await room.finish(accepted)
        before = len(find_owed(room))
        turn_id = accepted.turn_id
        questions = [
            replace(ASKED, turn_id=turn_id, question_id=f"{turn_id}.q{number}") for number in (1, 2)
        ]
        await accepted.session.append(questions)
        new = find_owed(room)[before:]
        assert [each.arguments["question_id"] for each in new] == [
            each.question_id for each in questions
        ]
        assert len({each.unique_key for each in find_owed(room)}) == len(find_owed(room))


async def test_what_a_person_ended_owes_none() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=NOTIFY)
        await room.finish(accepted)
        before = len(find_owed(room))
        for end in (
            TurnFinished(accepted.turn_id, "withdrawn", 1),
            TurnFinished(accepted.turn_id, "interrupted", 1, message="Interrupted by me."),
        ):
            await accepted.session.append([end])
        assert len(find_owed(room)) == before


async def test_copies_of_elsewhere_owe_none() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi", options=NOTIFY)
        await room.finish(accepted)
        before = len(find_owed(room))
        end = TurnFinished(accepted.turn_id, "completed", 0)
        log = room.sessions.log
        await log.append(Write(conversation_id=accepted.session.id, bodies=[end], times=[1.0]))
        unknown = TurnFinished("nobody's", "completed", 0)
        await log.append(Write(conversation_id=accepted.session.id, bodies=[unknown]))
        assert len(find_owed(room)) == before


async def test_the_other_orders_reach_the_log() -> None:
    async with open_room() as room:
        accepted = await room.ask("hi")
        await room.finish(accepted)
        await room.sessions.log.mend_search()
        assert room.store.mended == 1
        await room.sessions.log.delete(accepted.session.id)
        assert await room.store.load(accepted.session.id) == []


async def test_what_is_to_leave_no_trace_cannot_notify() -> None:
    async with open_room() as room:
        with pytest.raises(RequestError, match="ephemeral"):
            await room.ask("hi", options=NOTIFY, ephemeral=True)
        accepted = await room.ask("hi", ephemeral=True)
        await room.finish(await room.ask("again", target=to(accepted.session)))
        with pytest.raises(RequestError, match="ephemeral"):
            await room.ask("hi", options=NOTIFY, target=to(accepted.session))
