"""A whole server on fakes: sessions on a store in memory, and peers on memory streams.

The peer speaks MessagePack-RPC straight from the `msgpack` library: it shares no
code with the daemon, so that the two cannot agree on a mistake.
"""

import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import msgpack
import trio
import trio.testing

from ask.protocol import CAPABILITIES, PROTOCOL
from ask.protocol.messages import ConfigReadResult, DaemonStatus, HelloResult
from askd.core.approval import ApprovalRules
from askd.core.events import Event
from askd.errors import AskdError, BadConfig, NotFound
from askd.jobs.desk import JobDesk
from askd.jobs.turn import steer_turns
from askd.jobs.worker import Worker
from askd.processes.confinement import Confiner
from askd.providers.base import Caller, Model
from askd.server import wire
from askd.server.connection import Connection
from askd.server.dispatch import Dispatch
from askd.server.house import House
from askd.sessions.admission import Admission
from askd.sessions.needs import Means
from askd.sessions.registry import Sessions
from askd.sessions.restoring import Restoring
from askd.sessions.rules import ToolRules
from askd.store.backups import Backup, Backups
from askd.store.jobs.queries import EVERY, JobFilter, JobPage
from askd.store.log import Committed, Write
from askd.store.memory import MemoryLog
from askd.store.queries import ListPage, SearchPage, UsagePage
from askd.tools.base import Tool
from askd.tools.registry import Registry
from tests.fakes.checkups import FakeCheckup
from tests.fakes.log import FakeStore
from tests.fakes.mcp_servers import FakeServers
from tests.fakes.models import ScriptedModels
from tests.fakes.notifiers import FakeNotifier
from tests.fakes.schedules import make_desk
from tests.fakes.scrubs import FakeScrubs
from tests.fakes.sign_ins import FakeServerSignIns, FakeSignIns
from tests.fakes.snapshots import FakeRefs, make_recorder

IDENTITY = HelloResult(
    protocol=PROTOCOL, version="9.9", pid=42, boot_id="boot-1", capabilities=list(CAPABILITIES)
)
HELLO = {"client": "test", "version": "1", "protocol": PROTOCOL}


class HouseStore(FakeStore):
    """The store, with the listings that only the server asks for."""

    usage: list[UsagePage]
    usage_asked: list[dict[str, Any]]

    def __init__(self) -> None:
        super().__init__()
        self.usage = []
        self.usage_asked = []
        self.hits: list[SearchPage | AskdError] = []
        self.searched: list[dict[str, Any]] = []

    async def read_usage(self, **asked: Any) -> UsagePage:
        self.usage_asked.append(asked)
        return self.usage[len(self.usage_asked) - 1]

    async def search(self, text: str, **asked: Any) -> SearchPage:
        self.searched.append({"text": text, **asked})
        found = self.hits[len(self.searched) - 1]
        if isinstance(found, Exception):
            raise found
        return found

    async def append(self, write: Write) -> Committed:
        committed = await super().append(write)
        if write.terminal is not None and committed.repeated is None:
            self.terminals[write.terminal] = write.conversation_id  # also when it says nothing else
        return committed

    async def read_events(
        self,
        conversation_id: str,
        *,
        after_seq: int,
        limit: int,
        limit_bytes: int,
        holes: bool = False,
    ) -> tuple[list[Event], bool]:
        later = [event for event in await self.load(conversation_id) if event.seq > after_seq]
        return later[:limit], len(later) > limit

    async def list_conversations(
        self,
        *,
        cursor: str | None,
        limit: int,
        before_at: float | None = None,
        begins: str | None = None,
    ) -> ListPage:
        rows = [
            row
            for row in reversed(self.rows())
            if any((each or "").startswith(begins or "") for each in (row.name, row.id))
        ]
        if before_at is not None:
            rows = [row for row in rows if row.updated_at < before_at]
        start = int(cursor or 0)
        more = start + limit < len(rows)
        return ListPage(
            rows=rows[start : start + limit],
            total=len(rows),
            next_cursor=str(start + limit) if more else None,
        )

    async def jobs_page(
        self, *, cursor: str | None, limit: int, which: JobFilter = EVERY
    ) -> JobPage:
        rows = [
            row
            for row in await self.find_jobs(list(self.jobs))
            if which.kind in (None, row.kind)
            and (not which.states or row.state in which.states)
            and which.conversation_id in (None, row.conversation_id)
        ]
        start = int(cursor or 0)
        more = start + limit < len(rows)
        return JobPage(
            rows=rows[start : start + limit], next_cursor=str(start + limit) if more else None
        )

    async def count_jobs(self) -> list[tuple[str, str, int]]:
        counted = Counter((job.job.kind, job.state) for job in self.jobs.values())
        return [(kind, state, count) for (kind, state), count in counted.items()]


