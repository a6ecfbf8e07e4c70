"""Cron expressions as moments: each local wall time once, whatever the clock of a zone does."""

import itertools
import sys
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askd.errors import AskdError, RequestError
from askd.jobs.cron import (
    CRON_LENGTH,
    NOT_INSTALLED,
    SHORTHANDS,
    find_machine_zone,
    find_zone,
    read_cron,
)

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour of daylight saving
    "America/Santiago",  # changes at midnight
    "Asia/Kathmandu",  # 45 minutes beside the hour
    "Pacific/Apia",
)
BERLIN = ZoneInfo("Europe/Berlin")


def slots(text: str, zone: str, start: datetime, number: int) -> list[str]:
    """The next slots, by their own wall clock."""
    found = itertools.islice(read_cron(text, zone)(start.timestamp()), number)
    return [datetime.fromtimestamp(each, ZoneInfo(zone)).isoformat() for each in found]


def find_moment(day: date, at: time, zone: ZoneInfo) -> float:
    """When a wall clock first shows a time; of one that is left out, the first moment after."""
    naive = datetime.combine(day, at)
    while True:
        moment = naive.replace(tzinfo=zone).timestamp()
        if datetime.fromtimestamp(moment, zone).replace(tzinfo=None) == naive:
            return moment
        naive += timedelta(minutes=1)


def test_a_fixed_time_that_is_left_out_comes_right_after() -> None:
    start = datetime(2026, 3, 28, 12, tzinfo=BERLIN)
    assert slots("30 2 * * *", "Europe/Berlin", start, 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert slots("0,30 2 * * *", "Europe/Berlin", start, 2) == [
        "2026-03-29T03:00:00+02:00",  # both of them, once
        "2026-03-30T02:00:00+02:00",
    ]


def test_a_fixed_time_that_comes_twice_counts_once() -> None:
    start = datetime(2026, 10, 24, 12, tzinfo=BERLIN)
    assert slots("30 2 * * *", "Europe/Berlin", start, 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]
    between = datetime(2026, 10, 25, 2, 15, tzinfo=BERLIN, fold=1)  # past the first, not the second
    assert slots("30 2 * * *", "Europe/Berlin", between, 1) == ["2026-10-26T02:30:00+01:00"]


def test_what_repeats_within_the_hour_goes_by_real_time() -> None:
    start = datetime(2026, 10, 25, 1, 30, tzinfo=BERLIN)
    assert slots("*/30 * * * *", "Europe/Berlin", start, 5) == [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]


@settings(max_examples=150, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    minutes=st.sets(st.integers(0, 59), min_size=1, max_size=3),
    hours=st.sets(st.integers(0, 23), min_size=1, max_size=4),
    first=st.dates(date(2010, 1, 1), date(2037, 1, 1)),
    days=st.integers(1, 40),
)
def test_each_local_wall_time_is_one_slot(
    zone: str, minutes: set[int], hours: set[int], first: date, days: int
) -> None:
    where = ZoneInfo(zone)
    wanted = sorted(
        {
            find_moment(first + timedelta(days=day), time(hour, minute), where)
            for day in range(-1, days + 2)
            for hour in hours
            for minute in minutes
        }
    )
    start = datetime.combine(first, time(), where).timestamp()
    end = datetime.combine(first + timedelta(days=days), time(), where).timestamp()
    text = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *"
    found = itertools.takewhile(lambda slot: slot <= end, read_cron(text, zone)(start))
    assert list(found) == [slot for slot in wanted if start < slot <= end]


EXPRESSIONS = (
    "* * * * *", "*/7 * * * *", "15 */2 * * *", "0 2 * * *", "30 1-3 * * *", "0 8 * * 1-5",
    "0 0 1,15 * *", "5 0 * * 0", "* 2 * * *", "0 0 L * *",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    text=st.sampled_from(EXPRESSIONS),
    start=st.floats(1.3e9, 2.1e9),
    cuts=st.lists(st.floats(0, 5 * 86_400), max_size=4),
)
def test_slots_are_the_same_from_wherever_they_are_looked_for(
    zone: str, text: str, start: float, cuts: list[float]
) -> None:
    after, end = read_cron(text, zone), start + 5 * 86_400

    def between(since: float, until: float) -> list[float]:
        return list(itertools.takewhile(lambda slot: slot <= until, after(since)))

    whole = between(start, end)
    assert whole == sorted(set(whole)), "in order, each once"
    edges = [start, *sorted(start + cut for cut in cuts), end]
    pieces = [slot for one, two in itertools.pairwise(edges) for slot in between(one, two)]
    assert pieces == whole


@pytest.mark.parametrize("text", SHORTHANDS)
def test_shorthands_are_what_they_stand_for(text: str) -> None:
    start = datetime(2026, 1, 1, 5, tzinfo=UTC)
    assert slots(text.upper(), "UTC", start, 3) == slots(SHORTHANDS[text], "UTC", start, 3)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("61 * * * *", "minute", "61"),
        ("* 24 * * *", "hour", "24"),
        ("0 0 30 2 *", "day-of-month", "30"),
        ("* * * 13 *", "month", "13"),
        ("* * * * mon-foo", "day-of-week", "mon-foo"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(text: str, field: str, value: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_cron(text, "UTC")
    assert caught.value.reason == "bad_cron"
    assert caught.value.message.endswith(f"Its {field} cannot be {value!r}.")
    assert caught.value.data["field"] == field
    assert "Five fields" in caught.value.data["hint"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "It has 0 fields"),
        ("* * *", "It has 3 fields, and not five"),
        ("soon", "It has 1 field, and not five"),
        ("@fortnightly", "Words are @hourly, @daily, @midnight, @weekly, "),
        ("@reboot", "@reboot names no time"),
        ("*" * (CRON_LENGTH + 1), "characters at the most"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said) as caught:
        read_cron(text, "UTC")
    assert caught.value.reason == "bad_cron"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789*/,-#LW @monSUNjan\x00é²", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        after = read_cron(text, "UTC")
    except RequestError as error:
        reason = error.reason
    else:
        reason = "bad_cron"
        next(after(0.0), None)
    assert reason == "bad_cron"


def test_slots_end_with_the_years() -> None:
    after = read_cron("0 0 1 1 *", "UTC")
    assert list(after(datetime(9998, 6, 1, tzinfo=UTC).timestamp())) == [
        datetime(9999, 1, 1, tzinfo=UTC).timestamp()
    ]


@pytest.mark.parametrize("name", ["", "X/Y", "../etc/passwd", "/etc/localtime", "a\0b", "é", "."])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(RequestError) as caught:
        find_zone(name)
    assert caught.value.reason == "bad_zone"


def test_the_machine_has_a_zone(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert find_machine_zone(str(link)) == "UTC"
    for target, zone in (
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("../usr/share/zoneinfo/Etc/UTC", "Etc/UTC"),
        ("/usr/share/zoneinfo/No/Where", "UTC"),
        ("/somewhere/else", "UTC"),
    ):
        link.symlink_to(target)
        assert find_machine_zone(str(link)) == zone
        link.unlink()
    link.write_bytes(b"TZif")
    assert find_machine_zone(str(link)) == "UTC"


def test_without_the_library_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(AskdError) as caught:
        read_cron("* * * * *", "UTC")
    assert (caught.value.message, caught.value.reason) == (NOT_INSTALLED, "not_installed")
