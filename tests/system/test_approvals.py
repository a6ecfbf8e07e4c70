"""Approvals of a real daemon that is killed at every stage, and of many people at once."""

import json
import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.ticks import holds_within
from tests.system.servers import open_project, start_daemon
from tests.system.test_detached import POLL_S, check_disk, events_of, query, read_job, wait
from tests.system.world import ASK, LIMIT_S, World

Map = dict[str, Any]
SURVIVAL_S = 3.0
"""What a command started ends with its daemon; nothing of it is left after this."""


@pytest.fixture
def project(world: World) -> Path:
    """A directory to work in, and a server that wants no key: callers' keys die with a daemon."""
    return open_project(world)


def leave(world: World, project: Path, *calls: tuple[str, Map], approve: str = "ask") -> str:
    """Leave a prompt whose model makes these calls at once; its job."""
    result = world.ask(
        *("--detach", "-T", "all", "--approve", approve),
        "CALLS:" + json.dumps(calls),
        command=("env", "-C", str(project), ASK),
    )
    assert result.code == 0, result
    return result.out.strip()


def run(line: str) -> tuple[str, Map]:
    return "run_command", {"command": line}


def write(name: str) -> tuple[str, Map]:
    return "write_file", {"path": name, "content": f"{name}\n"}


def until(holds: Callable[[], Any], what: str) -> None:
    """Wait until it holds."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(POLL_S)


def wait_asked(world: World, job: str, count: int) -> list[Map]:
    """The turn's questions, once there are so many on the disk."""
    until(lambda: len(events_of(world, job, "question_asked")) == count, "a question")
    return events_of(world, job, "question_asked")


def answer(world: World, job: str, decision: str) -> None:
    """Answer the first open question of a job."""
    world.ok("jobs", "show", job, "--answer", decision)


def outputs_of(world: World, job: str) -> list[Map]:
    items = [each["item"] for each in events_of(world, job, "item_added")]
    return [each for each in items if each["type"] == "tool_output"]


def restart(world: World) -> None:
    world.kill_daemon()
    world.ok("daemon", "start")


# ---- kill -9 -----------------------------------------------------------------------------


def test_killed_while_it_asks_all_its_questions_stay(world: World, project: Path) -> None:
    job = leave(world, project, write("a"), write("b"), ("list_directory", {"path": "."}))
    wait_asked(world, job, 2)
    restart(world)
    assert world.ok("list").out.startswith("Needs you\n")
    answer(world, job, "yes")
    restart(world)  # one is answered, and nothing has begun
    assert list(project.iterdir()) == []
    assert outputs_of(world, job) == []
    answer(world, job, "no because of b")
    assert wait(world, job).code == 0
    assert [each.name for each in project.iterdir()] == ["a"]
    assert len(events_of(world, job, "question_asked")) == 2
    assert [each.get("synthetic") for each in outputs_of(world, job)].count("denied") == 1
    assert read_job(world, job)["attempt"] == 1
    check_disk(world)


def test_killed_when_all_was_refused_it_goes_on(world: World, project: Path) -> None:
    """Nothing can have begun: whenever the daemon dies after that, another one ends the turn."""
    job = leave(world, project, write("a"))
    wait_asked(world, job, 1)
    answer(world, job, "no")
    restart(world)
    assert wait(world, job).code == 0
    assert list(project.iterdir()) == []
    (output,) = outputs_of(world, job)
    assert output["synthetic"] == "denied"
    check_disk(world)


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.1])
def test_killed_just_after_the_answer_it_runs_once_or_never(
    world: World, project: Path, delay_s: float
) -> None:
    job = leave(world, project, run("echo begun >> begun; sleep 60; echo ended > ended"))
    wait_asked(world, job, 1)
    answer(world, job, "yes")
    time.sleep(delay_s)  # the moment itself is what is varied
    restart(world)
    assert wait(world, job).code == 1
    (output,) = outputs_of(world, job)
    assert output["synthetic"] == "interrupted"
    (end,) = events_of(world, job, "turn_finished")
    assert end["outcome"] == "interrupted"
    begun = project / "begun"
    assert not begun.exists() or begun.read_text() == "begun\n"
    assert not (project / "ended").exists()
    check_disk(world)


@pytest.mark.parametrize("approve", ["ask", "auto"])
def test_killed_while_a_tool_runs_nothing_of_it_survives_or_runs_again(
    world: World, project: Path, approve: str
) -> None:
    line = "echo $$ > pid; (setsid sleep 61 &) ; echo begun >> begun; sleep 61"
    job = leave(world, project, run(line), ("list_directory", {"path": "."}), approve=approve)
    if approve == "ask":
        wait_asked(world, job, 1)
        answer(world, job, "yes")
    until(lambda: (project / "begun").exists(), "the command")
    assert sleepers(project)
    world.kill_daemon()
    assert holds_within(SURVIVAL_S, lambda: not sleepers(project)), sleepers(project)
    world.ok("daemon", "start")
    assert wait(world, job).code == 1
    outputs = {each["name"]: each.get("synthetic") for each in outputs_of(world, job)}
    assert len(outputs_of(world, job)) == 2
    assert outputs["run_command"] == "interrupted"
    assert (project / "begun").read_text() == "begun\n"
    assert read_job(world, job)["attempt"] == 1
    # The conversation goes on from there, and its next request has nothing unpaired.
    conversation = read_job(world, job)["conversation_id"]
    assert world.ok("-s", conversation, "ECHO:on").out == "on\n"
    check_disk(world)


