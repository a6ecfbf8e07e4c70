"""Notifications of a real daemon: one for each end and each question, whatever the command does."""

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.notifiers import Program, name_command, write_program
from tests.system.test_detached import LONG, open_own, park, wait, wait_stored
from tests.system.world import LIMIT_S, World

POLL_S = 0.02


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon knows its server itself, and has no desktop."""
    yield from open_own(tmp_path)


def use(world: World, program: Program, *words: str, more: str = "") -> None:
    """Have the daemon notify with this program from now on."""
    config = world.ask_home / "config" / "config.toml"
    config.write_text(config.read_text() + name_command([str(program.path), *words]) + more)


def wait_until(done: Callable[[], object], what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < until, what
        time.sleep(POLL_S)


def hear(program: Program, count: int) -> list[dict[str, Any]]:
    """The first so many notifications, when they have come."""
    wait_until(lambda: len(program.read()) >= count, f"never came: {count}: {program.read()}")
    return program.read()


def list_jobs(world: World) -> list[dict[str, Any]]:
    """The jobs of notifications, over or not."""
    found: list[dict[str, Any]] = json.loads(
        world.ok("jobs", "list", "--all", "--kind", "notify", "--json").out
    )
    return found


def wait_over(world: World, state: str, count: int = 1) -> dict[str, Any]:
    """The newest job of a notification, when `count` of them are over, all in this state."""
    wait_until(
        lambda: [each["state"] for each in list_jobs(world)] == [state] * count,
        f"they do not end as {state}: {list_jobs(world)}",
    )
    return list_jobs(world)[0]


def test_the_end_of_a_detached_turn_is_told_once(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    use(own, program, "{title}", "{body}", "{outcome}={code}", "in {conversation}")
    job = own.ok("--detach", "--notify", "-s", "nightly", "ECHO:all is well").out.strip()
    (heard,) = hear(program, 1)
    id = json.loads(own.ok("jobs", "show", job, "--json").out)["conversation_id"]
    assert heard["argv"] == [
        "ask: nightly",
        f"Done: all is well\nRead it: ask history show {id[:8]}",
        "completed=0",
        f"in {id}",
    ]
    assert json.loads(heard["said"]) == {
        "event": "turn_finished",
        "title": "ask: nightly",
        "body": heard["argv"][1],
        "conversation_id": id,
        "turn_id": job,
        "name": "nightly",
        "outcome": "completed",
        "code": 0,
        "question_id": None,
    }
    wait_over(own, "completed")
    failed = own.ok("--detach", "--notify", "FAIL 400").out.strip()
    wait(own, failed)
    heard = hear(program, 2)[1]
    assert heard["argv"][1].startswith("Failed: ")
    assert "HTTP 400" in heard["argv"][1]
    assert heard["argv"][2] == "failed=1"
    assert not {"OPENAI_API_KEY", "WORK_KEY"} & heard["environ"].keys()


def test_who_did_not_ask_for_it_hears_nothing(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    use(own, program)
    for words in (["--detach", "ECHO:one"], ["ECHO:two"]):
        own.ok(*words)
    # Whoever stops a turn knows that it has ended.
    held = own.ok("--detach", "--notify", "HOLD:2").out.strip()
    own.wait_saved("tok1")
    own.ok("jobs", "cancel", held)
    own.ok("--notify", "ECHO:three")
    (heard,) = hear(program, 1)
    assert "three" in heard["argv"][1]
    wait_until(lambda: not json.loads(own.ok("jobs", "list", "--json").out), "jobs are left")
    assert len(program.read()) == len(list_jobs(own)) == 1


def test_a_setting_makes_it_the_default_of_detached_turns(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    use(own, program, more="detached = true\n")
    for words in (["--detach", "--no-notify", "ECHO:one"], ["ECHO:two"]):
        own.ok(*words)
    own.ok("--detach", "ECHO:three")
    (heard,) = hear(program, 1)
    assert "three" in heard["argv"][1]
    assert len(list_jobs(own)) == 1


def test_a_question_is_told_with_how_to_answer_and_then_the_end(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    use(own, program, "{outcome}", "{body}", "{code}", more="detached = true\n")
    job = park(own, "big")
    (heard,) = hear(program, 1)
    outcome, body, code = heard["argv"]
    id = json.loads(heard["said"])["conversation_id"]
    assert (outcome, code) == ("asks", "")
    first, hint = body.splitlines()
    assert first.startswith("Asks you: ")
    assert hint == f"Answer it: ask attach {id[:8]}"
    assert json.loads(heard["said"])["question_id"] == f"{job}.q1"
    wait_over(own, "completed")
    # A daemon that comes to the same question again does not tell of it again.
    own.kill_daemon()
    own.ok("jobs", "show", job, "--answer", "reset")
    assert wait(own, job).code == 0
    assert [each["argv"][0] for each in hear(program, 2)] == ["asks", "completed"]
    wait_over(own, "completed", 2)


def test_what_a_stopped_daemon_owed_the_next_one_tells(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    use(own, program)
    job = own.ok("--detach", "--notify", "HOLD:2").out.strip()
    own.wait_saved("tok1")
    gone = os.pidfd_open(own.daemon_pid())
    own.ok("api", "daemon/stop", '{"wait_s": 0.1}')
    assert select.select([gone], [], [], LIMIT_S)[0], "the daemon did not end"
    os.close(gone)
    assert program.read() == [], "it has not ended: another daemon runs it again"
    assert own.model is not None
    own.ok("daemon", "start")
    own.model.requests(at_least=2)
    own.model.release()
    assert wait(own, job).code == 0
    hear(program, 1)
    wait_over(own, "completed")
    assert len(program.read()) == 1


def test_an_attended_turn_that_dies_with_its_daemon_is_told_by_the_next(
    own: World, tmp_path: Path
) -> None:
    program = write_program(tmp_path)
    use(own, program)
    attended = own.start("--notify", "-s", "watched", "HOLD:2")
    attended.wait_for("tok1")
    attended.signal(signal.SIGKILL)
    attended.finish()
    own.kill_daemon()
    own.ok("daemon", "start")
    own.ok("history", "show", "watched")  # it is recovered when somebody asks for it, or before
    (heard,) = hear(program, 1)
    assert heard["argv"][1].startswith("Interrupted: The daemon stopped while this turn")


def test_killed_while_the_command_runs_it_is_not_run_twice(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path, "hangs")
    use(own, program)
    own.ok("--detach", "--notify", "ECHO:one")
    hear(program, 1)
    own.kill_daemon()
    own.ok("daemon", "start")
    job = wait_over(own, "discarded")
    assert "the daemon stopped during this try" in own.ok("jobs", "logs", job["id"]).out
    assert len(program.read()) == 1


def test_killed_before_it_began_it_is_run_once(own: World, tmp_path: Path) -> None:
    """Two commands at once, of which both hang: the third waits, and the daemon is killed."""
    program = write_program(tmp_path, "hangs")
    use(own, program)
    for _ in range(3):
        own.ok("--detach", "--notify", "ECHO:one")
    hear(program, 2)
    wait_stored(own, "SELECT count(*) FROM jobs WHERE kind = 'notify'", lambda found: found == 3)
    own.kill_daemon()
    write_program(tmp_path, "works")
    own.ok("daemon", "start")
    wait_until(
        lambda: (
            sorted(each["state"] for each in list_jobs(own))
            == ["completed", "discarded", "discarded"]
        ),
        "they do not end",
    )
    assert len(program.read()) == 3


def test_a_command_that_fails_is_said_once_and_can_be_tried_again(
    own: World, tmp_path: Path
) -> None:
    program = write_program(tmp_path, "fails")
    use(own, program)
    job = own.ok("--detach", "--notify", "ECHO:one").out.strip()
    assert wait(own, job).code == 0
    told = wait_over(own, "discarded")
    said = f"{program.path} ended with status 1: no such desktop"
    assert said in own.ok("jobs", "logs", told["id"]).out
    assert own.log().count("Nobody was notified") == 1
    assert "\x1b" not in own.log()
    assert said in own.ask("doctor").out
    write_program(tmp_path, "works")
    own.ok("jobs", "retry", told["id"])
    hear(program, 2)
    wait_over(own, "completed")
    assert said not in own.ask("doctor").out


def test_a_command_without_an_end_is_ended(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path, "floods")
    use(own, program)
    own.ok("--detach", "--notify", "ECHO:one")
    hear(program, 1)
    assert own.ok("ECHO:two").out == "two\n", "nobody waits for it"
    told = wait_over(own, "discarded")
    assert "took longer than 10 s" in told["error"]


def test_one_that_is_not_there_is_said_at_once(own: World, tmp_path: Path) -> None:
    missing = Program(tmp_path / "nowhere", tmp_path / "nothing")
    use(own, missing)
    result = own.ok("--detach", "--notify", "ECHO:one")
    sentence = f"[notify] command: {missing.path} is no program on the daemon's PATH"
    assert sentence in result.err
    assert len(result.out.splitlines()) == 1
    attended = own.ok("--notify", "ECHO:two")
    assert (attended.out, sentence in attended.err) == ("two\n", True)
    assert sentence in own.ask("doctor").out
    wait_over(own, "discarded", 2)


def test_without_a_desktop_there_is_nobody(own: World, tmp_path: Path) -> None:
    result = own.ok("--detach", "--notify", "ECHO:one")
    assert "nothing to notify with" in result.err or "nobody to notify" in result.err
    assert own.ask("--ephemeral", "--notify", "ECHO:one").code == 2


def test_notify_send_is_used_where_there_is_a_desktop(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    program = write_program(programs, name="notify-send")
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    (runtime / "bus").touch()
    for own in open_own(tmp_path):
        own.env["PATH"] = f"{programs}:{own.env['PATH']}"
        own.env["XDG_RUNTIME_DIR"] = str(runtime)
        own.ok("--detach", "--notify", "-s", "a <b>", "ECHO:--help <i>x</i> & \\074b>")
        (heard,) = hear(program, 1)
        assert heard["argv"][:4] == ["--app-name=ask", "--", "ask: a <b>", heard["argv"][3]]
        line = heard["argv"][3].splitlines()[0]
        assert line == "Done: --help &lt;i&gt;x&lt;/i&gt; &amp; \\\\074b&gt;"
        assert heard["environ"]["XDG_RUNTIME_DIR"] == str(runtime)
        done = own.ask("doctor", "--notify")
        assert "a notification was sent" in done.out
        assert hear(program, 2)[1]["argv"][2] == "ask: a test"


def test_what_people_and_models_say_is_only_text(own: World, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    use(own, program, "{title}", "{body}")
    said = "ECHO:$(touch pwned) `id` {title} \x1b]0;x\x07\u202egnp.exe"
    own.ok("--detach", "--notify", "-s", "{body}; rm -rf ~", said)
    (heard,) = hear(program, 1)
    title, body = heard["argv"]
    assert title == "ask: {body}; rm -rf ~"
    assert body.splitlines()[0] == "Done: $(touch pwned) `id` {title} gnp.exe"
    assert not list(tmp_path.rglob("pwned"))
    long = own.ok("--detach", "--notify", f"ECHO:{LONG}").out.strip()
    wait(own, long)
    assert len(hear(program, 2)[1]["argv"][1]) < 300
