"""The clock of schedules: each slot is sent once, in time, whatever the wall clock does."""

from datetime import UTC, datetime

import pytest
import trio
from trio.testing import MockClock

from askd.core.events import PromptAccepted
from askd.core.schedules import MISSED_LIMIT, WAITING_LIMIT, After, make_key
from askd.errors import StorageFailed
from askd.jobs.cron import read_cron
from askd.jobs.schedule import CLOCK_LOOK_S, RETRY_S, STORAGE_PAUSE_S
from askd.store.schedules.queries import SlotRow
from askd.store.schedules.rows import DELETED
from askd.store.schedules.table import Standing
from tests.fakes.models import ScriptedModels
from tests.fakes.schedules import Straight, Timekeeping, keep_time, make_prompt, make_schedule

START = datetime(2026, 11, 22, 12, 0, 30, tzinfo=UTC).timestamp()
"""Half a minute past the hour."""
YEARS_S = 3653 * 86_400.0
ID = "s" * 8


class Wall:
    """A wall clock that goes with trio's, and can be set."""

    def __init__(self) -> None:
        self.set_by = 0.0
        self.reads = 0

    def __call__(self) -> float:
        self.reads += 1
        return START + trio.current_time() + self.set_by


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def store(wall: Wall) -> Straight:
    return Straight(wall)


async def add(room: Timekeeping, **fields: object) -> None:
    """A schedule of every minute, if nothing else is said."""
    await room.table.add(make_schedule(ID, **fields))
    room.clock.bell.ring()


async def rows(room: Timekeeping) -> list[SlotRow]:
    """What was done, the first first."""
    return (await room.table.list_slots(ID, limit=1000))[::-1]


async def sent(room: Timekeeping) -> list[str]:
    """For which slots prompts were sent, by their wall clock in UTC."""
    return [
        datetime.fromtimestamp(each.slot, UTC).isoformat(" ", "seconds")[:19]
        for each in await rows(room)
        if each.slot is not None and each.turn_id is not None
    ]


