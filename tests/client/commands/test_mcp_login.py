"""Signing in at a server of tools from the command line, and out again."""

import json

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal


@pytest.fixture(autouse=True)
def docs(daemon: FakeDaemon) -> None:
    """One server."""
    daemon.configure("docs", url="https://docs.example/mcp")


def test_login_shows_the_address_and_waits(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.pending = 2
    result = ask("mcp", "login", "docs")
    assert result.code == 0
    assert result.out == "Signed in to docs; it is kept in /home/me/auth.json.\n"
    assert "    https://v/auth" in result.err.splitlines()
    assert daemon.called("mcp/login") == [{"server": "docs"}]
    assert len(daemon.called("auth/wait")) == 3
    assert daemon.called("auth/login") == []
    record = json.loads(ask("mcp", "login", "docs", "--json").out)
    assert record == {"server": "docs", "path": "/home/me/auth.json"}


def test_a_sign_in_that_failed_says_why(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.refusals["auth/wait"] = Refusal("login_failed", "docs: the sign-in failed: no.")
    result = ask("mcp", "login", "docs")
    assert (result.code, result.out) == (4, "")
    assert "docs: the sign-in failed: no." in result.err


def test_logout_says_whether_there_was_one(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.signed_in.add("docs")
    assert ask("mcp", "logout", "docs").out == "Forgotten: the sign-in at docs.\n"
    assert ask("mcp", "logout", "docs").out == "Nobody is signed in at docs.\n"
    record = json.loads(ask("mcp", "logout", "docs", "--json").out)
    assert record == {"server": "docs", "changed": False, "path": "/home/me/docs.json"}


@pytest.mark.parametrize("command", ["login", "logout"])
def test_a_server_that_is_not_configured(ask: Ask, command: str) -> None:
    result = ask("mcp", command, "nowhere")
    assert (result.code, result.out) == (3, "")
    assert result.err == "There is no server of tools named 'nowhere'.\nThere are: docs.\n"
