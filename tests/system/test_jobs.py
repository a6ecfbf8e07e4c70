"""Background jobs of a real daemon: killed, cancelled, waited for; each effect at most once."""

import json
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from tests.system.world import LIMIT_S, World

HELD = "ECHO:{} HOLD"
"""The answer comes at once; the title's request, which shows it, holds."""
STOPPED = "the daemon stopped during this try"


@pytest.fixture
def world(world: World) -> World:
    """One whose titles a model makes, which a test can hold."""
    assert world.model is not None
    file = world.ask_home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        'title = "model"\ndefault_model = "here/fake"\n'
        f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
    )
    return world


def list_jobs(world: World, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(world.ok("jobs", "list", "--json", *options).out)
    return found


def wait_until(done: Callable[[], object], what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def start_held(world: World, name: str) -> str:
    """A conversation whose title's job runs and is held; the job's id."""
    world.ok("-s", name, HELD.format(name))
    wait_until(lambda: list_jobs(world, "--state", "running"), "the job never began")
    (job,) = list_jobs(world, "--state", "running")
    return str(job["id"])


def count_clients(world: World) -> int:
    return int(json.loads(world.ok("daemon", "status", "--json").out)["clients"])


def count_titles(world: World, name: str) -> int:
    return sum(event["type"] == "titled" for event in world.events(name))


def test_a_job_that_was_killed_runs_again_and_has_its_effect_once(world: World) -> None:
    assert world.model is not None
    id = start_held(world, "work")
    for requests in (3, 4):  # the turn, the first try; then one more each time
        world.kill_daemon()
        assert len(world.model.requests()) == requests - 1
        wait_until(lambda: list_jobs(world, "--state", "running"), "it is not tried again")
        world.model.requests(requests)
    shown = json.loads(world.ok("jobs", "show", id, "--json").out)
    assert (shown["state"], shown["attempt"]) == ("running", 3)
    assert [(each["attempt"], each["error"]) for each in shown["errors"]] == [
        (1, STOPPED),
        (2, STOPPED),
    ]
    world.model.release()
    assert world.ok("jobs", "wait", id).out == f"{id}  completed\n"
    assert count_titles(world, "work") == 1


def test_a_job_that_is_killed_each_time_is_given_up_and_can_be_tried_again(world: World) -> None:
    assert world.model is not None
    id = start_held(world, "work")
    for requests in (2, 3, 4):  # the turn, and one more for each try
        wait_until(lambda: list_jobs(world, "--state", "running"), "it is not tried again")
        world.model.requests(requests)
        world.kill_daemon()
    result = world.ask("jobs", "wait", id[:8])
    assert (result.code, result.out) == (1, f"{id}  discarded\n")
    assert world.ok("jobs", "logs", id).out.count(STOPPED) == 3
    assert count_titles(world, "work") == 0
    assert world.ok("jobs", "retry", id).out == f"{id}\n"
    world.model.requests(5)  # the turn, three tries, and this one
    world.model.release()
    world.ok("jobs", "wait", id)
    assert count_titles(world, "work") == 1


def test_waiting_outlives_a_daemon_that_is_killed(world: World) -> None:
    assert world.model is not None
    id = start_held(world, "work")
    waiting = world.start("jobs", "wait", id)
    wait_until(lambda: count_clients(world) == 2, "nobody waits")
    world.kill_daemon()
    world.model.requests(3)
    world.model.release()
    result = waiting.finish()
    assert (result.code, result.out) == (0, f"{id}  completed\n")


def test_waiting_has_a_limit_and_can_be_interrupted(world: World) -> None:
    id = start_held(world, "work")
    result = world.ask("jobs", "wait", id, "--timeout", "0.1")
    assert (result.code, result.out) == (124, "")
    assert result.err.startswith(f"Not over after 0.1 s: {id[:8]}.\n")
    waiting = world.start("jobs", "wait", id)
    wait_until(lambda: count_clients(world) == 2, "nobody waits")
    waiting.signal(signal.SIGINT)
    assert waiting.finish().code == 130
    assert list_jobs(world, "--state", "running")


def test_a_job_that_is_cancelled_never_has_its_effect(world: World) -> None:
    assert world.model is not None
    id = start_held(world, "work")
    assert world.ok("jobs", "cancel", id[:6]).err == f"Cancelled: {id}\n"
    assert world.ask("jobs", "wait", id).code == 1
    world.model.release()
    world.ok("-s", "other", "ECHO:next")
    wait_until(lambda: count_titles(world, "other"), "others have to wait")
    assert count_titles(world, "work") == 0
    stats = json.loads(world.ok("api", "job/stats").out)
    assert {kind["kind"]: kind["ends"] for kind in stats["kinds"]}["title"] == {
        "cancelled": 1,
        "completed": 1,
    }


def test_a_stop_hands_the_job_back_and_costs_no_try(world: World) -> None:
    id = start_held(world, "work")
    world.kill_daemon(signal.SIGTERM)
    shown = json.loads(world.ok("jobs", "show", id, "--json").out)
    assert (shown["attempt"], shown["errors"]) in ((0, []), (1, []))


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_each_conversation_has_its_title_once(world: World, seed: int) -> None:
    moments = random.Random(seed)
    names = [f"talk{number}" for number in range(6)]
    for name in names:
        world.ask("-s", name, f"ECHO:{name} says something")
        time.sleep(moments.uniform(0, 0.02))
        world.kill_daemon()
    wait_until(lambda: not list_jobs(world), "jobs are left")
    assert {job["state"] for job in list_jobs(world, "--all")} == {"completed"}
    assert [count_titles(world, name) for name in names] == [1] * len(names)


def test_jobs_of_days_ago_are_cleared_away(world: World) -> None:
    world.ok("-s", "work", "ECHO:hi")
    wait_until(lambda: not list_jobs(world), "the title takes its time")
    world.kill_daemon(signal.SIGTERM)
    with closing(sqlite3.connect(world.ask_home / "data" / "ask.db")) as database, database:
        database.execute("UPDATE jobs SET finished_at = finished_at - 2 * 86400")
    wait_until(lambda: not list_jobs(world, "--all"), "an old job is kept")
    assert world.ok("jobs", "list").out.startswith("No background jobs are kept.\n")