async def test_a_prompt_is_sent_at_each_slot_into_one_conversation(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(29)
        assert await sent(room) == []
        await trio.sleep(2)
        assert await sent(room) == ["2026-11-22 12:01:00"]
        await trio.sleep(120)
        found = await rows(room)
        schedule = await room.table.find(ID)
    assert [each.state for each in found] == ["completed"] * 3
    assert {each.conversation_id for each in found} == {schedule.conversation_id}
    assert all(each.at - (each.slot or 0) < 0.1 for each in found), "in time"
    assert len(room.count_prompts()) == 3


async def test_without_a_conversation_each_slot_begins_one(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await add(room, session=None)
        await trio.sleep(160)
        found = await rows(room)
    assert len({each.conversation_id for each in found}) == len(found) == 3
    assert (await room.table.find(ID)).conversation_id is None


async def test_the_prompt_is_a_detached_one_as_it_was_settled(
    autojump_clock: MockClock, store: Straight
) -> None:
    prompt = make_prompt("look", model=None, timeout_s=60.0, tools=())
    async with keep_time(store) as room:
        await add(room, prompt=prompt)
        await trio.sleep(60)
        (row,) = await rows(room)
        assert row.conversation_id is not None
        events = await store.reader.load(row.conversation_id)
        (job,) = await store.reader.find_jobs([row.turn_id or ""])
    (accepted,) = [each.body for each in events if isinstance(each.body, PromptAccepted)]
    assert accepted.options == prompt.options
    assert accepted.options.detach
    assert [item.parts for item in accepted.items] == [item.parts for item in prompt.items]
    assert accepted.key == make_key(ID, START + 30)
    assert (job.kind, job.state) == ("turn", "completed")


async def test_nothing_is_asked_while_no_schedule_is_enabled(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await room.table.pause(ID)
        room.clock.bell.ring()
        await trio.sleep(1)
        before = wall.reads
        await trio.sleep(86_400)
        assert wall.reads == before
        await room.table.resume(ID, conversation_id=None)
        room.clock.bell.ring()
        await trio.sleep(60)
        assert len(await sent(room)) == 1


async def test_a_far_slot_costs_one_look_at_the_clock_now_and_then(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room, cron="0 0 1 1 *")
        await trio.sleep(1)
        before = wall.reads
        await trio.sleep(3600)
        assert wall.reads - before <= 3 * 3600 / CLOCK_LOOK_S


# ---- the wall clock ----------------------------------------------------------------


async def test_a_machine_that_slept_sends_within_seconds(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room, cron="0 * * * *")
        await trio.sleep(1)
        wall.set_by = 2 * 3600.0
        await trio.sleep(CLOCK_LOOK_S + 0.1)
        found = await rows(room)
    assert [(each.slot, each.skipped) for each in found] == [(START - 30 + 7200, 1)]


async def test_a_clock_that_goes_back_sends_nothing_twice(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(300)
        first = await sent(room)
        wall.set_by = -290.0
        await trio.sleep(280)
        assert await sent(room) == first
        await trio.sleep(60)
        assert len(await sent(room)) == len(first) + 1
    assert set(room.count_prompts().values()) == {1}


async def test_ten_years_ahead_is_one_prompt_and_back_all_goes_on(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room, cron="0 * * * *")
        await trio.sleep(3600)  # 13:00:30
        wall.set_by = YEARS_S
        await trio.sleep(10)
        wall.set_by = 0.0
        await trio.sleep(3600)
        assert await sent(room) == [
            "2026-11-22 13:00:00",
            "2036-11-22 13:00:00",
            "2026-11-22 14:00:00",
        ]


async def test_ten_years_back_goes_on_there_and_forth_again_misses_nothing(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room, cron="0 * * * *", missed="all")
        await trio.sleep(3600)
        wall.set_by = -YEARS_S
        await trio.sleep(3600)
        wall.set_by = 0.0
        await trio.sleep(10)
        assert await sent(room) == [
            "2026-11-22 13:00:00",
            "2016-11-21 14:00:00",
            "2026-11-22 14:00:00",
        ]
    assert set(room.count_prompts().values()) == {1}


async def test_a_clock_that_was_ahead_when_it_was_added_does_not_hold_it_up(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    wall.set_by = YEARS_S
    async with keep_time(store) as room:
        await add(room, cron="0 * * * *")
        await trio.sleep(10)
        wall.set_by = 0.0
        await trio.sleep(3600)
        assert await sent(room) == ["2026-11-22 13:00:00"]


# ---- restarts, and what was missed -------------------------------------------------


@pytest.mark.parametrize(
    ("missed", "slots", "skipped"),
    [("skip", [], [25]), ("once", ["17:00"], [24]), ("all", None, [1] + [0] * 23)],
)
async def test_what_was_missed_while_nobody_was_there(
    autojump_clock: MockClock,
    store: Straight,
    wall: Wall,
    missed: str,
    slots: list[str] | None,
    skipped: list[int],
) -> None:
    async with keep_time(store) as room:
        await add(room, cron="*/12 * * * *", missed=missed)
        await trio.sleep(1)
    wall.set_by = 5 * 3600.0 + 90.0
    async with keep_time(store) as room:
        await trio.sleep(5)
        found = await rows(room)
        said = await sent(room)
    assert [each.skipped for each in found] == skipped
    if slots is None:
        assert len(said) == MISSED_LIMIT
        assert said == sorted(said), "the oldest first"
    else:
        assert [each[11:16] for each in said] == slots


@pytest.mark.parametrize("at_s", [29.0, 29.9999, 30.0, 30.0001, 30.2, 31.0])
async def test_a_kill_around_a_slot_costs_and_doubles_nothing(
    autojump_clock: MockClock, store: Straight, at_s: float
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(at_s)
    async with keep_time(store) as room:
        await trio.sleep(92 - at_s)
        assert len(await sent(room)) == 2
        assert [each.state for each in await rows(room)] == ["completed"] * 2
    assert set(room.count_prompts().values()) == {1}


async def test_a_row_that_is_gone_sends_its_prompt_no_second_time(
    autojump_clock: MockClock, store: Straight, wall: Wall
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(40)
        store.connection.execute("DELETE FROM slots WHERE state <> 'begun'")
        room.clock.bell.ring()
        await trio.sleep(10)
        found = await rows(room)
    assert [(each.state, each.turn_id) for each in found] == [("skipped", None)]
    assert list(room.count_prompts().values()) == [1]


# ---- what goes wrong ---------------------------------------------------------------


async def troubles(room: Timekeeping) -> list[str | None]:
    return [each.trouble for each in await room.desk.list_all()]


async def test_a_refused_prompt_is_tried_again_and_given_up_in_the_end(
    autojump_clock: MockClock, store: Straight
) -> None:
    models = ScriptedModels()
    models.key_needed = "TEST_KEY"
    async with keep_time(store, models) as room:
        await add(room, cron="1 12 * * *")
        await trio.sleep(35)
        assert await rows(room) == []
        assert await troubles(room) == ["Refused, and tried again soon: No key: set TEST_KEY."]
        await trio.sleep(sum(RETRY_S) + 1)
        assert await troubles(room) == [None]
        (row,) = await rows(room)
        assert (row.state, row.code, row.error) == ("refused", 4, "No key: set TEST_KEY.")
        assert [id for id, _ in room.told] == [ID]
        await trio.sleep(3600)
        assert len(await rows(room)) == 1, "a slot is given up once"


async def test_what_a_start_needs_may_start_too(autojump_clock: MockClock, store: Straight) -> None:
    models = ScriptedModels()
    models.key_needed = "TEST_KEY"
    async with keep_time(store, models) as room:
        await add(room, cron="1 12 * * *")
        await trio.sleep(35)
        models.key_needed = None
        await trio.sleep(RETRY_S[0])
        assert [each.state for each in await rows(room)] == ["completed"]
    assert room.told == []


async def test_slots_that_come_while_one_is_refused_are_given_up_with_it(
    autojump_clock: MockClock, store: Straight
) -> None:
    models = ScriptedModels()
    models.key_needed = "TEST_KEY"
    async with keep_time(store, models) as room:
        await add(room)
        await trio.sleep(31 + sum(RETRY_S))
        (row,) = await rows(room)
    assert (row.state, row.skipped) == ("refused", 5)


async def test_one_that_is_refused_holds_up_no_other(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await room.table.add(make_schedule("bad", prompt=make_prompt(model="no/such")))
        await add(room, session="other")
        await trio.sleep(300)
        assert len(await sent(room)) == 5


async def test_while_storage_fails_it_waits_and_sends_then(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(1)
        store.failing = True
        await trio.sleep(60)
        assert await sent(room) == []
        store.failing = False
        await trio.sleep(STORAGE_PAUSE_S + 1)
        assert await sent(room) == ["2026-11-22 12:01:00"]


async def test_a_conversation_that_was_deleted_pauses_it_and_resuming_makes_another(
    autojump_clock: MockClock,
    store: Straight,
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(40)
        (row,) = await rows(room)
        assert row.conversation_id is not None
        await room.sessions.delete(row.conversation_id)
        schedule = await room.table.find(ID)
        assert (schedule.paused_why, schedule.conversation_id) == (DELETED, None)
        await trio.sleep(300)
        assert len(await rows(room)) == 1
        sight = await room.desk.resume(ID)
        assert sight.next_at is not None
        await trio.sleep(60)
        rowed = await rows(room)
    assert [each.state for each in rowed] == ["completed"] * 2
    assert rowed[-1].conversation_id not in (None, row.conversation_id)


async def test_a_conversation_that_is_missing_pauses_it(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await add(room, session="gone", conversation_id="00000000-dead")
        await trio.sleep(60)
        schedule = await room.table.find(ID)
    assert schedule.paused_why == DELETED


async def test_prompts_that_nobody_answers_do_not_pile_up(
    autojump_clock: MockClock, store: Straight
) -> None:
    hold = trio.Event()
    models = ScriptedModels(lambda request: [hold, "at last"])
    async with keep_time(store, models) as room:
        await add(room)
        await trio.sleep(3600)
        found = await rows(room)
        assert sum(each.state == "accepted" for each in found) == WAITING_LIMIT
        refused = [each for each in found if each.state == "refused"]
        assert refused
        assert refused[0].code == 8
        hold.set()
        await trio.sleep(600)
        assert (await rows(room))[-1].state == "completed"


async def test_an_expression_that_cannot_be_read_any_more_stops_no_other(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        await room.table.add(make_schedule("old", zone="Atlantis/Capital"))
        await add(room, session="other")
        await trio.sleep(60)
        assert len(await sent(room)) == 1
        sight = await room.desk.find("old")
    assert sight.next_at is None
    assert "Atlantis/Capital" in (sight.trouble or "")


async def test_a_damaged_one_stops_no_other_and_is_listed_with_what_is_wrong(
    autojump_clock: MockClock, store: Straight
) -> None:
    async with keep_time(store) as room:
        for id, column in (("words", "prompt"), ("times", "cron")):
            await room.table.add(make_schedule(id))
            store.connection.execute(f"UPDATE schedules SET {column} = x'ff' WHERE id = '{id}'")
        await add(room, session="other")
        await trio.sleep(60)
        assert len(await sent(room)) == 1
        troubles = {each.schedule.id: each.trouble for each in await room.desk.list_all()}
        assert troubles.pop(ID) is None
        assert set(troubles) == {"words", "times"}
        assert all((each or "").startswith("It is damaged") for each in troubles.values())
        with pytest.raises(StorageFailed, match="It is damaged"):
            await room.desk.run("words", key="k")
        await room.desk.remove("words")
        assert len(await room.desk.list_all()) == 2


async def test_a_clock_in_a_year_that_no_calendar_has_ends_nothing(
    autojump_clock: MockClock, wall: Wall, store: Straight
) -> None:
    async with keep_time(store) as room:
        await add(room)
        wall.set_by = 1e12
        await trio.sleep(60)
        wall.set_by = 0.0
        await trio.sleep(60)
        assert len(await sent(room)) >= 1


async def test_a_removed_schedule_sends_nothing(autojump_clock: MockClock, store: Straight) -> None:
    async with keep_time(store) as room:
        await add(room)
        await room.desk.remove(ID)
        await trio.sleep(300)
        assert await room.desk.list_all() == []
    assert room.count_prompts() == {}


async def test_a_clock_that_is_set_back_during_a_look_is_noticed(
    store: Straight, wall: Wall, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(40)
        read_all = room.table.read_all

        async def read_slowly(*, now: float) -> list[Standing]:
            standings = await read_all(now=now)
            wall.set_by = -86_400.0
            return standings

        monkeypatch.setattr(room.table, "read_all", read_slowly)
        room.clock.bell.ring()
        await trio.sleep(1)
        monkeypatch.undo()
        await trio.sleep(130)
        assert (await sent(room))[-2:] == ["2026-11-21 12:02:00", "2026-11-21 12:03:00"]


async def test_a_clock_that_goes_back_and_ahead_at_once_passes_nothing_over(
    store: Straight, wall: Wall, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keep_time(store) as room:
        await add(room)
        await trio.sleep(40)
        begin = room.table.begin

        async def begin_late(schedule_id: str, *, since: float) -> None:
            wall.set_by = 86_400.0
            await begin(schedule_id, since=since)

        monkeypatch.setattr(room.table, "begin", begin_late)
        wall.set_by = -86_400.0
        await trio.sleep(CLOCK_LOOK_S + 1)
        monkeypatch.undo()
        await trio.sleep(10)
        assert (await sent(room))[-1] == "2026-11-23 12:01:00"


async def test_one_that_is_removed_while_it_is_sent_is_nobodys_trouble(
    autojump_clock: MockClock, wall: Wall, store: Straight, caplog: pytest.LogCaptureFixture
) -> None:
    def read_and_remove(cron: str, zone: str) -> After:
        if wall() >= START + 30:  # it was looked up a moment ago, and its time has come
            store.connection.execute("DELETE FROM schedules")
        return read_cron(cron, zone)

    async with keep_time(store, cron=read_and_remove) as room:
        await add(room)
        await trio.sleep(1000)
        assert room.told == []
        assert await room.desk.list_all() == []
    assert room.count_prompts() == {}
    assert [each for each in caplog.records if each.levelname != "INFO"] == []
