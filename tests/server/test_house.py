"""A whole house: the real log on a real disk, the real socket, and a client that shares no code.

The client is what a stranger would write with the `msgpack` package and the page
of the protocol at hand.
"""

import itertools
import socket
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgpack
import trio

from askd.jobs.desk import JobDesk
from askd.jobs.worker import Worker
from askd.server import wire
from askd.server.house import House
from askd.server.listener import open_door
from askd.server.reception import Reception
from askd.sessions.admission import Admission
from askd.sessions.needs import Means
from askd.sessions.registry import Sessions
from askd.sessions.restoring import Restoring
from askd.store.jobs.table import JobTable
from askd.store.memory import MemoryLog
from askd.store.queries import Reader
from askd.store.snapshots import SnapshotTable
from askd.store.writer import Writer
from askd.tools.registry import Registry
from tests.fakes.checkups import FakeCheckup
from tests.fakes.house import (
    IDENTITY,
    FakeHost,
    KeptBackups,
    ListedModels,
    find_confinement,
)
from tests.fakes.mcp_servers import FakeServers
from tests.fakes.notifiers import FakeNotifier
from tests.fakes.schedules import make_desk
from tests.fakes.scrubs import FakeScrubs
from tests.fakes.sign_ins import FakeServerSignIns, FakeSignIns


class Stranger:
    """An independent MessagePack-RPC client: blocking, forty lines, nothing of this project."""

    def __init__(self, path: Path) -> None:
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(20)
        self.stream.connect(str(path))
        self.unpacker = msgpack.Unpacker()
        self.ids = itertools.count()
        self.notifications: list[tuple[str, Any]] = []

    def receive(self) -> Any:
        while True:
            for message in self.unpacker:
                return message
            data = self.stream.recv(65536)
            assert data, "the daemon closed the connection"
            self.unpacker.feed(data)

    def call(self, method: str, **params: Any) -> Any:
        id = next(self.ids)
        self.stream.sendall(msgpack.packb([0, id, method, [params]]))
        while True:
            message = self.receive()
            if message[0] == 1 and message[1] == id:
                assert message[2] is None, message[2]
                return message[3]
            self.notifications.append((message[1], message[2][0]))

    def wait_for(self, kind: str) -> list[tuple[str, Any]]:
        while not any(m == "event" and p["type"] == kind for m, p in self.notifications):
            _, method, (params,) = self.receive()
            self.notifications.append((method, params))
        return self.notifications


@contextmanager
def stranger(path: Path) -> Iterator[Stranger]:
    client = Stranger(path)
    try:
        yield client
    finally:
        client.stream.close()


@asynccontextmanager
async def open_house(tmp_path: Path, models: ListedModels) -> AsyncIterator[Path]:
    """Everything but the application, on a database in `tmp_path`; yields the socket's path."""
    database = tmp_path / "ask.db"
    reader = Reader(database)
    writer = Writer(database, observe=lambda e: sessions.observe(e), now=time.time, boot_id="b")
    memory = MemoryLog(observe=lambda e: sessions.observe(e), now=time.time)
    means = Means(
        models=models,
        tools=Registry(),
        now=time.time,
        new_id=lambda: str(uuid.uuid4()),
        title_mode=lambda: "off",
        turns=trio.CapacityLimiter(8),
    )
    sessions = Sessions(
        log=writer, memory=memory, reader=reader, means=means, encode=wire.encode_published
    )
    table = JobTable(writer, find_hide=lambda: None)
    worker = Worker(table, log=writer, kinds={}, now=time.time, chance=lambda: 0.5)
    reception = Reception()
    house = House(
        identity=IDENTITY,
        sessions=sessions,
        admission=Admission(sessions, new_id=means.new_id),
        reader=reader,
        models=models,
        host=FakeHost(),
        auth=FakeSignIns(),
        scrubs=FakeScrubs(sessions),
        restoring=Restoring(sessions, SnapshotTable(writer, reader)),
        backups=KeptBackups(),
        jobs=JobDesk(table, reader=reader, worker=worker),
        schedules=make_desk(sessions, Admission(sessions, new_id=means.new_id), now=time.time),
        checkup=FakeCheckup(),
        clients=reception.count_clients,
        find_confinement=find_confinement,
        servers=FakeServers(),
        server_logins=FakeServerSignIns(FakeSignIns()),
        notifier=FakeNotifier(),
    )
    door = open_door(tmp_path / "run" / "askd.sock")
    assert door.path is not None
    # In it: the writer, which outlives the rest.
    async with trio.open_nursery() as storage:
        await storage.start(writer.run)
        # In it: sessions and clients.
        async with trio.open_nursery() as rooms:
            await rooms.start(sessions.run)
            rooms.start_soon(sessions.recover)
            await rooms.start(reception.run, door, house)
            yield door.path
            await sessions.drain(0)
            rooms.cancel_scope.cancel()
        await writer.close()
        storage.cancel_scope.cancel()
    door.close()
    reader.close()


