"""The tables as the clock and the desk ask them; credentials are hidden in what is kept."""

from dataclasses import replace

from askd.core.items import Text
from askd.store.schedules.rows import Passed
from askd.store.schedules.table import ScheduleTable
from tests.fakes.schedules import Straight, make_prompt, make_schedule

SECRET = "sk-secret"


def make_table(store: Straight, *, hides: bool = False) -> ScheduleTable:
    def hide(text: str) -> str:
        return text.replace(SECRET, "[hidden]")

    return ScheduleTable(store, store.reader, find_hide=lambda: hide if hides else None)


async def test_schedules_come_with_what_they_did_last() -> None:
    table = make_table(Straight(lambda: 100.0))
    await table.add(make_schedule("one"))
    await table.add(make_schedule("two"))
    for slot in (120.0, 180.0):
        await table.pass_slot(Passed(schedule_id="one", slot=slot, state="skipped"))
    first, second = await table.read_all(now=150.0)
    assert (first.schedule.id, first.handled_at, second.handled_at) == ("one", 120.0, 100.0)
    assert first.last is not None
    assert first.last.slot == 180.0
    assert second.last is None
    assert [each.slot for each in await table.list_slots("one", limit=1)] == [180.0]
    assert await table.count_enabled() == 2
    await table.remove("one")
    await table.pause("two", why="Because.")
    assert (await table.find("two")).paused_why == "Because."
    assert await table.count_enabled() == 0


async def test_a_clock_before_all_that_was_done_begins_anew() -> None:
    store = Straight(lambda: 100.0)
    table = make_table(store)
    await table.add(make_schedule("one"))
    assert await table.find_handled("one", now=50.0) is None
    await table.begin("one", since=50.0)
    assert await table.find_handled("one", now=50.0) == 50.0


async def test_known_credentials_are_not_kept() -> None:
    store = Straight(lambda: 100.0)
    table = make_table(store, hides=True)
    prompt = replace(make_prompt(f"say {SECRET}", system=f"you are {SECRET}"), cwd=f"/{SECRET}")
    await table.add(make_schedule("one", prompt=prompt))
    await table.pass_slot(
        Passed(schedule_id="one", slot=120.0, state="refused", error=f"no {SECRET}")
    )
    assert not any(SECRET in line for line in store.connection.iterdump())
    (kept,) = (await table.find("one")).prompt.items
    assert kept.parts == (Text("say [hidden]"),)


async def test_without_the_setting_they_are() -> None:
    table = make_table(Straight(lambda: 100.0))
    await table.add(make_schedule("one", prompt=make_prompt(f"say {SECRET}")))
    (kept,) = (await table.find("one")).prompt.items
    assert kept.parts == (Text(f"say {SECRET}"),)
