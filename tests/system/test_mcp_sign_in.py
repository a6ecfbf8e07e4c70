"""Servers of tools over HTTP through the real daemon: tokens, signing in, renewing, out again.

The server and its sign-in server are scripted and hold to the rules; a browser is played by the
test. No token is ever seen by who asks how things stand, nor in the daemon's log.
"""

import json
import re
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.chat_answers import Hold, Status
from tests.fakes.mcp_http_server import McpHttpServer
from tests.fakes.scripted_server import open_server
from tests.system.servers import serve, start_daemon, write_secret
from tests.system.test_sign_in import visit
from tests.system.test_terminal import Terminal
from tests.system.tool_servers import Tools
from tests.system.world import Running, World

URL = re.compile(r"http://\S+/authorize\?\S+")
TOKEN = "tok-canary-7-secret"
SECRETS = ("secret",)
"""What all tokens and codes of the fakes have in them."""


@pytest.fixture
def server() -> Iterator[McpHttpServer]:
    """One that wants a sign-in."""
    server = McpHttpServer(wants="sign-in")
    with serve(open_server(server)):
        yield server


@pytest.fixture
def tools(world: World, server: McpHttpServer) -> Tools:
    """A world that knows it as `far`."""
    return Tools(world, {"far": {"url": server.url}})


def assert_silent(tools: Tools, *texts: str) -> None:
    """No token is in what was shown, kept of how things are, or logged."""
    state = "".join(
        path.read_text(errors="replace")
        for path in (tools.world.ask_home / "state").rglob("*")
        if path.is_file()
    )
    listed = tools.world.ok("mcp", "list", "--json").out
    for secret in SECRETS:
        assert secret not in "".join([*texts, state, listed, tools.world.log()])


def begin(tools: Tools) -> tuple[Running, str]:
    """`ask mcp login`, and the address that it says."""
    asking = tools.world.start("mcp", "login", "far")
    asking.wait_for("Waiting for the browser", where="err")
    found = URL.search(asking.err)
    assert found is not None, asking.err
    return asking, found[0]


def sign_in(tools: Tools, server: McpHttpServer) -> Path:
    """Sign in as a person does; the file that holds it."""
    asking, url = begin(tools)
    status, page = visit(server.authorize(url))
    assert (status, "Go back to your terminal" in page) == (200, True)
    done = asking.finish()
    assert done.code == 0, (done, tools.world.log())
    assert done.out.startswith("Signed in to far; it is kept in ")
    assert_silent(tools, done.out, done.err.replace(url, ""))
    return Path(done.out.split(" kept in ")[1].strip().removesuffix("."))


def test_a_browser_comes_back_and_a_tool_is_called(tools: Tools, server: McpHttpServer) -> None:
    # Nobody is signed in: a turn has its answer all the same, and the server has a sentence.
    result = tools.world.ask("-T", "all", "ECHO:on without it", cwd=tools.project)
    assert (result.code, result.out) == (0, "on without it\n"), result
    tested = tools.world.ask("mcp", "test", "far")
    assert tested.code != 0
    assert "ask mcp login far" in tested.out + tested.err
    assert server.clients == {}

    path = sign_in(tools, server)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    told = tools.run("far__echo", {"text": "hello"})
    assert told == "You said: hello"
    token = json.loads(path.read_text())["access_token"]
    assert server.headers[-1]["authorization"] == f"Bearer {token}"

    # Out again: what is sent has no token, and the sentence says what to do.
    assert tools.world.ok("mcp", "logout", "far").out == "Forgotten: the sign-in at far.\n"
    assert not path.exists()
    assert tools.world.ok("mcp", "logout", "far").out == "Nobody is signed in at far.\n"
    assert "ask mcp login far" in tools.run("far__echo", {"text": "again"})
    assert server.count("tools/call") == 1
    assert server.violations == []
    assert_silent(tools)


def test_a_token_is_renewed_in_time_when_refused_and_after_a_restart(
    tools: Tools, server: McpHttpServer
) -> None:
    server.rules.life_s = 60.0  # it ends within the five minutes
    path = sign_in(tools, server)
    first = json.loads(path.read_text())
    server.rules.life_s = 3600.0
    tools.world.kill_daemon()
    assert tools.run("far__echo", {"text": "one"}) == "You said: one"
    second = json.loads(path.read_text())
    assert second["access_token"] != first["access_token"]
    assert first["refresh_token"] not in server.refresh_tokens
    # Withdrawn before its time, and not by us.
    tools.world.kill_daemon()
    server.tokens.clear()
    assert tools.run("far__echo", {"text": "two"}) == "You said: two"
    third = json.loads(path.read_text())
    assert third["access_token"] not in (first["access_token"], second["access_token"])
    # For good: the refresh token is not taken any more either.
    tools.world.kill_daemon()
    server.tokens.clear()
    server.refresh_tokens.clear()
    told = tools.run("far__echo", {"text": "three"})
    assert "sign in again with `ask mcp login far`" in told
    assert len(server.clients) == 1
    assert_silent(tools, told)


