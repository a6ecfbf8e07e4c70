"""Schedules of a real daemon: killed again and again, its clock set by years, its talk deleted.

Nobody waits for minutes: a field of seconds before the five is taken, too.
"""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.system.world import ASK, LIMIT_S, World

ASKD = str(Path(ASK).with_name("askd"))
EVERY_SECOND = "* * * * * *"
FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
YEARS_S = 3650 * 86_400


@pytest.fixture
def world(world: World) -> World:
    """One whose daemon can ask a model with no key of any caller."""
    assert world.model is not None
    file = world.ask_home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        'title = "off"\ndefault_model = "here/fake"\n'
        f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
    )
    return world


def wait_until(done: Callable[[], object], what: str) -> None:
    until = time.monotonic() + 2 * LIMIT_S  # every second a turn, on a machine that may be busy
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def add(world: World, *options: str, cron: str = EVERY_SECOND) -> str:
    return world.ok("schedule", "add", "--cron", cron, *options, "ECHO:tick").out.strip()


def list_all(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(world.ok("schedule", "list", "--json").out)
    return found


def find_sent(world: World, id: str) -> list[int]:
    """For which slots prompts are in the log, in its order."""
    database = world.ask_home / "data" / "ask.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as reader:
        rows = reader.execute(
            "SELECT json_extract(body, '$.key') FROM events WHERE type = 'prompt_accepted'"
            " ORDER BY at, conversation_id, seq"
        ).fetchall()
    keys = [key for (key,) in rows if key.startswith(f"schedule:{id}:")]
    return [int(key.rpartition(":")[2]) for key in keys]


def test_every_slot_is_sent_once_though_the_daemon_is_killed_again_and_again(world: World) -> None:
    id = add(world, "-s", "clock", "--missed", "all")
    wait_until(lambda: find_sent(world, id), "nothing is sent")
    for pause_s in (0.0, 0.31, 0.77, 1.02, 1.53, 0.95):
        time.sleep(pause_s)
        world.kill_daemon()
        world.ok("schedule", "list")  # the next one starts, and makes up for what was missed
    before = len(find_sent(world, id))
    wait_until(lambda: len(find_sent(world, id)) >= before + 2, "it does not go on")
    world.ok("schedule", "pause", id)
    sent = find_sent(world, id)
    assert sent == list(range(sent[0], sent[0] + len(sent))), "each second once, in order"
    wait_until(lambda: list_all(world)[0]["last"]["state"] == "completed", "a turn does not end")
    ends = Counter(e["turn_id"] for e in world.events("clock") if e["type"] == "turn_finished")
    assert len(ends) == len(sent)
    assert set(ends.values()) == {1}


def test_what_was_missed_is_made_up_for_once(world: World) -> None:
    id = add(world, "-s", "clock")
    wait_until(lambda: find_sent(world, id), "nothing is sent")
    world.kill_daemon()
    killed = time.time()
    time.sleep(4.2)
    world.ok("daemon", "start")
    started = time.time()
    wait_until(lambda: find_sent(world, id)[-1] > started, "it does not go on")
    world.ok("schedule", "pause", id)
    missed = [slot for slot in find_sent(world, id) if killed < slot < started - 1.0]
    assert len(missed) <= 1
    shown = json.loads(world.ok("schedule", "show", id, "--json").out)
    assert any(each["skipped"] >= 2 for each in shown["slots"])


@pytest.mark.skipif(not FAKETIME, reason="libfaketime is not installed")
def test_a_clock_that_is_set_by_ten_years_and_back_sends_nothing_twice(world: World) -> None:
    offset = world.home / "offset"

    def set_clock(text: str) -> None:
        """In one go: a file that is empty for a moment would be a clock of its own."""
        new = world.home / "new-offset"
        new.write_text(text)
        new.replace(offset)

    set_clock("+0")
    fake = {
        "LD_PRELOAD": str(FAKETIME[0]),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }

    def start() -> None:
        world.start("run", command=(ASKD,), env=fake)
        wait_until(lambda: world.ask("daemon", "status").code == 0, "it does not start")

    def wait_for(since: float) -> None:
        wait_until(
            lambda: any(since < slot < since + 600 for slot in find_sent(world, schedule)),
            f"nothing is sent about {since}",
        )

    start()
    schedule = add(world, "-s", "clock")
    began = time.time()
    wait_for(began)
    for text, by_s in (("+3650d", YEARS_S), ("+0", 0), ("-3650d", -YEARS_S), ("+0", 0)):
        set_clock(text)
        wait_for(time.time() + by_s)
    world.kill_daemon()
    set_clock("+3650d")
    start()
    wait_for(time.time() + YEARS_S)
    world.kill_daemon()
    set_clock("+0")
    start()
    wait_for(time.time())
    world.ok("schedule", "pause", schedule)
    sent = find_sent(world, schedule)
    assert len(sent) == len(set(sent))
    near = [slot for slot in sent if began - 1 < slot < began + 600]
    assert near == sorted(near)


def test_a_conversation_that_is_deleted_pauses_it_and_the_doctor_says_so(world: World) -> None:
    id = add(world, "-s", "clock", "--name", "ticker")
    wait_until(lambda: find_sent(world, id), "nothing is sent")
    world.ok("history", "delete", "clock", "--yes")
    listed = world.ok("schedule", "list").out
    assert "paused" in listed
    assert "Its conversation was deleted." in listed
    doctor = world.ask("doctor").out
    assert "warn  schedule: ticker is paused: Its conversation was deleted." in doctor
    world.ok("schedule", "resume", "ticker")
    wait_until(lambda: find_sent(world, id), "it does not begin anew")
    world.ok("schedule", "remove", "ticker")
    count = len(find_sent(world, id))
    time.sleep(2.1)
    assert len(find_sent(world, id)) == count
    assert list_all(world) == []


def test_running_one_is_a_job_and_uses_up_no_time(world: World) -> None:
    id = add(world, "-s", "work", cron="0 8 1 1 *")
    before = list_all(world)[0]["next_at"]
    job = world.ok("schedule", "run", id[:6]).out.strip()
    assert world.ok("jobs", "wait", job).out == f"{job}  completed\n"
    (row,) = list_all(world)
    assert (row["next_at"], row["last"]["state"], row["last"]["slot"]) == (
        before,
        "completed",
        None,
    )
    assert "by hand  done" in world.ok("schedule", "show", id).out


def test_a_callers_keys_are_not_kept_and_the_warning_says_so(world: World) -> None:
    (world.ask_home / "config" / "config.toml").write_text('title = "off"\n')
    secret = "sk-of-this-shell"
    env = {"OPENAI_API_KEY": secret}
    words = ("schedule", "add", "--cron", "@daily", "-m", "openai/gpt-5", "hello")
    result = world.ask(*words, env=env)
    assert result.code == 0
    assert result.err.startswith("As things are, it would be refused: ")
    assert "only a key that is kept counts" in result.err
    ran = world.ask("schedule", "run", result.out.strip(), env=env)
    assert ran.code == 4
    for path in world.ask_home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_a_zone_is_kept_from_when_it_was_added(world: World) -> None:
    env = {"TZ": "Asia/Tokyo"}
    result = world.ask("schedule", "add", "--cron", "0 8 * * *", "hello", env=env)
    assert result.code == 0, result.err
    (row,) = list_all(world)
    assert row["zone"] == "Asia/Tokyo"
    assert time.gmtime(row["next_at"]).tm_hour == 23
