"""How a server of tools is named, looked for and completed."""

import click
import pytest

from ask.commands.completing import complete_server
from ask.commands.mcp import mcp_command
from ask.commands.servers import (
    check_server_name,
    find_record,
    read_servers,
    refuse_unknown,
    say_written,
)
from ask.connection import Client
from ask.exits import Failed
from tests.client.commands.fake_daemon import FakeDaemon

SOME = click.Argument(["server"])


def complete(incomplete: str) -> list[str]:
    found = complete_server(click.Context(mcp_command), SOME, incomplete)
    return [each.value for each in found]


def test_names_are_completed_where_a_daemon_runs(daemon: FakeDaemon) -> None:
    daemon.configure("time", command="x")
    daemon.configure("todo", command="x", enabled=False)
    daemon.configure("git", command="x")
    assert complete("t") == ["time", "todo"]
    assert complete("") == ["time", "todo", "git"]
    daemon.stop()
    assert complete("t") == [], "and none is started for it"


@pytest.mark.usefixtures("daemon")
def test_without_a_server_nothing_is_completed() -> None:
    assert complete("") == []


def test_no_secret_is_among_what_is_read(daemon: FakeDaemon) -> None:
    daemon.configure("x", command="x", env={"KEY": "sk-canary"})
    with Client.connect() as client:
        assert read_servers(client) == {"x": {"command": "x", "env": {"KEY": "***"}}}


@pytest.mark.parametrize("name", ["time", "a_b", "A-1", "x" * 32, "-"])
def test_names_that_the_settings_take(name: str) -> None:
    assert check_server_name(name) == name


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "a b", "a.b", "ü", "x" * 33, "a\n"])
def test_names_that_they_do_not_take(name: str) -> None:
    with pytest.raises(Failed) as caught:
        check_server_name(name)
    assert (caught.value.code, caught.value.data) == (2, {"reason": "bad_name"})


def test_one_that_is_not_there_is_told_with_the_nearest_that_is() -> None:
    assert refuse_unknown("tim", ["git", "time"]).hint == "Did you mean 'time'?"
    assert refuse_unknown("zzz", ["git", "time"]).hint == "There are: git, time."
    assert refuse_unknown("zzz", []).hint == "None is configured: ask mcp add NAME -- COMMAND"
    assert find_record([{"name": "git"}], "git") == {"name": "git"}
    with pytest.raises(Failed) as caught:
        find_record([], "git")
    assert caught.value.code == 3


def test_where_secrets_may_have_gone_is_said() -> None:
    assert say_written("/c", [{"command": "x"}, {"url": "u", "headers": {}}]) == "Written: /c"
    assert "mode 0600" in say_written("/c", [{"command": "x", "env": {"A": "b"}}])
