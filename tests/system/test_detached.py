"""Turns that nobody watches: accepted, found again, and run to one end however often askd dies."""

import json
import operator
import os
import select
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.system.world import LIMIT_S, Result, World, open_world

CONFIG = """\
default_model = "work/fake"
[providers.work]
dialect = "openai-chat"
base_url = "{base_url}"
[models."work/fake"]
context_window = 3000
max_output_tokens = 200
[context]
compaction = false
"""
"""The daemon's own server, with a window that two long prompts fill: no caller's key is needed."""
LONG = "one two three " * 450
POLL_S = 0.005

Map = dict[str, Any]


def open_own(home: Path, *, interval_s: float = 0.02) -> Iterator[World]:
    with open_world(home, options=["--interval", str(interval_s)]) as world:
        assert world.model is not None
        config = world.ask_home / "config" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(CONFIG.format(base_url=world.model.base_url))
        del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
        yield world


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon knows its server itself."""
    yield from open_own(tmp_path)


def detach(world: World, *arguments: str) -> str:
    """Leave a prompt; its job's id."""
    result = world.ok("--detach", *arguments)
    (job,) = result.out.splitlines()
    return job


def read_job(world: World, job: str) -> Map:
    found: Map = json.loads(world.ok("jobs", "show", job, "--json").out)
    return found


def wait(world: World, job: str) -> Result:
    return world.ask("jobs", "wait", job, "--timeout", str(LIMIT_S))


def query(world: World, sql: str) -> list[tuple[Any, ...]]:
    """What is on the disk, whoever runs."""
    database = world.ask_home / "data" / "ask.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as reader:
        return reader.execute(sql).fetchall()


def wait_stored(world: World, sql: str, wanted: Callable[[Any], bool] = bool) -> None:
    """Wait until the first column of the first row is as wanted."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        rows = query(world, sql)
        if rows and wanted(rows[0][0]):
            return
        time.sleep(POLL_S)
    raise AssertionError(f"never came: {sql}: {query(world, sql)}")


def events_of(world: World, turn_id: str, kind: str) -> list[Map]:
    """The turn's events of one type, from the disk."""
    rows = query(
        world,
        "SELECT body FROM events WHERE json_extract(body, '$.turn_id') = "
        f"'{turn_id}' AND type = '{kind}' ORDER BY seq",
    )
    return [json.loads(body) for (body,) in rows]


def check_disk(world: World) -> None:
    """Every turn has one end, and the job of one that has a job agrees with it."""
    accepted = query(
        world, "SELECT json_extract(body, '$.turn_id') FROM events WHERE type = 'prompt_accepted'"
    )
    for (turn_id,) in accepted:
        (end,) = events_of(world, turn_id, "turn_finished")
        starts = [each["attempt"] for each in events_of(world, turn_id, "turn_started")]
        assert starts == list(range(1, len(starts) + 1)), turn_id
        jobs = query(
            world, f"SELECT state, code, attempt, finished_at FROM jobs WHERE id = '{turn_id}'"
        )
        for state, code, attempt, finished_at in jobs:
            expected = {"completed": "completed", "failed": "discarded", "withdrawn": "cancelled"}
            assert state == expected.get(end["outcome"], state)
            assert (code, attempt) == (end["code"], len(starts))
            assert finished_at is not None
    assert query(world, "SELECT count(*) FROM open_turns") == [(0,)]
    assert query(world, "SELECT count(*) FROM partials") == [(0,)]


# ---- the life of one -----------------------------------------------------------------------


def test_a_detached_prompt_prints_its_jobs_id_and_nothing_else(own: World) -> None:
    result = own.ok("--detach", "ECHO:done and dusted")
    (job,) = result.out.splitlines()
    assert len(job) == 36
    assert wait(own, job).code == 0
    record = read_job(own, job)
    assert (record["kind"], record["state"], record["code"]) == ("turn", "completed", 0)
    shown = own.ok("jobs", "show", job[:8]).out
    assert "> ECHO:done and dusted\n\ndone and dusted\n" in shown
    assert own.ok("jobs", "logs", job).out == "> ECHO:done and dusted\n\ndone and dusted\n\n"
    object = json.loads(own.ok("--detach", "--json", "hi").out)
    assert object["job_id"] == object["turn_id"]