class StoreReader:
    """The store as `House.reader`: there `jobs` is a listing, in the fake it is the table."""

    def __init__(self, store: HouseStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, "jobs_page" if name == "jobs" else name)


class KeptBackups(Backups):
    """Copies that hold these conversations, by their names."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere/ask.db"), find_mirror=lambda: Path("/nowhere/rollouts"))
        self.holding: dict[str, list[str]] = {}

    async def find(self, conversation_ids: Sequence[str] | None = None) -> list[Backup]:
        return [
            Backup(name, 1, 2.0)
            for name, held in self.holding.items()
            if conversation_ids is None or set(held) & set(conversation_ids)
        ]

    async def remove(self, name: str) -> None:
        if name == "stuck":
            raise PermissionError(13, "Permission denied")
        if self.holding.pop(name, None) is None:
            raise NotFound(f"There is no copy {name!r}.", reason="backup_not_found")


class ListedModels(ScriptedModels):
    """Scripted models that can be listed."""

    aliases: ClassVar[dict[str, str]] = {"quick": "test/small"}
    refreshed = False

    async def list_models(
        self, caller: Caller, *, refresh: bool = False
    ) -> tuple[list[Model], list[str]]:
        self.refreshed = self.refreshed or refresh
        models = [await self.resolve(name, caller) for name in self.known]
        guess = replace(models[-1].limits, known=False)
        return [*models[:-1], replace(models[-1], limits=guess)], ["work: no answer"]

    async def recall_names(self, caller: Caller) -> list[str]:
        await trio.lowlevel.checkpoint()
        return list(self.known)

    async def explain_default(self, caller: Caller) -> tuple[str | None, str | None]:
        try:
            model = await self.resolve(None, caller)
        except AskdError as error:
            return None, error.message
        return model.name, "it is the only one there is"


@dataclass
class FakeHost:
    """The application around the server; remembers what it was told."""

    draining: bool = False
    refreshed: int = 0
    told: list[tuple[str, float]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=lambda: {"title": "off"})
    warning: str | None = None

    async def status(self, *, clients: int) -> DaemonStatus:
        await trio.lowlevel.checkpoint()
        return DaemonStatus(
            pid=42,
            version="9.9",
            protocol=PROTOCOL,
            boot_id="boot-1",
            uptime_s=1.5,
            rss_bytes=1,
            sessions=0,
            jobs=0,
            clients=clients,
            socket="/s",
            data="/d",
            sqlite="3",
            draining=self.draining,
        )

    def drain(self, wait_s: float) -> None:
        self.draining = True
        self.told.append(("drain", wait_s))

    def stop(self, wait_s: float) -> None:
        self.draining = True
        self.told.append(("stop", wait_s))

    def serves(self, data: str) -> bool:
        return data == "/d"

    def refresh(self) -> None:
        self.refreshed += 1

    def read_config(self) -> ConfigReadResult:
        return ConfigReadResult(path="/c", settings=self.settings, warnings=[])

    async def write_config(self, key: str, value: Any) -> ConfigReadResult:
        if key not in self.settings:
            raise BadConfig(f"There is no setting {key!r}.")
        self.settings[key] = value
        return self.read_config()


@dataclass
class Server:
    """A house that is served, and means to connect to it."""

    house: House
    store: HouseStore
    models: ListedModels
    host: FakeHost
    auth: FakeSignIns
    backups: KeptBackups
    servers: FakeServers
    dispatch: Dispatch
    nursery: trio.Nursery

    def connect(self) -> "PeerStream":
        """A connection over memory streams; the daemon's side runs until its end."""
        ours, theirs = trio.testing.memory_stream_pair()
        connection = Connection(theirs, self.dispatch)
        self.nursery.start_soon(connection.run)
        return PeerStream(ours, connection)

    async def greet(self) -> "PeerStream":
        """A connection that has said hello."""
        peer = self.connect()
        assert (await peer.call("hello", HELLO))["boot_id"] == "boot-1"
        return peer


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error["data"]
        self.reason: str = error["data"]["reason"]


