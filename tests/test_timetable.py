"""The timetable: what is ordered at the desk is sent by the clock, by the time of the machine."""

import time
from collections.abc import Sequence

import trio

from askd.core.events import Event
from askd.core.notifications import Notification
from askd.jobs.schedule_desk import Wanted
from askd.timetable import Timetable
from tests.fakes.schedules import Straight, keep_time, make_prompt

LIMIT_S = 10.0


async def send(told: Notification) -> None:
    raise AssertionError("nobody is to be told")


async def test_what_is_ordered_is_sent() -> None:
    store, sent = Straight(time.time), trio.Event()
    async with keep_time(store) as room, trio.open_nursery() as nursery:
        timetable = Timetable(
            room.table, sessions=room.sessions, admission=room.admission, send=send
        )
        observe = store.observe

        def look(events: Sequence[Event]) -> None:
            observe(events)
            sent.set()

        store.observe = look
        nursery.start_soon(timetable.run)
        # `cronsim` takes a field of seconds before the five; nobody has to wait for a minute.
        wanted = Wanted(cron="* * * * * *", zone="UTC", prompt=make_prompt(), session="work")
        sight, warning = await timetable.desk.add(wanted)
        assert warning is None
        assert await timetable.count_enabled() == 1
        with trio.fail_after(LIMIT_S):
            await sent.wait()
        await timetable.desk.pause(sight.schedule.id)
        assert await timetable.count_enabled() == 0
        nursery.cancel_scope.cancel()
    assert set(store.count_prompts().values()) == {1}