def test_what_runs_is_followed_shown_and_cancelled(own: World) -> None:
    job = detach(own, "HOLD:3")
    own.wait_saved("tok2")
    assert "tok0 tok1 tok2" in own.ok("jobs", "show", job).out
    follower = own.start("jobs", "logs", "-f", job)
    follower.wait_for("tok2")
    assert wait_code(own, "jobs", "wait", job, "--timeout", "0.1") == 124
    assert own.ok("jobs", "cancel", job).err == f"Cancelled: {job}\n"
    ended = follower.finish()
    assert ended.code == 0
    assert ended.out.endswith("(interrupted)\n\n")
    assert wait(own, job).code == 1
    # Tried again it is another turn of the same conversation.
    again = own.ok("jobs", "retry", job).out.strip()
    record = read_job(own, again)
    assert again != job
    assert record["conversation_id"] == read_job(own, job)["conversation_id"]
    assert own.model is not None
    own.model.requests(at_least=2)
    own.model.release()
    assert wait(own, again).code == 0
    refused = own.ask("jobs", "retry", again)
    assert (refused.code, refused.out) == (2, "")
    check_disk(own)


def wait_code(world: World, *arguments: str) -> int:
    return world.ask(*arguments).code


def test_a_queued_one_is_taken_back_and_a_failed_one_ends_with_its_code(own: World) -> None:
    first = detach(own, "-s", "work", "HOLD:1")
    second = detach(own, "-s", "work", "ECHO:never")
    assert read_job(own, second)["state"] == "available"
    own.ok("jobs", "cancel", second)
    assert read_job(own, second)["state"] == "cancelled"
    own.ok("jobs", "cancel", first)
    failed = detach(own, "FAIL 400")
    assert wait(own, failed).code == 1
    record = read_job(own, failed)
    assert (record["state"], record["code"]) == ("discarded", 1)
    assert "HTTP 400" in record["error"]
    late = detach(own, "--timeout", "0.5", "HOLD:1")
    assert wait(own, late).code == 124
    assert read_job(own, late)["state"] == "discarded"
    check_disk(own)


@pytest.mark.parametrize(
    "arguments", [["-x"], ["-o", "out"], ["--raw"], ["--usage"], ["--ephemeral"]]
)
def test_what_makes_no_sense_with_it_is_refused(own: World, arguments: list[str]) -> None:
    result = own.ask("--detach", *arguments, "hi")
    assert (result.code, result.out) == (2, "")
    assert own.owner() is None, "nothing was asked"


def test_the_same_key_is_the_same_job(own: World) -> None:
    one = detach(own, "--key", "nightly-1", "ECHO:once")
    assert detach(own, "--key", "nightly-1", "ECHO:once") == one
    assert wait(own, one).code == 0
    assert len(events_of(own, one, "prompt_accepted")) == 1


def test_a_stopped_daemon_leaves_it_to_the_next(own: World) -> None:
    job = detach(own, "HOLD:2")
    own.wait_saved("tok1")
    gone = os.pidfd_open(own.daemon_pid())
    own.ok("api", "daemon/stop", '{"wait_s": 0.1}')
    # Its process, not its note, which goes first: until then it could still take the answer.
    assert select.select([gone], [], [], LIMIT_S)[0], "the daemon did not end"
    os.close(gone)
    assert own.model is not None
    own.model.release()
    assert wait_released(own, job).code == 0
    record = read_job(own, job)
    assert (record["state"], record["attempt"]) == ("completed", 2)
    statuses = [each.get("status", "complete") for each in events_of(own, job, "item_added")]
    assert statuses == ["superseded", "complete"]
    check_disk(own)


def wait_released(world: World, job: str) -> Result:
    """Let every answer go on until the job is over."""
    assert world.model is not None
    running = world.start("jobs", "wait", job, "--timeout", str(LIMIT_S))
    while running.process.poll() is None:
        world.model.release()
        time.sleep(0.05)
    return running.finish()


# ---- parked --------------------------------------------------------------------------------