def test_a_sign_in_is_for_its_own_address_alone(tools: Tools, server: McpHttpServer) -> None:
    sign_in(tools, server)
    other = McpHttpServer(wants="sign-in")
    with serve(open_server(other)):
        config = tools.world.ask_home / "config" / "config.toml"
        config.write_text(config.read_text().replace(server.url, other.url))
        tested = tools.world.ask("mcp", "test", "far")
        assert "ask mcp login far" in tested.out + tested.err
    assert all("authorization" not in each for each in other.all_headers)


def test_a_refusal_in_the_browser_and_servers_that_cannot(
    tools: Tools, server: McpHttpServer
) -> None:
    asking, url = begin(tools)
    assert "failed" in visit(server.authorize(url, allow=False))[1]
    done = asking.finish()
    assert (done.code, "The sign-in was not allowed: No." in done.err) == (4, True), done
    server.rules.registers = False
    done = tools.world.ask("mcp", "login", "far")
    assert (done.code, "bearer_token_file" in done.err) == (4, True), done
    server.wants = None
    done = tools.world.ask("mcp", "login", "far")
    assert (done.code, "far wants no sign-in" in done.err) == (4, True), done
    assert tools.world.ask("mcp", "login", "nowhere").code == 3
    assert not (tools.world.ask_home / "data" / "mcp-sign-ins").exists()


def test_an_address_is_pasted_on_a_terminal(tools: Tools, server: McpHttpServer) -> None:
    terminal = Terminal(tools.world, "mcp", "login", "far")
    terminal.wait_for("Waiting for the browser")
    found = URL.search(terminal.screen)
    assert found is not None
    back = server.authorize(found[0])
    terminal.type("http://127.0.0.1:1/auth/callback?code=x&state=wrong\n")
    terminal.wait_for("That is not the address of this sign-in")
    terminal.type(f"{back}\n")
    terminal.wait_for("Signed in to far")
    assert terminal.finish() == 0
    assert tools.run("far__echo", {"text": "in"}) == "You said: in"


def test_a_turn_never_waits_for_a_login(tools: Tools, server: McpHttpServer) -> None:
    asking, _ = begin(tools)
    result = tools.world.ask("-T", "all", "ECHO:not for me", cwd=tools.project)
    assert (result.code, result.out) == (0, "not for me\n"), result
    asking.signal(signal.SIGINT)
    assert asking.finish().code == 130


def test_tokens_of_the_settings(world: World) -> None:
    server = McpHttpServer(wants="bearer", token=TOKEN)
    with serve(open_server(server)):
        file = write_secret(world.home / "token", f"{TOKEN}\n")
        tools = Tools(
            world,
            {
                "file": {"url": server.url, "bearer_token_file": str(file)},
                "variable": {"url": server.url, "bearer_token_env": "FAR_TOKEN"},
                "header": {"url": server.url, "headers": {"Authorization": f"Bearer {TOKEN}"}},
            },
        )
        daemon = start_daemon(world, {"FAR_TOKEN": TOKEN})
        for name in ("file", "variable", "header"):
            assert tools.run(f"{name}__echo", {"text": name}) == f"You said: {name}"
        done = world.ask("mcp", "login", "file")
        assert (done.code, "the token that its settings name" in done.err) == (2, True), done
        # A file that others can read is refused, and the sentence says what to do.
        file.chmod(0o644)
        tested = world.ask("mcp", "test", "file")
        assert "chmod 600" in tested.out + tested.err
        assert_silent(tools, tested.out, tested.err, daemon.err)


def test_a_server_that_is_slow_fails_or_floods_costs_a_sentence(world: World) -> None:
    server = McpHttpServer()
    with serve(open_server(server)):
        tools = Tools(world, {"far": {"url": server.url, "tool_timeout_s": 2.0}})
        assert tools.run("far__echo", {"text": "hi"}) == "You said: hi"
        server.spoil("tools/call", (Hold(),))
        assert "longer than 2 s" in tools.run("far__echo", {"text": "slow"})
        server.spoil("tools/call", Status(503, b"down"))
        assert "HTTP 503" in tools.run("far__echo", {"text": "down"})
        server.spoil("tools/call", Status(200, b'"' + b"x" * (33 << 20) + b'"'))
        assert "32 MiB" in tools.run("far__echo", {"text": "much"})
        server.sessions.clear()
        assert tools.run("far__echo", {"text": "back"}) == "You said: back"


def test_local_only_forbids_servers_elsewhere(world: World) -> None:
    tools = Tools(world, {"far": {"url": "https://mcp.example.com/mcp"}})
    config = world.ask_home / "config" / "config.toml"
    config.write_text("local_only = true\n" + config.read_text())
    tested = world.ask("mcp", "test", "far")
    assert "`local_only` is set" in tested.out + tested.err, tested
    assert "is not this machine" in tested.out + tested.err
    assert "not this machine" in world.ask("mcp", "login", "far").err
    result = world.ask("-T", "all", "ECHO:on", cwd=tools.project)
    assert (result.code, result.out) == (0, "on\n"), result
