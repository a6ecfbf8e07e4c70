"""Servers of tools over the wire: how each is, a start to see it by, what it wrote."""

from typing import Any

import pytest
import trio

from ask.protocol.messages import ConfigWrite
from askd.tools.base import CannotRun
from askd.tools.mcp.base import ServerState, ServerTool
from tests.fakes.house import Refused, Server, open_server
from tests.server.handlers.test_tools import Named


def describe(name: str, description: str = "Says it. And more.") -> ServerTool:
    schema = {"type": "object"}
    return ServerTool(server="time", name=name, description=description, schema=schema, digest="d")


READY = ServerState(
    name="time",
    kind="stdio",
    state="ready",
    version="1.2.3",
    tools=[describe("now"), describe("set it!")],
    resources=True,
    pid=4711,
    at=1000.0,
)
OFF = ServerState(name="web", kind="http", state="off")


def configure(server: Server, *states: ServerState) -> None:
    server.servers.how = {each.name: each for each in states}


async def test_each_server_is_listed_as_it_is_and_none_is_started() -> None:
    async with open_server() as server:
        configure(server, READY, OFF)
        server.servers.offered = [Named("time__now"), Named("read_file")]
        peer = await server.greet()
        page = await peer.call("mcp/list")
    assert page["data"] == [
        {
            "name": "time",
            "kind": "stdio",
            "state": "ready",
            "tools": 2,
            "offered": 1,
            "version": "1.2.3",
            "pid": 4711,
            "resources": True,
            "prompts": False,
            "error": None,
            "at": 1000.0,
        },
        {
            "name": "web",
            "kind": "http",
            "state": "off",
            "tools": 0,
            "offered": 0,
            "version": None,
            "pid": None,
            "resources": False,
            "prompts": False,
            "error": None,
            "at": None,
        },
    ]
    assert server.servers.asked == []


async def test_a_start_says_which_tools_there_are_by_the_names_that_models_are_told() -> None:
    async with open_server() as server:
        configure(server, READY)
        server.servers.offered = [Named("time__now")]
        server.servers.logs["time"] = "Ready.\n"
        peer = await server.greet()
        tested = await peer.call("mcp/test", {"server": "time"})
    assert server.servers.asked == [("check", "time")]
    assert tested["server"]["state"] == "ready"
    first, second = tested["data"]
    assert first == {"name": "time__now", "description": "Says it. And more.", "offered": True}
    assert second["name"].startswith("time__set_it__"), "made to fit"
    assert second["offered"] is False
    assert tested["log"] == "", "it is of no interest where all is well"


async def test_one_that_fails_is_an_answer_with_the_end_of_what_it_wrote() -> None:
    failed = ServerState(name="time", kind="stdio", state="failed", error="It ended: code 1.")
    async with open_server() as server:
        configure(server, failed)
        server.servers.logs["time"] = "".join(f"line {number}\n" for number in range(100))
        peer = await server.greet()
        tested = await peer.call("mcp/test", {"server": "time"})
    assert (tested["server"]["state"], tested["server"]["error"]) == ("failed", "It ended: code 1.")
    assert tested["log"].splitlines() == [f"line {number}" for number in range(80, 100)]


async def test_an_answer_is_bounded_whatever_a_server_says() -> None:
    many = [describe(f"tool-{number}" + "x" * 500, "é" * 10_000) for number in range(900)]
    state = ServerState(
        name="time",
        kind="stdio",
        state="failed",
        version="v" * 10_000,
        tools=many,
        error="e" * 1_000_000,
    )
    async with open_server() as server:
        configure(server, state)
        server.servers.logs["time"] = "€" * 3_000_000
        peer = await server.greet()
        tested = await peer.call("mcp/test", {"server": "time"})
        logs = await peer.call("mcp/logs", {"server": "time"})
    assert (tested["server"]["tools"], len(tested["data"])) == (900, 500)
    assert {len(each["description"]) for each in tested["data"]} == {400}
    assert len(tested["server"]["error"]) == 2000
    assert 0 < len(tested["log"].encode()) <= 16 * 1024
    assert set(logs["text"]) == {"€"}, "no character is cut in two"
    assert 250_000 < len(logs["text"].encode()) <= 256 * 1024


@pytest.mark.parametrize("method", ["mcp/test", "mcp/logs"])
async def test_a_server_that_is_not_configured(method: str) -> None:
    async with open_server() as server:
        configure(server, READY)
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call(method, {"server": "tmie"})
    assert (caught.value.code, caught.value.reason) == (3, "server_not_found")
    assert server.servers.asked == [], "it is not even tried"


async def test_one_that_cannot_be_started_at_all_says_why() -> None:
    async def refuse(server: str) -> Any:
        await trio.lowlevel.checkpoint()
        raise CannotRun("time is not enabled.")

    async with open_server() as server:
        configure(server, READY)
        server.servers.check = refuse  # type: ignore[method-assign]
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("mcp/test", {"server": "time"})
    assert (caught.value.code, caught.value.reason) == (1, "server_failed")
    assert caught.value.message == "time is not enabled."


async def test_a_log_that_cannot_be_read_is_empty_where_it_is_only_an_addition() -> None:
    failed = ServerState(name="time", kind="http", state="failed", error="Nobody is there.")

    def refuse(server: str) -> str:
        raise CannotRun("It runs elsewhere.")

    async with open_server() as server:
        configure(server, failed)
        server.servers.read_log = refuse  # type: ignore[method-assign]
        peer = await server.greet()
        assert (await peer.call("mcp/test", {"server": "time"}))["log"] == ""
        with pytest.raises(Refused) as caught:
            await peer.call("mcp/logs", {"server": "time"})
    assert caught.value.message == "It runs elsewhere."


def test_what_is_written_into_the_settings_is_in_no_repr() -> None:
    written = ConfigWrite(key="mcpServers.x", value={"env": {"KEY": "sk-canary"}})
    assert "canary" not in repr(written)