def park(world: World, name: str, prompt: str = f"ECHO:{LONG}") -> str:
    """A turn that waits for a person; its job."""
    for _ in range(2):
        world.ok("-s", name, f"ECHO:{LONG}")
    job = detach(world, "-s", name, "--overflow", "ask", prompt)
    wait_stored(
        world,
        "SELECT count(*) FROM events WHERE type = 'question_asked'"
        f" AND json_extract(body, '$.turn_id') = '{job}'",
    )
    return job


def test_a_parked_turn_survives_a_kill_and_is_answered_afterwards(own: World) -> None:
    job = park(own, "big")
    own.kill_daemon()
    listed = own.ok("list").out
    assert listed.startswith("Needs you\n")
    shown = own.ok("jobs", "show", job).out
    assert "2. Reset - Clear the history and start fresh" in shown
    assert f"Answer it: ask jobs show {job[:8]} --answer 1|2|3" in shown
    assert own.ask("jobs", "show", job, "--answer", "4").code == 2
    other = own.start("attach", "big", "--until-idle")
    other.wait_for("3. Continue")
    answered = own.ok("jobs", "show", job, "--answer", "reset")
    assert answered.err == "Answered: Reset - Clear the history and start fresh\n"
    assert wait(own, job).code == 0
    ended = other.finish()
    assert ended.code == 0
    assert "Reset - Clear the history and start fresh" in ended.out.split("3. Continue")[1]
    (answer,) = events_of(own, job, "question_answered")
    assert (answer["by"], answer["decision"]) == ("name:test-terminal", "reset")
    assert read_job(own, job)["attempt"] == 1
    assert own.ask("jobs", "show", job, "--answer", "1").code == 2
    check_disk(own)


def test_a_pipe_is_never_asked(own: World) -> None:
    job = park(own, "big")
    watching = own.start("attach", "big", "--until-idle", "--no-input")
    watching.wait_for("3. Continue")
    assert "Enter your choice" not in watching.out
    own.ok("jobs", "cancel", job)
    assert watching.finish().code == 0


# ---- kill -9 -------------------------------------------------------------------------------


def test_killed_at_ten_moments_at_once_each_turn_has_one_end(own: World) -> None:
    """Ten turns, each at another moment of its life, and one kill."""
    model = own.model
    assert model is not None
    completed = detach(own, "ECHO:over before")
    failed = detach(own, "FAIL 400")
    for job in (completed, failed):
        wait(own, job)
    parked = park(own, "parked", f"ECHO:{LONG}")
    answered = park(own, "answered", f"ECHO:{LONG}")
    resumed = park(own, "resumed", f"HOLD:2 {LONG}")  # told what it asked, and at it again
    own.ok("jobs", "show", resumed, "--answer", "reset")
    silent = detach(own, "-s", "busy", "HOLD:0")  # started, and nothing said yet
    queued = detach(own, "-s", "busy", "ECHO:after it")  # accepted only
    talking = detach(own, "HOLD:3")  # mid-delta
    withdrawn = detach(own, "-s", "busy", "ECHO:not wanted any more")
    own.ok("jobs", "cancel", withdrawn)
    attended = own.start("-s", "attended", "HOLD:2")
    attended.wait_for("tok1")
    saved = "SELECT count(*) FROM partials WHERE text LIKE '%tok1%'"
    wait_stored(own, saved, lambda turns: turns == 3)
    # The answer is the last thing that this daemon stores.
    own.ok("jobs", "show", answered, "--answer", "reset")
    attended.signal(9)
    attended.finish()
    own.kill_daemon()

    own.ok("daemon", "start")
    own.ok("jobs", "show", parked, "--answer", "reset")
    for job in (silent, queued, talking, answered, resumed, parked):
        assert wait_released(own, job).code == 0
    check_disk(own)
    states = {
        name: (read_job(own, job)["state"], read_job(own, job)["attempt"])
        for name, job in {
            "completed": completed,
            "failed": failed,
            "parked": parked,
            "silent": silent,
            "queued": queued,
            "talking": talking,
            "resumed": resumed,
            "withdrawn": withdrawn,
        }.items()
    }
    assert states == {
        "completed": ("completed", 1),
        "failed": ("discarded", 1),
        "parked": ("completed", 1),
        "silent": ("completed", 2),
        "queued": ("completed", 1),
        "talking": ("completed", 2),
        "resumed": ("completed", 2),
        "withdrawn": ("cancelled", 0),
    }
    assert read_job(own, answered)["state"] == "completed"
    # What an attempt had begun to say is kept for people, and told to no model.
    said = [each.get("status", "complete") for each in events_of(own, talking, "item_added")]
    assert said == ["superseded", "complete"]
    later = own.ok("-s", read_job(own, talking)["conversation_id"], "ECHO:and then?")
    assert later.code == 0
    words = [each["content"] for each in model.requests()[-1]["messages"]]
    assert words[-3] == "HOLD:3"
    assert words[-2].startswith("tok0 tok1 tok2 tok3"), "once, and whole"
    # An attended turn is not run again: it ends with the text so far.
    (turn_id,) = [each["turn_id"] for each in own.events("attended")[1:2]]
    (end,) = events_of(own, turn_id, "turn_finished")
    (item,) = events_of(own, turn_id, "item_added")
    assert (end["outcome"], item["status"]) == ("interrupted", "interrupted")
    assert [each["attempt"] for each in events_of(own, turn_id, "turn_started")] == [1]
    assert item["item"]["parts"][0]["text"].startswith("tok0 tok1")


