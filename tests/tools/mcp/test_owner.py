"""An owner: one server, started when it is needed, and left alone while it fails."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.owner import FIRST_WAIT_S, LAST_WAIT_S, STEADY_S, Owner
from askd.tools.mcp.session import Offer
from tests.fakes.mcp_peer import MemoryServer, hang

CONFIG = ServerConfig(name="fake", command="fake", startup_s=10, call_s=20)


@dataclass
class FakeKeeper:
    """Remembers what it was told."""

    offers: list[Offer] = field(default_factory=list)
    rooted: int = 0

    def take_offer(self, offer: Offer) -> None:
        self.offers.append(offer)

    def take_rooted(self) -> None:
        self.rooted += 1


@dataclass
class Held:
    """An owner whose task runs."""

    owner: Owner
    server: MemoryServer
    keeper: FakeKeeper

    def how(self) -> str:
        """Its state; asked for anew, for it changes."""
        return self.owner.state


@asynccontextmanager
async def hold(server: MemoryServer | None = None, root: str | None = None) -> AsyncIterator[Held]:
    server, keeper = server or MemoryServer(), FakeKeeper()
    owner = Owner(CONFIG, root, open_transport=server.open, keeper=keeper, now=lambda: 100.0)
    # In it: the owner's task.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner.run)
        yield Held(owner, server, keeper)
        nursery.cancel_scope.cancel()


async def ping(session: Any) -> str:
    """An errand that asks its server for nothing."""
    await trio.lowlevel.checkpoint()
    return "pong"


async def read(session: Any) -> Any:
    """An errand that waits for an answer."""
    return await session.list_resources()


async def test_nothing_is_started_before_it_is_needed() -> None:
    async with hold() as held:
        await wait_all_tasks_blocked()
        assert (held.how(), held.server.opened) == ("idle", 0)
        assert await held.owner.do(ping) == "pong"
        assert await held.owner.do(ping) == "pong"
        assert (held.how(), held.server.opened) == ("ready", 1)
        assert len(held.keeper.offers) == 1
        assert held.owner.ready_at == 100.0


async def test_all_who_need_it_wait_for_one_start() -> None:
    async with hold() as held:
        async with trio.open_nursery() as calling:
            for _ in range(5):
                calling.start_soon(held.owner.do, ping)
        assert held.server.opened == 1


async def test_who_waits_for_its_start_may_go(autojump_clock: MockClock) -> None:
    server = MemoryServer()

    async def begin(params: Any) -> Any:
        await trio.sleep(5)
        return server._find_usual("initialize")

    server.answers["initialize"] = begin
    async with hold(server) as held:
        with trio.move_on_after(1) as limit:
            await held.owner.do(ping)
        assert limit.cancelled_caught
        await trio.sleep(10)
        assert held.how() == "ready"


async def test_one_that_fails_is_left_alone_longer_and_longer(autojump_clock: MockClock) -> None:
    server = MemoryServer()
    server.trouble = CannotRun("It cannot be started: no such file.")
    async with hold(server) as held:
        opened_at = []
        for _ in range(100_000):
            before = server.opened
            start = trio.current_time()
            with pytest.raises(CannotRun, match=r"'fake' is not there. It cannot be started: no"):
                await held.owner.do(ping)
            assert trio.current_time() == start
            if server.opened > before:
                opened_at.append(start)
                if len(opened_at) == 12:
                    break
            await trio.sleep(0.5)
        waits = [later - sooner for sooner, later in itertools.pairwise(opened_at)]
        assert waits == [min(FIRST_WAIT_S * 2**k, LAST_WAIT_S) for k in range(11)]


async def test_when_it_is_tried_again_is_said(autojump_clock: MockClock) -> None:
    server = MemoryServer()
    server.trouble = CannotRun("It is out.")
    async with hold(server) as held:
        for wait_s in (1, 2, 4):
            with pytest.raises(CannotRun, match=f"It is tried again in {wait_s} s"):
                await held.owner.do(ping)
            await trio.sleep(wait_s)
        server.trouble = None
        assert await held.owner.do(ping) == "pong"
        assert held.owner.error is None


async def test_one_that_dies_is_started_again_when_it_is_needed(
    autojump_clock: MockClock,
) -> None:
    async with hold() as held:
        await held.owner.do(ping)
        await held.server.end("It ended with status 7.")
        await wait_all_tasks_blocked()
        assert (held.how(), held.owner.error) == ("failed", "It ended with status 7.")
        with pytest.raises(CannotRun, match="It ended with status 7"):
            await held.owner.do(ping)
        assert held.server.opened == 1
        await trio.sleep(1000)
        assert held.server.opened == 1
        assert await held.owner.do(ping) == "pong"
        assert held.server.opened == 2


async def test_one_that_is_ready_and_dies_over_and_over_does_not_spin(
    autojump_clock: MockClock,
) -> None:
    async with hold() as held:
        for _ in range(2000):
            try:
                await held.owner.do(ping)
            except CannotRun:
                await trio.sleep(0.1)
            else:
                await held.server.end("It ended.")
                await wait_all_tasks_blocked()
        assert held.server.opened <= 10


async def test_a_steady_one_that_dies_is_tried_soon(autojump_clock: MockClock) -> None:
    async with hold() as held:
        for _ in range(5):
            await held.owner.do(ping)
            await trio.sleep(STEADY_S + 1)
            await held.server.end("It ended.")
            await trio.sleep(FIRST_WAIT_S)
        assert held.server.opened == 5


async def test_last_words_say_why_it_did_not_start() -> None:
    server = MemoryServer()

    async def moan(params: Any) -> Any:
        assert server.journal is not None
        server.journal.feed(b"starting\nKeyError: 'TOKEN'\n")
        await server.end("It ended with status 1.")
        return await hang(params)

    server.answers["initialize"] = moan
    async with hold(server) as held:
        said = r"It ended with status 1. Its last words: KeyError: 'TOKEN'"
        with pytest.raises(CannotRun, match=said):
            await held.owner.do(ping)


async def test_a_fault_of_a_transport_is_no_fault_of_the_daemon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = MemoryServer()
    server.trouble = ZeroDivisionError()
    async with hold(server) as held:
        with pytest.raises(CannotRun, match="Its session failed: ZeroDivisionError"):
            await held.owner.do(ping)
        assert "session failed" in caplog.text


async def test_the_sdk_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mcp", None)
    async with hold() as held:
        with pytest.raises(CannotRun, match=r'pip install "askd\[mcp\]"'):
            await held.owner.do(ping)
        assert held.server.opened == 0


async def test_closed_while_somebody_waits() -> None:
    server = MemoryServer()
    server.answers["resources/list"] = hang
    async with hold(server) as held:
        told: list[str] = []

        async def wait() -> None:
            with pytest.raises(CannotRun) as caught:
                await held.owner.do(read)
            told.append(str(caught.value))

        async with trio.open_nursery() as calling:
            calling.start_soon(wait)
            await wait_all_tasks_blocked()
            assert held.owner.is_busy()
            held.owner.close("Its settings have changed.")
        assert told == ["The server 'fake' is gone. Its settings have changed."]
        with pytest.raises(CannotRun, match="Its settings have changed"):
            await held.owner.do(ping)
        assert (server.opened, server.closed) == (1, 1)


async def test_closed_while_it_starts() -> None:
    server = MemoryServer()
    server.answers["initialize"] = hang
    async with hold(server) as held:

        async def wait() -> None:
            with pytest.raises(CannotRun, match="Its settings have changed"):
                await held.owner.get_ready()

        async with trio.open_nursery() as calling:
            calling.start_soon(wait)
            await wait_all_tasks_blocked()
            held.owner.close("Its settings have changed.")


async def test_the_first_directory_that_it_is_told_stays_its_own() -> None:
    async with hold(root="/first") as held:
        assert held.owner.find_root("/of/the/call") == "/of/the/call"
        assert held.owner.find_root("/another") == "/of/the/call"
        assert (held.owner.root, held.keeper.rooted) == ("/of/the/call", 1)
    async with hold(root="/first") as held:
        assert held.owner.find_root(None) == "/first"


async def test_it_is_asked_anew_for_what_it_offers() -> None:
    async with hold() as held:
        assert not await held.owner.refresh()
        await held.owner.get_ready()
        held.server.tools = {"other": "Another."}
        assert await held.owner.refresh()
        assert [each.name for each in held.keeper.offers[-1].tools] == ["other"]


async def test_one_that_does_not_answer_when_it_is_asked_anew_is_ended(
    autojump_clock: MockClock,
) -> None:
    async with hold() as held:
        await held.owner.get_ready()
        held.server.answers["tools/list"] = hang
        assert not await held.owner.refresh()
        assert held.how() == "failed"
        del held.server.answers["tools/list"]
        await held.owner.get_ready(at_once=True)
        assert (held.how(), held.server.opened) == ("ready", 2)


@pytest.mark.parametrize("step", range(12))
async def test_cancelled_at_any_step_nothing_stays_open(step: int) -> None:
    server = MemoryServer()
    with trio.CancelScope() as scope:
        async with hold(server) as held, trio.open_nursery() as calling:
            calling.start_soon(held.owner.do, read)
            for _ in range(step):
                await trio.lowlevel.checkpoint()
            scope.cancel()
    assert server.opened == server.closed