class PeerStream:
    """The other end of a connection: what is sent, and everything received, in order."""

    def __init__(self, stream: Any, connection: Connection | None = None) -> None:
        self.stream = stream
        self.connection = connection
        self.received: deque[list[Any]] = deque()
        self._ids = itertools.count(1)
        self._unpacker = msgpack.Unpacker()

    async def send(self, method: str, params: Any, *, id: int | None = None) -> int:
        """Send a request and do not wait."""
        id = next(self._ids) if id is None else id
        await self.stream.send_all(msgpack.packb([0, id, method, [params]]))
        return id

    async def next(self) -> list[Any]:
        """The next message of any kind; raises `EndOfStream` at the end."""
        if self.received:
            return self.received.popleft()
        while True:
            for message in self._unpacker:
                assert isinstance(message, list)
                return message
            data = await self.stream.receive_some()
            if not data:
                raise EndOfStream
            self._unpacker.feed(data)

    async def call(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its answer; what comes meanwhile is kept in `received`."""
        id = await self.send(method, params or {})
        return await self.answer(id)

    async def answer(self, id: int) -> Any:
        """The result of the request of this id; raises `Refused`."""
        kept: list[list[Any]] = []
        while True:
            message = await self.next()
            if message[0] == 1 and message[1] == id:
                self.received.extendleft(reversed(kept))
                if message[2] is not None:
                    assert message[3] is None
                    raise Refused(message[2])
                return message[3]
            kept.append(message)

    async def notification(self) -> tuple[str, dict[str, Any]]:
        """The next message, which must be a notification."""
        kind, method, (params,) = await self.next()
        assert kind == 2
        return method, params

    async def follow(self, until: str) -> list[tuple[str, dict[str, Any]]]:
        """Every notification up to the first event of type `until`."""
        seen = []
        while True:
            method, params = await self.notification()
            seen.append((method, params))
            if method == "event" and params["type"] == until:
                return seen

    async def end(self) -> list[list[Any]]:
        """Everything up to the end of the stream."""
        seen = []
        try:
            while True:
                seen.append(await self.next())
        except EndOfStream:
            return seen


class EndOfStream(Exception):
    """The daemon closed the connection."""


async def find_confinement() -> tuple[Confiner, str]:
    """As on a machine with Landlock alone."""
    await trio.lowlevel.checkpoint()
    return "landlock", "Confined by Landlock."


@asynccontextmanager
async def open_server(
    *,
    models: ListedModels | None = None,
    checkup: FakeCheckup | None = None,
    home: Path | None = None,
    tools: Iterable[Tool] = (),
    toolbox: ToolRules | None = None,
    approval: ApprovalRules | None = None,
    notifier: FakeNotifier | None = None,
) -> AsyncIterator[Server]:
    """Serve a house until the block ends; then everything is cancelled.

    `home`: a directory for what snapshots need; without, none are taken.
    """
    store, models, host = HouseStore(), models or ListedModels(), FakeHost()
    auth, backups, servers = FakeSignIns(), KeptBackups(), FakeServers()
    numbers = itertools.count(1)
    refs = FakeRefs(store)

    def new_id() -> str:
        return f"{next(numbers):08x}-0000"

    def observe(events: Iterable[Event]) -> None:
        sessions.observe(list(events))

    means = Means(
        models=models,
        tools=Registry(tools, more=servers.tools),
        prepare=servers.prepare,
        toolbox=lambda: toolbox or ToolRules(),
        approval=lambda: approval or ApprovalRules(),
        now=store.now,
        new_id=new_id,
        title_mode=lambda: "off",
        turns=trio.CapacityLimiter(8),
        recorder=None if home is None else make_recorder(home, refs),
    )
    memory = MemoryLog(observe=observe, now=store.now)
    sessions = Sessions(
        log=store, memory=memory, reader=store, means=means, encode=wire.encode_published
    )
    store.observe = observe
    worker = Worker(store, log=store, kinds={}, now=store.now, chance=lambda: 0.5)
    admission = Admission(sessions, new_id=new_id)
    house = House(
        identity=IDENTITY,
        sessions=sessions,
        admission=admission,
        reader=StoreReader(store),  # type: ignore[arg-type]  # what handlers use of it is there
        models=models,
        host=host,
        clients=lambda: 1,
        find_confinement=find_confinement,
        servers=servers,
        server_logins=FakeServerSignIns(auth),
        notifier=notifier or FakeNotifier(),
        auth=auth,
        scrubs=FakeScrubs(sessions),
        restoring=Restoring(sessions, refs),
        backups=backups,
        checkup=checkup or FakeCheckup(),
        jobs=JobDesk(
            store,
            reader=store,
            worker=worker,
            steering=steer_turns(sessions, admission, new_id=new_id),
        ),
        schedules=make_desk(sessions, admission, now=store.now, new_id=new_id),
    )
    # In it: the sessions and every connection. The end of the block ends them.
    async with trio.open_nursery() as nursery:
        await nursery.start(sessions.run)
        yield Server(house, store, models, host, auth, backups, servers, Dispatch(house), nursery)
        nursery.cancel_scope.cancel()


def prompt(text: str = "hello", **more: Any) -> dict[str, Any]:
    """The parameters of a `turn/start`."""
    return {
        "target": {"kind": "new"},
        "key": f"key of {text}",
        "parts": [{"type": "text", "text": text}],
        **more,
    }