def test_killed_again_and_again_ten_turns_come_to_ten_ends(own: World) -> None:
    """Whenever so many records more are on the disk, the daemon is killed."""
    jobs = [detach(own, "-s", f"talk {number}", "SLOW:0.03") for number in range(10)]
    kills = 0
    for step in range(4):  # a turn that was running at five deaths would be given up
        (count,) = query(own, "SELECT count(*) FROM events")[0]
        until = time.monotonic() + 0.15 * (step + 1)
        while (
            time.monotonic() < until and query(own, "SELECT count(*) FROM events")[0][0] < count + 7
        ):
            time.sleep(POLL_S)
        own.kill_daemon()
        kills += 1
        own.ok("daemon", "start")
    for job in jobs:
        assert wait(own, job).code == 0
    check_disk(own)
    attempts = [read_job(own, job)["attempt"] for job in jobs]
    assert max(attempts) > 1, "the kills came when all was over"
    assert max(attempts) <= kills + 1
    for job in jobs:
        (whole,) = [
            e
            for e in events_of(own, job, "item_added")
            if e.get("status", "complete") == "complete"
        ]
        text = whole["item"]["parts"][0]["text"]
        assert text.split() == [f"tok{number}" for number in range(20)]


def test_what_was_running_at_five_deaths_is_given_up(own: World) -> None:
    job = detach(own, "HOLD:2")
    for attempt in range(1, 6):
        wait_stored(
            own, f"SELECT attempt FROM jobs WHERE id = '{job}'", partial(operator.eq, attempt)
        )
        own.wait_saved("tok1")
        own.kill_daemon()
        own.ok("daemon", "start")
    assert wait(own, job).code == 1
    record = read_job(own, job)
    assert (record["state"], record["attempt"]) == ("discarded", 5)
    statuses = [each.get("status", "complete") for each in events_of(own, job, "item_added")]
    assert statuses == ["superseded"] * 4 + ["interrupted"]
    check_disk(own)


def test_a_callers_key_is_waited_for_and_the_same_prompt_brings_it(world: World) -> None:
    """The daemon has no key of its own; after the kill the same key word brings one again."""
    arguments = ("--detach", "--key", "mine", "HOLD:2")
    job = world.ok(*arguments).out.strip()
    world.wait_saved("tok1")
    world.kill_daemon()
    bare = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}
    assert world.ask("daemon", "start", env=bare).code == 0
    assert world.model is not None
    assert len(world.model.requests()) == 1
    assert read_job(world, job)["state"] == "running"
    assert world.ok(*arguments).out.strip() == job
    world.model.requests(at_least=2)
    world.model.release()
    assert wait(world, job).code == 0
    assert read_job(world, job)["attempt"] == 2
    check_disk(world)
