"""`ask -H` where the way breaks in the middle, or does not come about at all."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable

import pytest

from tests.system.pairs import ANSWER, Pair, needs_sshd, pair, wait_connected
from tests.system.sshd import NAME, make_key
from tests.system.world import LIMIT_S

__all__ = ["pair"]
pytestmark = needs_sshd


# ---- a link that breaks --------------------------------------------------------------


def cut_ssh(pair: Pair) -> None:
    for pid in pair.find_ssh():
        os.kill(pid, signal.SIGKILL)


def cut_sshd(pair: Pair) -> None:
    pair.server.cut()


@pytest.mark.parametrize("cut", [cut_ssh, cut_sshd])
def test_a_link_that_is_cut_in_mid_answer_loses_and_doubles_nothing(
    pair: Pair, cut: Callable[[Pair], None]
) -> None:
    running = pair.near.start("-s", "work", "SLOW:0.1")
    for token in ("tok2", "tok7", "tok12"):
        running.wait_for(token)
        cut(pair)
    result = running.finish()
    assert (result.code, result.out) == (0, f"{ANSWER}\n")
    kinds = [event["type"] for event in pair.far.events("work")]
    assert kinds.count("prompt_accepted") == 1
    assert kinds.count("turn_finished") == 1


def test_attach_goes_on_after_a_cut(pair: Pair) -> None:
    pair.near.ok("new", "work")
    attached = pair.near.start("attach", "work")
    wait_connected(pair)
    asking = pair.far.start("-s", "work", "SLOW:0.1")
    attached.wait_for("tok3")
    pair.server.cut()
    attached.wait_for("tok19")
    asking.finish()
    attached.signal(signal.SIGINT)
    result = attached.finish()
    assert result.code == 0
    assert re.findall(r"tok\d+", result.out) == re.findall(r"tok\d+", ANSWER)
    assert "connecting again" in result.err


def test_jobs_wait_goes_on_after_a_cut(pair: Pair) -> None:
    job = pair.near.ok("--detach", "-s", "work", "HOLD").out.strip()
    waiting = pair.near.start("jobs", "wait", job)
    wait_connected(pair)
    pair.server.cut()
    wait_connected(pair)
    assert pair.far.model is not None
    pair.far.model.release()
    result = waiting.finish()
    assert (result.code, result.out.split()) == (0, [job, "completed"])


def test_the_far_daemon_may_die_and_come_back(pair: Pair) -> None:
    job = pair.near.ok("--detach", "-s", "work", "SLOW:0.05").out.strip()
    log = pair.near.start("jobs", "logs", "-f", job)
    log.wait_for("tok2")
    pair.far.kill_daemon()
    result = log.finish()
    assert result.code == 0, result
    assert "tok19" in result.out


def test_a_host_that_stays_away_ends_with_69_and_what_ssh_says(pair: Pair) -> None:
    patient = (
        "import ask.patience as p, sys; p.FAR_LIMIT_S = 1.0\n"
        "from ask.__main__ import main\nsys.argv[0] = 'ask'\nmain()"
    )
    running = pair.near.start("-s", "work", "HOLD", command=(sys.executable, "-c", patient))
    running.wait_for("tok2")
    pair.server.vanish()
    result = running.finish()
    assert result.code == 69
    assert f"{NAME} cannot be reached: " in result.err
    assert "Connection refused" in result.err
    conversation = pair.far.ok("history", "show", "work", "--json").out
    assert f"The turn goes on there: ask attach {json.loads(conversation)['id'][:8]}" in result.err
    assert pair.far.model is not None
    pair.far.model.release()


# ---- a link that does not come about -------------------------------------------------


def refuse(pair: Pair, *said: str, code: int = 69, env: dict[str, str] | None = None) -> str:
    begun = time.monotonic()
    result = pair.near.ask("ECHO:x", env=env)
    assert result.code == code, result
    assert not result.out
    for each in said:
        assert each in result.err
    assert time.monotonic() - begun < LIMIT_S / 2
    assert pair.far.owner() is None or pair.far.model is not None
    return result.err


def test_no_ssh_here(pair: Pair) -> None:
    (pair.near.home / "bin").mkdir()
    path = str(pair.near.home / "bin")
    refuse(pair, "There is no ssh here", "openssh-client", env={"PATH": path})


def test_an_unknown_name(pair: Pair) -> None:
    address = {"ASK_HOST": "ssh://nowhere.invalid"}
    refuse(pair, "nowhere.invalid cannot be reached: ", "Could not resolve", env=address)


def test_a_host_key_that_is_not_known(pair: Pair) -> None:
    (pair.server.directory / "known_hosts").write_text("")
    refuse(pair, "cannot be reached: ", "Host key verification failed.", f"ssh {NAME}")


def test_the_wrong_key(pair: Pair) -> None:
    for name in ("key", "key.pub"):
        (pair.server.directory / name).unlink()
    make_key(pair.server.directory / "key")
    refuse(pair, "cannot be reached: ", "Permission denied (publickey)")


def test_nobody_listens(pair: Pair) -> None:
    pair.server.stop()
    refuse(pair, "cannot be reached: ", "Connection refused")


def test_no_ask_over_there(pair: Pair) -> None:
    command = {"ASK_REMOTE_COMMAND": "/nowhere/ask"}
    refuse(pair, f"There is no ask on {NAME}", "/nowhere/ask", "ASK_REMOTE_COMMAND", env=command)


def write_program(pair: Pair, text: str) -> dict[str, str]:
    program = pair.far.home / "ask program"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return {"ASK_REMOTE_COMMAND": f"'{program}'"}


def test_an_ask_that_is_older_than_this(pair: Pair) -> None:
    old = write_program(
        pair, "echo \"This version of ask has no command 'dial-stdio'.\" >&2; exit 2"
    )
    refuse(pair, f"The ask on {NAME} cannot be reached", "has no command 'dial-stdio'", env=old)


def test_a_shell_that_greets(pair: Pair) -> None:
    # Already there: one that is started meanwhile would outlive what ends the far side.
    pair.far.ok("daemon", "start")
    # No daemon is behind it: one that comes when nobody waits for it any more would stay.
    loud = write_program(pair, 'echo "Welcome to $HOSTNAME"; exec cat > /dev/null')
    refuse(pair, "something else than a daemon: 'Welcome to", env=loud)


def test_a_daemon_that_does_not_start_says_why(pair: Pair) -> None:
    config = pair.far.ask_home / "config" / "config.toml"
    config.write_text("nonsense = 1\n")
    said = refuse(pair, f"On {NAME}: The daemon did not start", "nonsense", code=2)
    assert "Traceback" not in said
