"""The place of a server: one for all, or one for each directory, and what it offers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from askd.tools.base import CannotRun, Result, Site
from askd.tools.mcp.base import ServerTool, describe_tool
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.known import Known, KnownServers
from askd.tools.mcp.seat import MOST_ROOTS, Seat
from tests.fakes.mcp_peer import MemoryServer, hang

CONFIG = ServerConfig(name="fake", command="fake", startup_s=10, call_s=20)
ECHO = describe_tool("fake", "echo", "Say the same.", {"type": "object", "properties": {}})


async def call(tool: ServerTool, arguments: Mapping[str, Any], site: Site) -> Result:
    raise AssertionError("nobody calls it")


async def ping(session: Any) -> None:
    """What asks its server for nothing."""
    await trio.lowlevel.checkpoint()


@dataclass
class Placed:
    """A seat whose owners run, and their server."""

    seat: Seat
    server: MemoryServer
    store: KnownServers

    async def start(self, root: str | None) -> None:
        await self.seat.find_owner(root).get_ready()


@asynccontextmanager
async def place(
    tmp_path: Path, config: ServerConfig = CONFIG, known: Known | None = None
) -> AsyncIterator[Placed]:
    server, store = MemoryServer(), KnownServers(tmp_path / "known.json")
    times = iter(range(1, 10_000))
    if known is not None:
        await store.keep(config, known)
    # In it: the owners.
    async with trio.open_nursery() as nursery:
        seat = Seat(
            config,
            open_transport=server.open,
            store=store,
            call=call,
            now=lambda: float(next(times)),
            nursery=lambda: nursery,
        )
        yield Placed(seat, server, store)
        nursery.cancel_scope.cancel()


async def test_one_for_all_as_long_as_it_asks_for_no_directory(tmp_path: Path) -> None:
    async with place(tmp_path) as placed:
        for root in ("/a", "/b", None):
            await placed.start(root)
        assert placed.server.opened == 1


async def test_one_for_each_once_it_has_asked(tmp_path: Path) -> None:
    async with place(tmp_path) as placed:
        await placed.start("/a")
        placed.seat.find_owner("/a").find_root(None)
        for root in ("/a", "/b", "/b", None):
            await placed.start(root)
        assert placed.server.opened == 2
        assert placed.seat.find_owner("/b").find_root(None) == "/b"
        await wait_all_tasks_blocked()
        kept = placed.store.find(CONFIG)
        assert kept is not None
        assert kept.rooted


async def test_that_it_asks_is_known_over_restarts(tmp_path: Path) -> None:
    async with place(tmp_path, known=Known(at=1.0, rooted=True)) as placed:
        for root in ("/a", "/b"):
            await placed.start(root)
        assert placed.server.opened == 2
        assert placed.seat.known is not None
        assert placed.seat.known.rooted


async def test_so_many_directories_and_no_more(tmp_path: Path) -> None:
    async with place(tmp_path, known=Known(at=1.0, rooted=True)) as placed:
        first = placed.seat.find_owner("/0")
        for k in range(MOST_ROOTS):
            await placed.start(f"/{k}")
            await placed.seat.find_owner(f"/{k}").do(ping)
        await placed.seat.find_owner("/0").do(ping)
        await placed.start("/new")
        await wait_all_tasks_blocked()
        assert placed.server.closed == 1
        assert placed.seat.find_owner("/0") is first
        assert placed.server.opened == MOST_ROOTS + 1


async def test_one_that_is_at_work_is_not_ended_for_another(tmp_path: Path) -> None:
    async with place(tmp_path, known=Known(at=1.0, rooted=True)) as placed:
        placed.server.answers["resources/list"] = hang
        async with trio.open_nursery() as calling:
            for k in range(MOST_ROOTS):
                calling.start_soon(
                    placed.seat.find_owner(f"/{k}").do, lambda session: session.list_resources()
                )
                await wait_all_tasks_blocked()
            with pytest.raises(CannotRun, match="works in 8 directories already"):
                placed.seat.find_owner("/new")
            calling.cancel_scope.cancel()


async def test_known_tools_are_offered_before_it_is_started(tmp_path: Path) -> None:
    known = Known(at=5.0, version="0.9", resources=True, tools=[ECHO])
    async with place(tmp_path, known=known) as placed:
        assert [each.name for each in placed.seat.tools] == ["fake__echo"]
        assert placed.seat.is_known()
        state = placed.seat.describe()
        assert (state.state, state.version, state.at) == ("idle", "0.9", 5.0)
        assert (state.resources, state.prompts) == (True, False)
        assert placed.server.opened == 0
        placed.server.tools = {"other": "Another."}
        await placed.start(None)
        assert [each.name for each in placed.seat.tools] == ["fake__other"]
        await wait_all_tasks_blocked()
    kept = KnownServers(tmp_path / "known.json").find(CONFIG)
    assert kept is not None
    assert [each.name for each in kept.tools] == ["other"]


@pytest.mark.parametrize(
    ("config", "offered"),
    [
        (replace(CONFIG, disabled_tools=("ec*",)), ["fake__other"]),
        (replace(CONFIG, enabled_tools=("echo",)), ["fake__echo"]),
        (replace(CONFIG, enabled_tools=()), []),
        (replace(CONFIG, enabled=False), []),
    ],
)
async def test_only_what_is_wanted_is_offered(
    tmp_path: Path, config: ServerConfig, offered: list[str]
) -> None:
    tools = [ECHO, describe_tool("fake", "other", "Another.", {})]
    async with place(tmp_path, config, Known(at=1.0, tools=tools)) as placed:
        assert [each.name for each in placed.seat.tools] == offered
        assert [each.name for each in placed.seat.describe().tools] == ["echo", "other"]


async def test_how_one_is_that_failed(tmp_path: Path) -> None:
    async with place(tmp_path) as placed:
        assert placed.seat.describe().state == "idle"
        assert not placed.seat.has_failed()
        placed.server.trouble = CannotRun("It is out.")
        with pytest.raises(CannotRun):
            await placed.start(None)
        state = placed.seat.describe()
        assert (state.state, state.error, state.at, state.tools) == (
            "failed",
            "It is out.",
            None,
            (),
        )
        assert placed.seat.has_failed()
        assert "-- It is out." in placed.seat.read_log()


async def test_logs_of_several_directories_are_told_apart(tmp_path: Path) -> None:
    async with place(tmp_path, known=Known(at=1.0, rooted=True)) as placed:
        await placed.start("/a")
        assert "==" not in placed.seat.read_log()
        await placed.start("/b")
        assert "== for /a\n" in placed.seat.read_log()
        assert "== for /b\n" in placed.seat.read_log()


async def test_a_log_says_that_there_was_no_directory(tmp_path: Path) -> None:
    async with place(tmp_path, known=Known(at=1.0, rooted=True)) as placed:
        await placed.start(None)
        await placed.start("/a")
        assert "== for no directory" in placed.seat.read_log()
        assert "None" not in placed.seat.read_log()


async def test_closed_all_of_it_ends(tmp_path: Path) -> None:
    async with place(tmp_path, known=Known(at=1.0, rooted=True)) as placed:
        await placed.start("/a")
        await placed.start("/b")
        placed.seat.close()
        await wait_all_tasks_blocked()
        assert placed.server.closed == 2
