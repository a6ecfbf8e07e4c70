"""Two installed versions meet: the older daemon is used on, or replaced, and no prompt is lost."""

import json
import os
import select
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ask.protocol import PROTOCOL
from tests.system.installations import Installation
from tests.system.test_detached import check_disk, detach, open_own, wait
from tests.system.test_sharing import wait_until_accepted
from tests.system.world import LIMIT_S, World

OLD, NEW = "1.0.0", "2.0.0"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon knows its server itself."""
    yield from open_own(tmp_path / "home")


def read_status(world: World, installed: Installation) -> tuple[int, str, int]:
    """The daemon's pid, version and protocol, without starting one."""
    result = world.ask("daemon", "status", "--json", command=installed.ask)
    assert result.code == 0, result
    status = json.loads(result.out)
    return status["pid"], status["version"], status["protocol"]


def wait_until_gone(pid: int) -> None:
    """Until no process has this number."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            assert select.select([handle], [], [], LIMIT_S)[0], "it stays"
        finally:
            os.close(handle)


def test_of_one_protocol_the_older_daemon_is_used_on_and_replaced_when_idle(
    own: World, tmp_path: Path
) -> None:
    assert own.model is not None
    first, second = Installation(tmp_path / "a", OLD), Installation(tmp_path / "b", NEW)
    running = own.start("-s", "work", "HOLD:2", command=first.ask)
    running.wait_for("tok1")
    before = read_status(own, first)
    assert before[1:] == (OLD, PROTOCOL)
    later = own.start("-s", "work", "ECHO:by the newer", command=second.ask)
    wait_until_accepted(own, "work", 2)
    assert read_status(own, second) == before, "it is used on"
    told = own.ask("doctor", command=second.ask)
    assert f"ask is {NEW}; make them equal: ask daemon restart" in told.out
    # Another version comes in the older one's place: it leaves, but for nobody's answer.
    first.install(NEW)
    own.model.release()
    whole, answered = running.finish(), later.finish()
    assert (whole.code, answered.code, answered.out) == (0, 0, "by the newer\n"), (whole, answered)
    wait_until_gone(before[0])
    assert f"askd {NEW} is installed now: leaving" in own.log()
    assert own.ask("-s", "work", "ECHO:again", command=first.ask).out == "again\n"
    assert read_status(own, second)[1:] == (NEW, PROTOCOL)
    check_disk(own)


def test_a_daemon_of_an_older_protocol_is_replaced_and_no_prompt_is_lost(
    own: World, tmp_path: Path
) -> None:
    assert own.model is not None
    newer = Installation(tmp_path / "b", NEW, protocol=PROTOCOL + 1)
    running = own.start("-s", "work", "HOLD:2")
    running.wait_for("tok1")
    queued = detach(own, "-s", "work", "ECHO:queued at the older")
    old = own.daemon_pid()
    asking = own.start("-s", "other", "ECHO:by the newer", command=newer.ask)
    asking.wait_for("Replacing the older daemon", where="err")
    own.model.release()
    assert running.finish().code == 0, "what ran has come to its end"
    answered = asking.finish()
    assert (answered.code, answered.out) == (0, "by the newer\n"), answered
    assert read_status(own, newer)[1:] == (NEW, PROTOCOL + 1)
    assert own.daemon_pid() != old
    waited = own.ask("jobs", "wait", queued, "--timeout", "60", command=newer.ask)
    assert waited.code == 0, "what waited there runs here"
    check_disk(own)


def test_an_older_client_says_what_to_do_and_ends_nobody(own: World, tmp_path: Path) -> None:
    newer = Installation(tmp_path / "b", NEW, protocol=PROTOCOL + 1)
    assert own.ask("-s", "work", "ECHO:new", command=newer.ask).code == 0
    before = read_status(own, newer)
    for words in (("-s", "work", "ECHO:old"), ("list",), ("daemon", "restart")):
        refused = own.ask(*words)
        assert (refused.code, refused.out) == (69, ""), refused
        assert f"protocol {PROTOCOL + 1}, this ask speaks {PROTOCOL}" in refused.err
        assert "Update ask" in refused.err
    told = own.ask("doctor")
    assert told.code == 1
    assert "Update ask" in told.out
    assert read_status(own, newer) == before
    listed = own.ask("history", "show", "work", command=newer.ask).out
    assert "old" not in listed


def test_prompts_that_come_while_it_is_replaced_are_answered_once(
    own: World, tmp_path: Path
) -> None:
    """Turns run at the older one, and several newer clients come at once."""
    newer = Installation(tmp_path / "b", NEW, protocol=PROTOCOL + 1)
    jobs = [detach(own, "-s", f"talk {number}", "SLOW:0.02") for number in range(3)]
    racers = [
        own.start("-s", f"new {number}", f"ECHO:{number}", command=newer.ask) for number in range(4)
    ]
    for number, racer in enumerate(racers):
        result = racer.finish()
        assert (result.code, result.out) == (0, f"{number}\n"), result
    for job in jobs:
        assert own.ask("jobs", "wait", job, "--timeout", "60", command=newer.ask).code == 0
    assert wait(own, jobs[0]).code == 69
    check_disk(own)