def converse(path: Path) -> str:
    """What the published protocol promises a stranger, in a thread of its own."""
    with stranger(path) as asking, stranger(path) as watching:
        hello = asking.call("hello", client="stranger", version="0", protocol=1)
        assert hello["protocol"] == 1
        watching.call("hello", client="stranger", version="0", protocol=1)
        started = asking.call(
            "turn/start",
            target={"kind": "new", "value": "shared"},
            key="one",
            parts=[{"type": "text", "text": "my name is Alice"}],
            terminal="tty1",
        )
        page = watching.call(
            "conversation/subscribe", conversation_id=started["conversation_id"], after_seq=0
        )
        types = [event["type"] for event in page["data"]]
        assert types[:2] == ["conversation_created", "prompt_accepted"]
        watching.notifications += [("event", event) for event in page["data"]]
        seen = watching.wait_for("turn_finished")
        events = [params for method, params in seen if method == "event"]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        text = "".join(live["text"] for live in page["live"])
        for method, params in seen:
            if method == "delta":
                assert params["offset"] == len(text)
                text += params["text"]
        (answer,) = [event["item"] for event in events if event["type"] == "item_added"]
        assert text in ("", answer["parts"][0]["text"])
        assert answer["parts"][0]["text"] == "echo: my name is Alice"
        state = asking.call("turn/wait", **{k: started[k] for k in ("conversation_id", "turn_id")})
        assert state["outcome"] == "completed"
        return str(started["conversation_id"])


def come_back(path: Path, conversation_id: str) -> None:
    """After a restart: all of it is there, listed, found by name, prefix and terminal."""
    with stranger(path) as client:
        client.call("hello", client="stranger", version="0", protocol=1)
        page = client.call("conversation/list", limit=10)
        (row,) = page["data"]
        assert (row["id"], row["name"], page["total"]) == (conversation_id, "shared", 1)
        assert row["message_count"] == 2
        for target in (
            {"kind": "session", "value": conversation_id[:8]},
            {"kind": "session", "value": "shared"},
            {"kind": "terminal", "value": "tty1"},
        ):
            assert client.call("conversation/resolve", target=target)["id"] == conversation_id
        events = client.call("conversation/read", conversation_id=conversation_id)["data"]
        assert events[-1]["type"] == "turn_finished"
        started = client.call(
            "turn/start",
            target={"kind": "terminal", "value": "tty1"},
            key="two",
            parts=[{"type": "text", "text": "who am I?"}],
            follow=True,
        )
        assert started["conversation_id"] == conversation_id
        client.wait_for("turn_finished")
        renamed = client.call("conversation/rename", conversation_id=conversation_id, name="other")
        assert renamed["name"] == "other"
        bound = client.call(
            "conversation/resolve", target={"kind": "session", "value": "other"}, bind="tty2"
        )
        assert bound["last_seq"] == renamed["last_seq"]
        found = client.call("conversation/resolve", target={"kind": "terminal", "value": "tty2"})
        assert found["id"] == conversation_id
        assert client.call("job/list")["data"] == []
        client.call("conversation/delete", conversation_id=conversation_id)
        assert client.call("conversation/list")["data"] == []


async def test_a_stranger_asks_watches_and_finds_it_all_again(tmp_path: Path) -> None:
    models = ListedModels()
    async with open_house(tmp_path, models) as path:
        conversation_id = await trio.to_thread.run_sync(converse, path)
    async with open_house(tmp_path, models) as path:
        await trio.to_thread.run_sync(come_back, path, conversation_id)
    assert "Alice" in repr(models.requests[-1].items)
    assert models.rejected == []
