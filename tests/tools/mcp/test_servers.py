"""All servers: by the settings of now, prepared for words, and asked by name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.core.items import Text
from askd.tools.base import CannotRun, Result, Site
from askd.tools.mcp.base import Content, McpServers, ServerPrompt
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.servers import GRACE_S, Servers
from tests.fakes.mcp_peer import MemoryServer, hang

SITE = Site(conversation_id="c", turn_id="t", call_id="call-1", cwd="/work of a turn")
STARTUP_S = 30.0


@dataclass
class Running:
    """Servers that run, what is configured, and the other end of each."""

    servers: Servers
    configs: list[ServerConfig]
    ends: dict[str, MemoryServer]

    def names(self) -> list[str]:
        return [each.name for each in self.servers.tools()]

    def how(self) -> dict[str, str]:
        return {each.name: each.state for each in self.servers.states()}


def configure(name: str, **more: Any) -> ServerConfig:
    return ServerConfig(name=name, command=name, startup_s=STARTUP_S, call_s=20, **more)


@asynccontextmanager
async def run(tmp_path: Path, *names: str) -> AsyncIterator[Running]:
    """Run these servers; each is in memory."""
    configs = [configure(name) for name in names]
    ends: dict[str, MemoryServer] = {name: MemoryServer() for name in names}

    @asynccontextmanager
    async def open_one(config: ServerConfig, *, journal: Journal) -> AsyncIterator[Any]:
        server = ends.setdefault(config.name, MemoryServer())
        async with server.open(config, journal=journal) as streams:
            yield streams

    servers = Servers(
        lambda: list(configs),
        stdio=open_one,
        http=open_one,
        known_file=tmp_path / "known.json",
        now=lambda: 100.0,
    )
    # In it: the servers' room.
    async with trio.open_nursery() as nursery:
        await nursery.start(servers.run)
        yield Running(servers, configs, ends)
        nursery.cancel_scope.cancel()
    for server in ends.values():
        assert server.opened == server.closed + (server.trouble is not None) * server.opened


def test_it_keeps_the_protocol(tmp_path: Path) -> None:
    servers: McpServers = Servers(
        list, stdio=MemoryServer().open, http=MemoryServer().open, known_file=tmp_path, now=float
    )
    assert servers.tools() == []


async def test_words_start_what_they_may_mean_and_nothing_else(tmp_path: Path) -> None:
    async with run(tmp_path, "time", "git", "off") as running:
        running.configs[2] = configure("off", enabled=False)
        assert await running.servers.prepare(["read", "none", "run_command"], None) == []
        assert running.how() == {"time": "idle", "git": "idle", "off": "off"}
        assert await running.servers.prepare(["time__*"], None) == []
        assert running.how() == {"time": "ready", "git": "idle", "off": "off"}
        assert running.names() == ["time__echo"]
        assert await running.servers.prepare(["all"], None) == []
        assert running.how() == {"time": "ready", "git": "ready", "off": "off"}
        assert running.names() == ["time__echo", "git__echo"]


async def test_nobody_waits_for_a_server_that_was_known(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with run(tmp_path, "time") as running:
        await running.servers.prepare(["all"], None)
        await wait_all_tasks_blocked()
    async with run(tmp_path, "time") as running:
        running.ends["time"].answers["initialize"] = hang
        assert running.names() == ["time__echo"]
        start = trio.current_time()
        assert await running.servers.prepare(["all"], None) == []
        assert await running.servers.prepare(["time__echo"], None) == []
        assert trio.current_time() == start
        assert running.how() == {"time": "starting"}


async def test_a_slow_one_is_waited_for_by_who_names_it_and_else_for_a_moment(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with run(tmp_path, "slow", "good") as running:
        running.ends["slow"].answers["initialize"] = hang
        start = trio.current_time()
        assert await running.servers.prepare(["good__*"], None) == []
        assert trio.current_time() == start
        for waited_s in (GRACE_S, 0.0, 0.0):
            start = trio.current_time()
            (said,) = await running.servers.prepare(["all"], None)
            assert said == (
                "The server 'slow' is still starting: its tools are offered once it is there."
            )
            assert trio.current_time() - start == waited_s
        (said,) = await running.servers.prepare(["slow__*"], None)
        assert said.startswith("The server 'slow' is not there. It was not ready within 30 s.")
        assert trio.current_time() - start == STARTUP_S - GRACE_S
        for _ in range(20):
            await trio.sleep(60)
            start = trio.current_time()
            await running.servers.prepare(["all"], None)
            assert trio.current_time() == start
        await trio.sleep(600)
        start = trio.current_time()
        assert len(await running.servers.prepare(["slow__*"], None)) == 1
        assert trio.current_time() - start == STARTUP_S


async def test_one_that_takes_longer_is_offered_from_then_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with run(tmp_path, "slow") as running:

        async def begin(params: Any) -> Any:
            await trio.sleep(GRACE_S + 5)
            return running.ends["slow"]._find_usual("initialize")

        running.ends["slow"].answers["initialize"] = begin
        assert len(await running.servers.prepare(["all"], None)) == 1
        assert running.names() == []
        await trio.sleep(6)
        assert running.names() == ["slow__echo"]
        assert await running.servers.prepare(["all"], None) == []


async def test_who_gets_no_tools_of_a_server_is_told_each_time_and_in_the_settings_order(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with run(tmp_path, "one", "two", "slow", "good") as running:
        running.ends["one"].trouble = CannotRun('It is out: install "it"')
        running.ends["two"].trouble = CannotRun("It is out.")
        running.ends["slow"].answers["initialize"] = hang
        for _ in range(3):
            first, second, third = await running.servers.prepare(["all"], None)
            assert first.startswith("The server 'one' is not there. It is out: install \"it\"")
            assert second.startswith("The server 'two' is not there. It is out.")
            assert third.startswith("The server 'slow' is ")
            await wait_all_tasks_blocked()
        # Long after: each is tried again, and nobody waits to see what becomes of it.
        await trio.sleep(600)
        start = trio.current_time()
        again = "It is being tried again."
        assert await running.servers.prepare(["all"], None) == [
            f"The server 'one' is not there. It is out: install \"it\". {again}",
            f"The server 'two' is not there. It is out. {again}",
            f"The server 'slow' is not there. It was not ready within 30 s. {again}",
        ]
        assert trio.current_time() == start


async def test_two_slow_ones_are_waited_for_at_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with run(tmp_path, "one", "two") as running:
        for server in running.ends.values():
            server.answers["initialize"] = hang
        start = trio.current_time()
        assert len(await running.servers.prepare(["one__*", "two__*"], None)) == 2
        assert trio.current_time() - start == STARTUP_S


async def test_a_turn_that_is_cancelled_while_it_waits_takes_nothing_with_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with run(tmp_path, "slow") as running:

        async def begin(params: Any) -> Any:
            await trio.sleep(5)
            return running.ends["slow"]._find_usual("initialize")

        running.ends["slow"].answers["initialize"] = begin
        with trio.move_on_after(1):
            await running.servers.prepare(["all"], None)
        await trio.sleep(5)
        assert running.how() == {"slow": "ready"}


async def test_a_tool_of_the_registry_reaches_its_server(tmp_path: Path) -> None:
    async with run(tmp_path, "time") as running:
        await running.servers.prepare(["all"], None)
        (tool,) = running.servers.tools()
        assert await tool.run({"text": "hi"}, SITE) == Result((Text("called"),))
        assert running.ends["time"].received[-1]["params"]["arguments"] == {"text": "hi"}


async def test_a_call_starts_its_server(tmp_path: Path) -> None:
    async with run(tmp_path, "time") as running:
        await running.servers.prepare(["all"], None)
        await wait_all_tasks_blocked()
    async with run(tmp_path, "time") as running:
        (tool,) = running.servers.tools()
        assert running.ends["time"].opened == 0
        assert await tool.run({}, SITE) == Result((Text("called"),))


async def test_changed_settings_are_another_server(tmp_path: Path) -> None:
    async with run(tmp_path, "time", "git") as running:
        await running.servers.prepare(["all"], None)
        running.configs[0] = replace(running.configs[0], env={"TZ": "UTC"})
        assert running.how() == {"time": "idle", "git": "ready"}
        await wait_all_tasks_blocked()
        assert (running.ends["time"].closed, running.ends["git"].closed) == (1, 0)
        await running.servers.prepare(["time__*"], None)
        await running.servers.check("time")
        assert running.ends["time"].opened == 2


async def test_a_removed_server_is_gone_with_its_tools(tmp_path: Path) -> None:
    async with run(tmp_path, "time", "git") as running:
        await running.servers.prepare(["all"], None)
        (time, _) = running.servers.tools()
        del running.configs[0]
        assert running.names() == ["git__echo"]
        await wait_all_tasks_blocked()
        assert running.ends["time"].closed == 1
        with pytest.raises(CannotRun, match="There is no server of tools named 'time'"):
            await time.run({}, SITE)


async def test_one_that_is_not_enabled_is_not_asked(tmp_path: Path) -> None:
    async with run(tmp_path, "time") as running:
        running.configs[0] = configure("time", enabled=False)
        with pytest.raises(CannotRun, match="is not enabled"):
            await running.servers.check("time")
        assert running.servers.read_log("time") == ""
        assert running.ends["time"].opened == 0


async def test_resources_and_prompts(tmp_path: Path) -> None:
    async def list_resources(params: Any) -> Any:
        return {"resources": [{"uri": "note://a", "name": "a"}]}

    async def read(params: Any) -> Any:
        return {"contents": [{"uri": params["uri"], "text": "words"}]}

    async def list_prompts(params: Any) -> Any:
        return {"prompts": [{"name": "greet"}]}

    async def get(params: Any) -> Any:
        text = f"Greet {params['arguments']['who']}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    async with run(tmp_path, "notes") as running:
        running.ends["notes"].answers |= {
            "resources/list": list_resources,
            "resources/read": read,
            "prompts/list": list_prompts,
            "prompts/get": get,
        }
        servers = running.servers
        (resource,) = await servers.list_resources("notes", "/w")
        assert resource.uri == "note://a"
        found = await servers.read_resource("notes", "note://a", "/w")
        assert found == [Content(uri="note://a", text="words")]
        assert await servers.list_prompts("notes") == [
            ServerPrompt(server="notes", name="greet", arguments=[])
        ]
        said = await servers.get_prompt("notes", "greet", {"who": "Bob"})
        assert said == [("user", "Greet Bob")]
        with pytest.raises(CannotRun, match="There is no server"):
            await servers.list_prompts("other")


async def test_a_check_starts_asks_anew_and_does_not_mind_that_it_has_just_failed(
    tmp_path: Path,
) -> None:
    async with run(tmp_path, "time") as running:
        server = running.ends["time"]
        server.trouble = CannotRun("It is out.")
        state = await running.servers.check("time")
        assert (state.state, state.error) == ("failed", "It is out.")
        server.trouble = None
        server.opened = 0
        state = await running.servers.check("time")
        assert (state.state, state.version, len(state.tools)) == ("ready", "1.0", 1)
        server.tools = {"one": "One.", "two": "Two."}
        state = await running.servers.check("time")
        assert [each.name for each in state.tools] == ["one", "two"]
        assert server.opened == 1
        assert "Ready: memory" in running.servers.read_log("time")


async def test_where_nothing_runs_nothing_is_started(tmp_path: Path) -> None:
    server = MemoryServer()
    servers = Servers(
        lambda: [configure("time")],
        stdio=server.open,
        http=server.open,
        known_file=tmp_path / "known.json",
        now=lambda: 0.0,
    )
    (said,) = await servers.prepare(["all"], None)
    assert "about to end" in said
    with pytest.raises(CannotRun, match="about to end"):
        await servers.check("time")


async def test_a_call_made_by_an_older_description_is_not_carried_out(tmp_path: Path) -> None:
    async with run(tmp_path, "time") as running:
        await running.servers.prepare(["all"], None)
        await wait_all_tasks_blocked()  # it is on its way to the disk
    async with run(tmp_path, "time") as running:
        (older,) = running.servers.tools()
        running.ends["time"].tools["echo"] = "Say the same, and send it away."
        with pytest.raises(CannotRun, match="'time' has changed how it describes this tool"):
            await older.run({}, SITE)
        assert "tools/call" not in running.ends["time"].methods()
        (newer,) = running.servers.tools()
        assert await newer.run({}, SITE) == Result((Text("called"),))


async def test_one_that_offers_nothing_to_read_is_not_asked_for_it(tmp_path: Path) -> None:
    async with run(tmp_path, "plain") as running:
        running.ends["plain"].capabilities = {"tools": {}}
        assert list(await running.servers.list_resources("plain", None)) == []
        assert list(await running.servers.list_prompts("plain")) == []
        asked = running.ends["plain"].methods()
        assert not {each for each in asked if each.startswith(("resources/", "prompts/"))}


async def test_who_waits_for_it_in_another_directory_is_not_answered_by_the_first_ones(
    tmp_path: Path,
) -> None:
    async with run(tmp_path, "files") as running:
        server, begin = running.ends["files"], trio.Event()
        roots: list[Any] = []

        async def initialize(params: Any) -> Any:
            await begin.wait()
            return server._find_usual("initialize")

        async def list_tools(params: Any) -> Any:
            roots.append((await server.ask(f"r{len(roots)}", "roots/list"))["result"]["roots"])
            return server._find_usual("tools/list")

        async def list_resources(params: Any) -> Any:
            return {"resources": [{"uri": "note://one", "name": roots[-1][0]["uri"]}]}

        server.answers["initialize"] = initialize
        server.answers["tools/list"] = list_tools
        server.answers["resources/list"] = list_resources
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.servers.prepare, ["files__*"], "/a")
            await wait_all_tasks_blocked()
            nursery.start_soon(_open_soon, begin)
            (found,) = await running.servers.list_resources("files", "/b")
        assert found.name == "file:///b"
        assert server.opened == 2


async def _open_soon(event: trio.Event) -> None:
    await wait_all_tasks_blocked()
    event.set()
