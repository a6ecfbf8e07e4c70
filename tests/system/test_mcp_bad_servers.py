"""Servers of tools gone wrong in every way, through the real daemon.

Whatever they do, the model is told something, the person a sentence, the turn ends in time, the
daemon goes on in bounded memory, and no process is left behind.
"""

import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.servers import start_daemon
from tests.system.test_bad_input import assert_sentence
from tests.system.test_terminal import Terminal
from tests.system.tool_servers import Tools, fake, wait_until
from tests.system.world import World, open_world

MIB = 1 << 20
CALM_S = 25.0
"""Whatever a server does: a turn that needs it is over by then, on a machine that is busy."""


@contextmanager
def serving(home: Path, **servers: dict[str, object]) -> Iterator[Tools]:
    """A world with these servers; at its end the daemon stops, and nothing is left of them."""
    with open_world(home) as world:
        tools = Tools(world, servers)
        yield tools
        world.close()
        wait_until(lambda: not tools.find_processes())


def test_a_little_nonsense_is_passed_over(tmp_path: Path) -> None:
    with serving(tmp_path, bad=fake("--nonsense", "20")) as tools:
        assert tools.run("bad__echo", {"text": "hello"}) == "hello"
        assert tools.run("bad__babble", {"n": 20}) == "said it"
        assert tools.run("bad__echo", {"text": "still"}) == "still"


def test_much_nonsense_ends_the_server_and_no_turn(tmp_path: Path) -> None:
    with serving(tmp_path, bad=fake()) as tools:
        assert tools.run("bad__echo", {"text": "hello"}) == "hello"
        began = time.monotonic()
        told = tools.run("bad__babble", {"n": 1_000_000})
        assert time.monotonic() - began < CALM_S
        assert told != "said it"
        assert "bad" in told
        assert tools.count_daemon_bytes() < 300 * MIB
        wait_until(lambda: not tools.find_processes())


@pytest.mark.parametrize("how", ["--flood", "--endless-line", "--deaf"])
def test_one_that_floods_or_says_nothing_costs_a_sentence(tmp_path: Path, how: str) -> None:
    servers = {"good": fake(), "bad": fake(how, startup_timeout_s=4.0)}
    with serving(tmp_path, **servers) as tools:
        began = time.monotonic()
        result = tools.start(("good__echo", {"text": "hello"})).finish()
        assert result.code == 0
        assert tools.told() == "hello"
        assert time.monotonic() - began < CALM_S
        if how != "--flood":  # of which one might say that it is only talkative
            assert "bad" in result.err
        called, told = tools.call("bad__echo", {"text": "anybody?"})
        assert called.code == 0
        assert told
        assert time.monotonic() - began < 2 * CALM_S
        assert tools.count_daemon_bytes() < 300 * MIB


