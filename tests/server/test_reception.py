"""The reception, on a real socket: who is let in, how many, and who makes room."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trio
import trio.testing

from askd.server import reception
from askd.server.connection import Connection
from askd.server.listener import open_door
from askd.server.reception import CONNECTIONS_LIMIT, HANDSHAKES_LIMIT, Reception
from tests.fakes.garbage import uncollected
from tests.fakes.house import HELLO, PeerStream, Refused, Server, open_server, prompt


@dataclass
class Desk:
    """A reception that is open, and means to come to it."""

    reception: Reception
    server: Server
    path: Path
    streams: list[trio.SocketStream] = field(default_factory=list)

    async def come(self) -> PeerStream:
        self.streams.append(await trio.open_unix_socket(self.path))
        return PeerStream(self.streams[-1])

    async def greet(self) -> PeerStream:
        peer = await self.come()
        await peer.call("hello", HELLO)
        return peer


@asynccontextmanager
async def open_desk(tmp_path: Path, *, uid: int | None = None) -> AsyncIterator[Desk]:
    async with open_server() as server, trio.open_nursery() as nursery:
        door = open_door(tmp_path / "run" / "askd.sock")
        desk = Reception(uid=uid)
        await nursery.start(desk.run, door, server.house)
        assert door.path is not None
        open = Desk(desk, server, door.path)
        with trio.fail_after(30):
            yield open
        for stream in open.streams:
            await stream.aclose()
        nursery.cancel_scope.cancel()
        door.close()


async def until_clients(desk: Desk, count: int) -> None:
    while desk.reception.count_clients() != count:
        await trio.lowlevel.checkpoint()


async def test_clients_are_counted_from_their_hello_to_their_end(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        began = desk.reception.left_at
        await desk.come()  # silent
        peer = await desk.greet()
        await until_clients(desk, 1)
        await peer.stream.aclose()
        await until_clients(desk, 0)
        assert desk.reception.left_at > began


async def test_another_user_is_refused(tmp_path: Path) -> None:
    async with open_desk(tmp_path, uid=os.geteuid() + 1) as desk:
        peer = await desk.come()
        with pytest.raises(Refused) as caught:
            await peer.call("hello", HELLO)
        assert (caught.value.code, caught.value.reason) == (69, "not_permitted")
        assert await peer.end() == []
        assert desk.reception.count_clients() == 0


async def test_one_too_many_hears_why_and_a_place_that_is_free_is_given(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        peers = [await desk.greet() for _ in range(CONNECTIONS_LIMIT)]
        late = await desk.come()
        with pytest.raises(Refused) as caught:
            await late.call("hello", HELLO)
        assert (caught.value.code, caught.value.reason) == (8, "too_many_connections")
        assert await late.end() == []
        assert (await peers[-1].call("daemon/status"))["pid"] == 42
        await peers.pop().stream.aclose()
        await until_clients(desk, CONNECTIONS_LIMIT - 1)
        peers.append(await desk.greet())


async def test_one_too_many_that_says_nothing_sensible_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "CONNECTIONS_LIMIT", 0)
    monkeypatch.setattr(reception, "REFUSAL_S", 0.05)
    async with open_desk(tmp_path) as desk:
        for words in (b"\xc1", b"", b"\x93\x02\xa1n\x91\x80"):
            peer = await desk.come()
            if words:
                await peer.stream.send_all(words)
            answers = await peer.end()
            assert [answer[1] for answer in answers] in ([], [0])
        gone = await desk.come()
        await gone.stream.send_eof()
        assert [answer[2]["code"] for answer in await gone.end()] == [8]


async def test_twenty_at_once_are_all_served(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        answered = []

        async def come(number: int) -> None:
            peer = await desk.greet()
            answered.append((await peer.call("turn/start", prompt(str(number))))["seq"])

        async with trio.open_nursery() as nursery:
            for number in range(HANDSHAKES_LIMIT * 3):
                nursery.start_soon(come, number)
        assert answered == [2] * HANDSHAKES_LIMIT * 3


async def test_silent_peers_make_room_for_those_who_speak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "SILENCE_S", 0.02)
    monkeypatch.setattr(reception, "HANDSHAKE_PATIENCE_S", 0.01)
    async with open_desk(tmp_path) as desk:
        silent = [await desk.come() for _ in range(HANDSHAKES_LIMIT * 3)]
        with trio.fail_after(2):  # long before their two seconds are over
            peer = await desk.greet()
        assert (await peer.call("daemon/status"))["pid"] == 42
        assert await silent[0].end() == []


async def test_a_connection_that_fails_is_logged_and_the_others_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_desk(tmp_path) as desk:
        well = await desk.greet()

        async def fail(self: object) -> None:
            await trio.lowlevel.checkpoint()
            raise RuntimeError("planted")

        monkeypatch.setattr(Connection, "run", fail)
        ill = await desk.come()
        assert await ill.end() == []
        monkeypatch.undo()
        assert (await well.call("daemon/status"))["pid"] == 42
    assert "planted" in caplog.text


async def test_a_connection_that_is_over_is_freed_at_once_and_not_by_the_collector(
    tmp_path: Path,
) -> None:
    async with open_desk(tmp_path) as desk:
        with uncollected(Connection):
            peer = await desk.greet()
            await peer.stream.aclose()
            await until_clients(desk, 0)
            await trio.testing.wait_all_tasks_blocked()
            del peer
