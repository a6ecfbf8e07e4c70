"""A slot's prompt is accepted once, under its own key; somebody hears of one that never is."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from askd.core.notifications import Notification
from askd.core.schedules import Fire, make_key
from askd.errors import AskdError, NotConfigured, NotFound, StaleFence
from askd.jobs.base import GaveUp
from askd.jobs.firing import ConversationGone, make_tell, send_now, send_slot, tell_nobody
from tests.fakes.schedules import Straight, keep_time, make_prompt, make_schedule

NOW = 1_800_000_000.0
SLOT = NOW + 60.0
FIRE = Fire(SLOT, 2)


async def test_a_slot_is_sent_once_whoever_tries(autojump_clock: MockClock) -> None:
    async with keep_time(Straight(lambda: NOW)) as room:
        schedule = make_schedule()
        await room.table.add(schedule)
        accepted = await send_slot(room.admission, schedule, FIRE)
        assert accepted.job_id == accepted.turn_id, "it is a job"
        again = await send_slot(room.admission, schedule, FIRE)
        assert again.turn_id == accepted.turn_id
        (row,) = await room.table.list_slots(schedule.id, limit=9)
    assert (row.slot, row.skipped, row.turn_id) == (SLOT, 2, accepted.turn_id)
    assert room.count_prompts() == {make_key(schedule.id, SLOT): 1}


async def test_many_at_once_are_one(autojump_clock: MockClock) -> None:
    async with keep_time(Straight(lambda: NOW)) as room:
        schedule = make_schedule()
        await room.table.add(schedule)
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(send_slot, room.admission, schedule, FIRE)
    assert set(room.count_prompts().values()) == {1}


async def test_by_hand_it_is_a_prompt_of_its_own(autojump_clock: MockClock) -> None:
    async with keep_time(Straight(lambda: NOW)) as room:
        schedule = make_schedule()
        await room.table.add(schedule)
        for key in ("one", "two", "two"):
            await send_now(room.admission, schedule, key)
        rows = await room.table.list_slots(schedule.id, limit=9)
        handled = await room.table.find_handled(schedule.id, now=SLOT + 1)
    assert [each.slot for each in rows] == [None, None]
    assert handled == NOW, "no slot was used up by it"


async def test_what_is_paused_handled_or_gone_is_not_sent(autojump_clock: MockClock) -> None:
    async with keep_time(Straight(lambda: NOW)) as room:
        schedule = make_schedule()
        with pytest.raises(NotFound):
            await send_slot(room.admission, schedule, FIRE)
        await room.table.add(schedule)
        await room.table.pause(schedule.id)
        with pytest.raises(StaleFence):
            await send_slot(room.admission, schedule, FIRE)
        gone = replace(schedule, conversation_id="00000000-gone")
        with pytest.raises(ConversationGone):
            await send_now(room.admission, gone, "k")
        with pytest.raises(ConversationGone):
            await send_now(room.admission, replace(schedule, session="deadbeef"), "k")
    assert room.count_prompts() == {}


async def test_an_ephemeral_conversation_is_no_place_for_it(autojump_clock: MockClock) -> None:
    async with keep_time(Straight(lambda: NOW)) as room:
        await room.sessions.open("e" * 8, ephemeral=True)
        schedule = make_schedule(conversation_id="e" * 8)
        await room.table.add(schedule)
        with pytest.raises(AskdError, match="ephemeral"):
            await send_now(room.admission, schedule, "k")


@pytest.mark.parametrize(
    ("notify", "setting", "tells"),
    [(True, False, True), (False, True, False), (None, True, True), (None, False, False)],
)
async def test_who_wants_to_hear_of_it_does(
    notify: bool | None, setting: bool, tells: bool
) -> None:
    told: list[Notification] = []

    async def send(notification: Notification) -> None:
        await trio.lowlevel.checkpoint()
        told.append(notification)

    schedule = make_schedule(prompt=make_prompt("Good morning.", notify=notify), session=None)
    await make_tell(send, lambda: setting)(schedule, NotConfigured("There is no key."))
    assert bool(told) is tells
    for each in told:
        assert (each.event, each.code, each.title) == ("schedule_refused", 4, "ask: Good morning.")
        assert each.body == "Not sent: There is no key.\nSee what it did: ask schedule list"


async def test_nobody_to_tell_is_no_fault() -> None:
    async def send(notification: Notification) -> None:
        await trio.lowlevel.checkpoint()
        raise GaveUp("There is nothing to notify with.")

    schedule = make_schedule(prompt=make_prompt(notify=True))
    await make_tell(send, lambda: True)(schedule, NotConfigured("No."))
    await tell_nobody(schedule, NotConfigured("No."))