def test_killed_while_a_tool_without_effects_runs_the_turn_is_tried_again(
    world: World, project: Path
) -> None:
    """A daemon that finds no ripgrep searches with an expression that never comes to an end."""
    (project / "notes").write_text("a" * 64 + "b\n")
    daemon = start_daemon(world, {"PATH": "/nonexistent"})
    calls = (("search_files", {"pattern": "(a+)+$"}), ("read_file", {"path": "notes"}))
    job = leave(world, project, *calls)
    until(lambda: sleepers(project), "the search")
    world.kill_daemon()
    daemon.finish()
    assert holds_within(SURVIVAL_S, lambda: not sleepers(project)), sleepers(project)
    (project / "notes").write_text("the search comes to an end\n")
    world.ok("daemon", "start")
    assert wait(world, job).code == 0
    assert read_job(world, job)["attempt"] == 2
    (end,) = events_of(world, job, "turn_finished")
    assert end["outcome"] == "completed"
    calls_of = [
        call["call_id"]
        for each in events_of(world, job, "item_added")
        for call in each["item"].get("calls", ())
    ]
    assert sorted(each["call_id"] for each in outputs_of(world, job)) == sorted(calls_of)
    assert [each.get("synthetic") for each in outputs_of(world, job)] == [None, None]
    assert events_of(world, job, "question_asked") == []
    check_disk(world)


def sleepers(directory: Path) -> list[int]:
    """Processes whose working directory this is."""
    found = []
    for each in os.listdir("/proc"):
        try:
            if each.isdigit() and os.readlink(f"/proc/{each}/cwd") == str(directory):
                found.append(int(each))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("approve", ["ask", "auto"])
def test_killed_when_a_tool_is_done_it_is_not_run_again(
    world: World, project: Path, approve: str
) -> None:
    job = leave(world, project, run("echo begun >> begun"), approve=approve)
    if approve == "ask":
        wait_asked(world, job, 1)
        answer(world, job, "yes")
    until(lambda: outputs_of(world, job), "the output")
    restart(world)
    assert wait(world, job).code in (0, 1)
    assert (project / "begun").read_text() == "begun\n"
    assert [each.get("synthetic") for each in outputs_of(world, job)] == [None]
    check_disk(world)


# ---- people ------------------------------------------------------------------------------


def test_of_many_answers_at_once_one_counts(world: World, project: Path) -> None:
    job = leave(world, project, write("a"))
    (question,) = wait_asked(world, job, 1)
    conversation = read_job(world, job)["conversation_id"]
    said = [
        {
            "conversation_id": conversation,
            "question_id": question["question_id"],
            "digest": question["digest"],
            "decision": decision,
            "terminal": f"name:{number}",
        }
        for number, decision in enumerate(["yes", "no"] * 3)
    ]
    running = [world.start("api", "question/answer", json.dumps(each)) for each in said]
    codes = [each.finish().code for each in running]
    assert sorted(codes) == [0, 3, 3, 3, 3, 3]
    assert wait(world, job).code == 0
    winner = said[codes.index(0)]
    (answered,) = events_of(world, job, "question_answered")
    assert (answered["by"], answered["decision"]) == (winner["terminal"], winner["decision"])
    assert (project / "a").exists() == (winner["decision"] == "yes")


def test_an_answer_to_something_else_is_none(world: World, project: Path) -> None:
    job = leave(world, project, write("a"), write("b"))
    first, second = wait_asked(world, job, 2)
    assert first["digest"] != second["digest"]
    said = {
        "conversation_id": read_job(world, job)["conversation_id"],
        "question_id": first["question_id"],
        "digest": second["digest"],
        "decision": "yes",
    }
    assert world.ask("api", "question/answer", json.dumps(said)).code == 2
    said |= {"digest": first["digest"], "decision": "maybe"}
    assert world.ask("api", "question/answer", json.dumps(said)).code == 2
    assert events_of(world, job, "question_answered") == []
    world.ok("jobs", "cancel", job)
    assert [each["synthetic"] for each in outputs_of(world, job)] == ["interrupted"] * 2
    assert query(world, "SELECT count(*) FROM open_turns") == [(0,)]


def test_a_stopped_daemon_leaves_the_questions_to_the_next_at_once(
    world: World, project: Path
) -> None:
    job = leave(world, project, write("a"))
    wait_asked(world, job, 1)
    gone = os.pidfd_open(world.daemon_pid())
    begun = time.monotonic()
    world.ok("daemon", "stop")
    assert select.select([gone], [], [], LIMIT_S)[0], "the daemon did not end"
    os.close(gone)
    assert time.monotonic() - begun < LIMIT_S / 2, "nobody waits for a person"
    answer(world, job, "yes")
    assert wait(world, job).code == 0
    assert (project / "a").read_text() == "a\n"


def test_what_changed_since_it_was_asked_about_is_not_run(world: World, project: Path) -> None:
    """The diff that was shown is not the one that it would be now."""
    notes = project / "notes"
    notes.write_text("mine\n")
    job = leave(world, project, write("notes"))
    (question,) = wait_asked(world, job, 1)
    assert "-mine" in question["detail"]["body"]
    notes.write_text("mine, and more of it\n")
    answer(world, job, "yes")
    assert wait(world, job).code == 0
    assert notes.read_text() == "mine, and more of it\n"
    (output,) = outputs_of(world, job)
    assert "no longer what a person was asked about" in output["parts"][0]["text"]
