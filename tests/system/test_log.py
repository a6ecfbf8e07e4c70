"""The log of a daemon that a client started: put aside in time, followed through it, and whole."""

import json

from askd.log_file import LOG_BYTES
from tests.system.world import World


def test_a_log_that_has_grown_is_put_aside_and_followed(world: World) -> None:
    state = world.ask_home / "state"
    state.mkdir(parents=True)
    log = state / "askd.log"
    log.write_text("of another day\n" + "x" * LOG_BYTES + "\nthe last of that day\n")
    following = world.start("daemon", "logs", "-f", "-n", "1")
    following.wait_for("the last of that day")
    world.ok("ECHO:hello")
    assert (state / "askd.log.1").read_text().startswith("of another day\n")
    assert log.stat().st_size < 64 * 1024
    assert log.stat().st_mode & 0o777 == 0o600
    world.ok("daemon", "stop")
    following.wait_for("Stopped: pid=")
    assert "Ready: pid=" in following.out
    records = [json.loads(line) for line in world.ok("daemon", "logs", "--json").out.splitlines()]
    mine = [each for each in records if each["name"] is not None]
    assert {each["level"] for each in mine} == {"info"}
    assert mine[-1]["message"].startswith("Stopped: pid=")
    following.signal(2)
    assert following.finish().code == 130


def test_a_start_that_fails_says_why_though_its_log_was_put_aside(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[log]\nlevel = 'loud'\n")
    state = world.ask_home / "state"
    state.mkdir()
    (state / "askd.log").write_text("x" * LOG_BYTES + "\n")
    refused = world.ask("ECHO:hello")
    assert refused.code == 2, refused
    assert "line 2" in refused.err
    assert "xxx" not in refused.err
