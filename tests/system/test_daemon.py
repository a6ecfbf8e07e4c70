"""The daemon's life: one of it, found by everyone, gone when told, back after a kill."""

import json
import os
import signal
import stat
from pathlib import Path

from tests.system.test_asking import TOKENS, wait_for_end
from tests.system.test_sharing import wait_until_accepted
from tests.system.world import ASK, World

RACERS = 20


def test_twenty_racing_clients_start_one_daemon(world: World) -> None:
    racers = [
        world.start(f"ECHO:racer {number}", env={"ASK_TERMINAL": f"t{number}"})
        for number in range(RACERS)
    ]
    for number, racer in enumerate(racers):
        result = racer.finish()
        assert (result.code, result.out.strip()) == (0, f"racer {number}"), result
    assert world.find_daemons() == [world.daemon_pid()]


def test_racing_clients_after_a_kill_start_one_daemon(world: World) -> None:
    world.ok("ECHO:first")
    world.kill_daemon()
    racers = [world.start("-s", "one", f"ECHO:racer {number}") for number in range(RACERS)]
    for number, racer in enumerate(racers):
        result = racer.finish()
        assert (result.code, result.out.strip()) == (0, f"racer {number}"), result
    assert world.find_daemons() == [world.daemon_pid()]
    finished = [e for e in world.events("one") if e["type"] == "turn_finished"]
    assert len(finished) == RACERS


def test_an_empty_environment_finds_the_same_daemon(world: World) -> None:
    """`env -i ask` has no ASK_HOME, so the usual places under HOME are what is tested here."""
    usual = {"ASK_HOME": None, "ASK_TERMINAL": None, "XDG_RUNTIME_DIR": str(world.home / "run")}
    (world.home / "run").mkdir(mode=0o700)
    started = world.ask("-s", "shared", "ECHO:from a terminal", env=usual)
    assert started.code == 0, started
    status = world.ask("daemon", "status", "--json", env=usual)
    try:
        bare = world.ask(
            "history", "show", "shared", command=("env", "-i", f"HOME={world.home}", ASK)
        )
        assert bare.code == 0, bare
        assert "from a terminal" in bare.out
        other = world.ask(
            "daemon", "status", "--json", command=("env", "-i", f"HOME={world.home}", ASK)
        )
        assert json.loads(other.out)["pid"] == json.loads(status.out)["pid"]
    finally:
        stopped = world.ask("daemon", "stop", env=usual)
    assert stopped.code == 0, stopped


def test_status_stop_and_restart_tell_the_truth(world: World) -> None:
    assert world.ask("daemon", "status").code == 69
    world.ok("daemon", "start")
    status = json.loads(world.ok("daemon", "status", "--json").out)
    assert status["pid"] == world.daemon_pid()
    for name in ("version", "protocol", "boot_id", "uptime_s", "rss_bytes", "sessions", "jobs"):
        assert name in status
    world.ok("daemon", "restart")
    assert json.loads(world.ok("daemon", "status", "--json").out)["pid"] != status["pid"]
    world.ok("daemon", "stop")
    assert world.owner() is None
    assert world.ask("daemon", "status").code == 69
    assert world.find_daemons() == []


def test_nobody_else_can_reach_the_socket_or_the_data(world: World) -> None:
    world.ok("ECHO:x")
    note = world.owner()
    assert note is not None
    socket = Path(note["socket"])
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    for path in (world.ask_home / "data").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_killed_daemon_loses_nothing_that_was_accepted(world: World) -> None:
    assert world.model is not None
    first = world.start("-s", "work", "HOLD:3 first")
    first.wait_for("tok2")
    others = [world.start("-s", "work", f"ECHO:later {number}") for number in range(3)]
    wait_until_accepted(world, "work", 4)
    world.wait_saved("tok2")
    world.kill_daemon()
    world.model.release()
    for number, other in enumerate(others):
        result = other.finish()
        assert (result.code, result.out.strip()) == (0, f"later {number}"), result
    interrupted = first.finish()
    assert interrupted.code == 1, interrupted
    assert "tok2" in interrupted.out
    events = world.events("work")
    finished = [e["turn_id"] for e in events if e["type"] == "turn_finished"]
    accepted = [e["turn_id"] for e in events if e["type"] == "prompt_accepted"]
    assert sorted(finished) == sorted(accepted)
    outcomes = {e["turn_id"]: e["outcome"] for e in events if e["type"] == "turn_finished"}
    assert list(outcomes.values()).count("interrupted") == 1
    assert "tok2" in world.ok("history", "show", "work", "--raw").out


def test_a_prompt_survives_a_kill_with_nobody_waiting(world: World) -> None:
    assert world.model is not None
    first = world.start("-s", "work", "HOLD:3")
    first.wait_for("tok2")
    second = world.start("-s", "work", "ECHO:nobody waits", env={"ASK_TERMINAL": "b"})
    wait_until_accepted(world, "work", 2)
    for client in (first, second):
        client.process.kill()
        client.finish()
    world.kill_daemon()
    world.ok("daemon", "start")
    # The prompt's key for the provider was its caller's and died with the daemon: it
    # waits for its caller for a minute. With a key of the daemon's own it runs at once.
    events = world.events("work")
    assert [e["type"] for e in events].count("prompt_accepted") == 2


def test_sigterm_drains(world: World) -> None:
    assert world.model is not None
    running = world.start("-s", "work", "HOLD:2")
    running.wait_for("tok1")
    os.kill(world.daemon_pid(), signal.SIGTERM)
    world.model.release()
    result = running.finish()
    assert result.code == 0, result
    assert result.out.strip() == TOKENS.strip()
    world.ok("-s", "work", "ECHO:again")


def test_a_client_outlives_a_restart_between_turns(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    world.kill_daemon()
    world.ok("-s", "work", "ECHO:two")
    wait_for_end(world, "work")
