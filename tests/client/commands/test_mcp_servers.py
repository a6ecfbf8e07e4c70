"""Servers of tools listed, tried, read and removed."""

import json

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

TOOLS = [{"name": "time__now", "description": "Says it. And more.", "offered": True}]


@pytest.fixture(autouse=True)
def time(daemon: FakeDaemon) -> None:
    """One server that works."""
    daemon.configure("time", command="t", env={"KEY": "sk-canary"}, startup_timeout_s=5.0)
    daemon.listed["time"] = TOOLS


def test_without_servers_it_is_said_how_to_add_one(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.written.clear()
    assert ask("mcp", "list").out.startswith("No server of tools is configured.\nAdd one: ask mcp")
    assert ask("mcp", "list", "--json").out == "[]\n"


def test_they_are_listed_as_they_are(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.configure("web", url="http://h/mcp", headers={"A": "sk-canary"})
    daemon.how["web"] = {"state": "failed", "error": "Nobody is there."}
    result = ask("mcp", "list")
    assert result.out.splitlines()[1:] == [
        "time    stdio  idle    -      -",
        "web     http   failed  -      -        Nobody is there.",
    ]
    listed = ask("mcp", "list", "--json").out
    assert [each["name"] for each in json.loads(listed)] == ["time", "web"]
    assert "canary" not in result.out + listed
    assert daemon.called("mcp/test") == [], "none is started"


def test_a_server_that_works_shows_its_tools(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("mcp", "test", "time")
    assert (result.code, result.err) == (0, "Starting time ...\n")
    assert result.out.splitlines() == [
        "time: ready; 1 tool, no resources, no prompts",
        "  time__now  Says it.",
    ]
    tested = json.loads(ask("mcp", "test", "time", "--json").out)
    assert (tested["server"]["state"], tested["data"]) == ("ready", TOOLS)


def test_one_that_fails_says_why_and_what_it_wrote_last(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.how["time"] = {"state": "failed", "error": "It ended with code 1."}
    daemon.said["time"] = "Traceback:\n\x1b[31mno module\x1b[0m\n"
    result = ask("mcp", "test", "time")
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines() == [
        "Starting time ...",
        "The last that time wrote:",
        "  Traceback:",
        "  no module",
        "time is not ready: It ended with code 1.",
        "All that it wrote: ask mcp logs time",
    ]
    error = json.loads(ask("mcp", "test", "time", "--json").out)
    assert (error["code"], error["data"]["reason"]) == (1, "server_failed")
    assert "no module" in error["data"]["log"]


def test_what_is_said_anyway_is_not_said_twice(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.how["time"] = {"state": "failed", "error": "time: It ended."}
    daemon.said["time"] = "12:00 -- time: It ended.\n"
    result = ask("mcp", "test", "time")
    assert result.err == "Starting time ...\ntime is not ready: It ended.\n"


@pytest.mark.parametrize(
    ("command", "error", "is_said"),
    [
        ("sh", "sh: No such file or directory.", True),
        ("sh", "It ended with code 1.", False),
        ("no-such-program-here", "No such file or directory.", False),
        ("/bin/sh", "No such file or directory.", False),
    ],
)
def test_a_program_that_is_here_and_not_where_the_daemon_looks(
    daemon: FakeDaemon, ask: Ask, command: str, error: str, is_said: bool
) -> None:
    daemon.configure("time", command=command)
    daemon.how["time"] = {"state": "failed", "error": error}
    result = ask("mcp", "test", "time")
    assert result.code == 1
    assert ("ask mcp add time --force --env PATH -- sh ..." in result.err) is is_said
    assert ("Nor is no-such-program-here on your PATH" in result.err) is ("such" in command)


def test_one_that_is_off_is_told_how_to_switch_it_on(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.configure("time", command="t", enabled=False)
    result = ask("mcp", "test", "time")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "time is not enabled.\n"
        "Remove `enabled = false` from [mcpServers.time] in /home/me/config.toml\n"
    )
    assert daemon.called("mcp/test") == []


def test_what_the_daemon_cannot_do_is_said_in_its_words(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.refusals["mcp/test"] = Refusal("server_failed", "The daemon is about to end.")
    result = ask("mcp", "test", "time")
    assert (result.code, result.err.splitlines()[-1]) == (1, "The daemon is about to end.")


@pytest.mark.parametrize("command", ["test", "logs", "remove"])
def test_one_that_is_not_configured(ask: Ask, command: str) -> None:
    result = ask("mcp", command, "tmie")
    assert (result.code, result.out) == (3, "")
    assert result.err == "There is no server of tools named 'tmie'.\nDid you mean 'time'?\n"


def test_what_it_wrote(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("mcp", "logs", "time").err == "time has written nothing since the daemon started.\n"
    daemon.said["time"] = "one\n\x1b]0;title\x07two\n"
    result = ask("mcp", "logs", "time")
    assert (result.code, result.out, result.err) == (0, "one\ntwo\n", "")
    assert json.loads(ask("mcp", "logs", "time", "--json").out)["text"] == daemon.said["time"]
    daemon.configure("web", url="http://h/mcp")
    assert "what it writes stays there" in ask("mcp", "logs", "web").err


def test_it_leaves_the_settings(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("mcp", "remove", "time")
    assert (result.code, result.out) == (0, "Removed: time\n")
    assert result.err == "Written: /home/me/config.toml\n"
    assert daemon.written == {}
    assert ask("mcp", "remove", "time").code == 3


def test_for_programs_a_removal_is_an_object(daemon: FakeDaemon, ask: Ask) -> None:
    removed = json.loads(ask("mcp", "remove", "time", "--json").out)
    assert removed == {"name": "time", "removed": True, "path": "/home/me/config.toml"}