def test_one_that_dies_in_mid_call_is_an_error_for_the_model_and_comes_back(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    with serving(tmp_path, bad=fake("--starts", str(starts))) as tools:
        told = tools.run("bad__die")
        assert "bad" in told
        assert json.loads(tools.world.ok("mcp", "list", "--json").out)[0]["error"]
        wait_until(lambda: tools.run("bad__echo", {"text": "again"}) == "again")
        assert len(starts.read_text().splitlines()) == 2


def test_five_hundred_tools_are_offered_as_far_as_a_request_can_hold_them(tmp_path: Path) -> None:
    with serving(tmp_path, many=fake("--tools", "500", "--page", "50")) as tools:
        result, told = tools.call("many__echo", {"text": "hello"})
        assert (result.code, told) == (0, "hello")
        offered = tools.offered()
        assert len(offered) == len(set(offered)) <= 128
        assert re.search(r"Of \d+ tools \d+ are offered", result.err)
        named = tools.start(("many__tool_499", {}), tools="many__tool_499").finish()
        assert named.code == 0
        assert tools.offered() == ["many__tool_499"]


def test_a_listing_without_end_is_an_error(tmp_path: Path) -> None:
    with serving(tmp_path, bad=fake("--page", "1", "--endless", startup_timeout_s=8.0)) as tools:
        began = time.monotonic()
        result = tools.start(("read_file", {"path": "nothing"})).finish()
        assert result.code == 0
        assert time.monotonic() - began < CALM_S
        assert tools.count_daemon_bytes() < 300 * MIB


@pytest.mark.parametrize("name", ["big", "big_late"])
def test_a_result_of_50_megabytes_is_a_sentence(tmp_path: Path, name: str) -> None:
    with serving(tmp_path, bad=fake()) as tools:
        assert tools.run("bad__echo", {"text": "hello"}) == "hello"
        before = tools.count_daemon_bytes()
        told = tools.run(f"bad__{name}", {"n": 50 * MIB})
        assert len(told) < 1000
        assert "more than is taken in" in told
        assert tools.count_daemon_bytes() - before < 100 * MIB
        assert tools.run("bad__echo", {"text": "still"}) == "still", "the server goes on"
        some = tools.run("bad__big", {"n": 5 * MIB})
        assert 1000 < len(some) < MIB, "less is cut, as any tool's output"


def test_one_that_takes_a_minute_to_start_is_waited_for_by_nobody_who_does_not_need_it(
    tmp_path: Path,
) -> None:
    servers = {"slow": fake("--slow", "60", startup_timeout_s=6.0), "good": fake()}
    with serving(tmp_path, **servers) as tools:
        began = time.monotonic()
        plain = tools.world.ok("ECHO:hello")
        assert plain.out == "hello\n"
        good = tools.start(("good__echo", {"text": "hi"}), tools="good__*").finish()
        assert (good.code, tools.told()) == (0, "hi")
        assert len(tools.find_processes()) == 1, "the slow one was never started"
        named = tools.start(("good__echo", {"text": "hi"}), tools="slow__*,good__*").finish()
        assert named.code == 0
        assert "slow" in named.err
        assert "not ready within 6 s" in named.err
        assert time.monotonic() - began < CALM_S
        again = time.monotonic()
        result = tools.start(("good__echo", {"text": "hi"})).finish()
        assert result.code == 0
        assert time.monotonic() - again < 6, "it is known to fail, and not waited for again"


@pytest.mark.parametrize(
    "options", [("--exit", "3"), ("--moan", str(MIB), "--exit", "3")], ids=["silent", "moaning"]
)
def test_one_that_ends_at_once_is_named_with_its_last_words(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with serving(tmp_path, bad=fake(*options)) as tools:
        result = tools.start(("bad__echo", {"text": "x"})).finish()
        assert result.code == 0
        assert "'bad'" in result.err
        assert "I cannot go on." in result.err
        assert "I cannot go on." in tools.world.ok("mcp", "logs", "bad").out
        test = tools.world.ask("mcp", "test", "bad")
        assert test.code == 1
        assert "I cannot go on." in test.out + test.err


def test_one_that_is_not_there_at_all(tmp_path: Path) -> None:
    with serving(tmp_path, bad={"command": "no-such-program-anywhere"}) as tools:
        result = tools.start(("bad__echo", {"text": "x"})).finish()
        assert result.code == 0
        assert "no-such-program-anywhere" in result.err


def test_a_resource_of_one_that_does_not_start_ends_the_prompt_before_it_is_asked(
    tmp_path: Path,
) -> None:
    servers = {"dead": fake("--exit", "3"), "slow": fake("--slow", "60")}
    with serving(tmp_path, **servers) as tools:
        world = tools.world
        assert_sentence(world.ask("see @dead:note://one"), 2, "dead:note://one cannot be read:")
        began = time.monotonic()
        late = world.ask("--timeout", "2", "see @slow:note://one")
        assert_sentence(late, 124, "The time limit was reached while slow:note://one was read")
        assert time.monotonic() - began < CALM_S
        terminal = Terminal(world, "see @slow:note://one")
        terminal.wait_for("Reading slow:note://one ...")
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert world.model is not None
        assert world.model.requests() == []


def test_what_it_forks_ends_with_the_daemon(tmp_path: Path) -> None:
    with serving(tmp_path, bad=fake("--forks", "3", "--stubborn")) as tools:
        tools.run("bad__fork", {"n": 3})
        assert len(tools.find_processes()) >= 7
        began = time.monotonic()
        tools.world.ok("daemon", "stop")
        wait_until(lambda: not tools.find_processes())
        assert time.monotonic() - began < CALM_S


def test_what_it_forks_ends_when_the_daemon_is_killed(tmp_path: Path) -> None:
    with serving(tmp_path, bad=fake("--forks", "3", "--stubborn")) as tools:
        tools.run("bad__fork", {"n": 3})
        assert len(tools.find_processes()) >= 7
        tools.world.kill_daemon(signal.SIGKILL)
        wait_until(lambda: not tools.find_processes())


def test_what_it_forks_ends_when_it_leaves_the_settings(tmp_path: Path) -> None:
    with serving(tmp_path, bad=fake("--forks", "3", "--stubborn")) as tools:
        tools.run("bad__echo", {"text": "hello"})
        tools.world.ok("mcp", "remove", "bad")
        tools.world.ok("mcp", "list")
        wait_until(lambda: not tools.find_processes())


def test_a_daemon_without_servers_loads_nothing_for_them(world: World) -> None:
    daemon = start_daemon(world, {"PYTHONPROFILEIMPORTTIME": "1"})
    world.ok("-T", "read", "ECHO:hello")
    world.ok("mcp", "list")
    loaded = {line.rpartition("|")[2].strip() for line in daemon.err.splitlines()}
    assert "askd.tools.mcp.servers" in loaded
    assert not {each for each in loaded if each.partition(".")[0] in ("mcp", "starlette")}
