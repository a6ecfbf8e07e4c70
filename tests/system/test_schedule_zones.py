"""Schedules of a real daemon where clocks are set for daylight saving, in the zones of their own.

The daemon is killed and comes back just before each moment that counts, by a clock that is set
ahead; what it slept through is skipped.
"""

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.system.test_detached import check_disk, open_own, wait
from tests.system.test_schedules import ASKD, FAKETIME, add, find_sent, wait_until
from tests.system.world import World

pytestmark = pytest.mark.skipif(not FAKETIME, reason="libfaketime is not installed")
DAILY, HALF_HOURS, TOKYO = "30 2 * * *", "*/30 * * * *", "30 9 * * *"
"""The first two by the clock of Berlin; half past nine in Tokyo is half past midnight in UTC."""
STEPS = (
    # Berlin goes from 02:00 to 03:00: what is left out comes right after.
    ("2027-03-28 00:59:57", (DAILY, HALF_HOURS)),
    ("2027-03-28 01:29:57", (HALF_HOURS,)),
    ("2027-03-29 00:29:57", (DAILY, HALF_HOURS, TOKYO)),
    # It goes from 03:00 back to 02:00: half past two comes twice, and is sent the first time.
    ("2027-10-31 00:29:57", (DAILY, HALF_HOURS, TOKYO)),
    ("2027-10-31 01:29:57", (HALF_HOURS,)),
    ("2027-11-01 01:29:57", (DAILY, HALF_HOURS)),
)
"""When the daemon comes back, in UTC, and what it sends at the next full half hour."""
HALF_HOUR_S = 1800


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon knows its server itself."""
    for opened in open_own(tmp_path / "home"):
        opened.home.mkdir(exist_ok=True)
        yield opened


def read_moment(text: str) -> float:
    """Seconds since 1970 of a moment in UTC."""
    return datetime.fromisoformat(f"{text}+00:00").timestamp()


def come_back(world: World, moment: float) -> None:
    """Start a daemon for which it is this moment now, in the place of the one that runs."""
    if world.owner() is not None:
        world.kill_daemon()
    offset = world.home / "offset"
    offset.write_text(f"{moment - time.time():+.3f}")
    fake = {
        "LD_PRELOAD": str(FAKETIME[0]),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    daemon = world.start("run", command=(ASKD,), env=fake)
    daemon.wait_for("Ready", where="err")


def wait_sent(world: World, id: str, slot: int) -> None:
    """Wait until a schedule has sent its prompt for a slot."""
    wait_until(lambda: slot in find_sent(world, id), f"{slot} is not sent")


def test_each_slot_is_sent_once_when_clocks_change(own: World) -> None:
    come_back(own, read_moment("2027-03-28 00:45:00"))
    wanted: dict[str, list[int]] = {DAILY: [], HALF_HOURS: [], TOKYO: []}
    zones = {TOKYO: "Asia/Tokyo"}
    ids = {
        cron: add(own, "--missed", "skip", "--zone", zones.get(cron, "Europe/Berlin"), cron=cron)
        for cron in wanted
    }
    for text, due in STEPS:
        moment = read_moment(text)
        come_back(own, moment)
        slot = int(moment // HALF_HOUR_S + 1) * HALF_HOUR_S
        for cron in due:
            wanted[cron].append(slot)
            wait_sent(own, ids[cron], slot)
    # The last slot of the half hours was a later one than any that could have come by mistake.
    assert {cron: find_sent(own, id) for cron, id in ids.items()} == wanted
    for id in ids.values():
        own.ok("schedule", "pause", id)
    for job in json.loads(own.ok("jobs", "list", "--all", "--json").out):
        assert wait(own, job["id"]).code == 0
    check_disk(own)
