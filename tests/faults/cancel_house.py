"""A whole house in this process, on a real disk: only the models and the outer world are scripted.

What is said in a prompt decides what the model does: "wait" waits until the house is `released`,
"tools" calls one tool that runs and one that asks first; anything else is answered with a word.
"""

import itertools
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from ask.protocol.messages import Map
from askd.core.approval import ApprovalRules
from askd.core.events import Event
from askd.core.items import AssistantMessage, UserMessage, join_text
from askd.jobs.desk import JobDesk
from askd.jobs.kinds import make_kinds
from askd.jobs.turn import steer_turns
from askd.jobs.worker import Worker
from askd.providers.base import CallDelta, ModelRequest, Stopped
from askd.server import wire
from askd.server.dispatch import Dispatch, Outcome
from askd.server.house import House
from askd.server.peer import Peer
from askd.sessions.admission import Admission
from askd.sessions.needs import Means
from askd.sessions.registry import Sessions
from askd.sessions.restoring import Restoring
from askd.sessions.rules import ToolRules
from askd.store.jobs.table import JobTable
from askd.store.memory import MemoryLog
from askd.store.queries import Reader
from askd.store.schedules.table import ScheduleTable
from askd.store.writer import Writer
from askd.timetable import Timetable
from askd.tools.registry import Registry
from tests.fakes.checkups import FakeCheckup
from tests.fakes.house import (
    IDENTITY,
    FakeHost,
    HouseStore,
    KeptBackups,
    ListedModels,
    find_confinement,
)
from tests.fakes.long_talks import is_summary_request
from tests.fakes.mcp_servers import FakeServers
from tests.fakes.models import Step
from tests.fakes.notifiers import FakeNotifier
from tests.fakes.scrubs import FakeScrubs
from tests.fakes.sign_ins import FakeServerSignIns, FakeSignIns
from tests.fakes.snapshots import FakeRefs
from tests.sessions.approval_world import Door

TURNS_LIMIT = 8
WINDOW, RESERVED = 2500, 500
"""In tokens: small, so that a conversation soon has something that may leave."""


@dataclass
class Home:
    """The house, and what is behind it.

    Attributes:
        released: what waits goes on once it is set; each case has its own.
    """

    house: House
    sessions: Sessions
    reader: Reader
    writer: Writer
    dispatch: Dispatch
    script: "Script"

    async def answer(self, peer: Peer, method: str, params: Map) -> Outcome:
        """The answer to a request, once it is there."""
        found = self.dispatch.answer(peer, method, params)
        return found if isinstance(found, Outcome) else await found


class Script:
    """What the model says. `released`: what waits goes on once it is set."""

    def __init__(self) -> None:
        self.released = trio.Event()

    def __call__(self, request: ModelRequest) -> Iterable[Step]:
        if is_summary_request(request):
            return ["They said things."]
        asked = [item for item in request.items if isinstance(item, UserMessage)]
        said = isinstance(request.items[-1], AssistantMessage | UserMessage)
        words = join_text(asked[-1].parts) if asked else ""
        if "wait" in words:
            return ["one ", self.released, "two"]
        if "tools" in words and said:
            return [
                CallDelta(0, "call_0", "look", "{}"),
                CallDelta(1, "call_1", "door", '{"which": 1}'),
                Stopped("calls"),
            ]
        return ["a ", "word"]


@asynccontextmanager
async def open_home(directory: Path, kind: type[Sessions] = Sessions) -> AsyncIterator[Home]:
    """A house that is served until the block ends."""
    database = directory / "ask.db"
    numbers = itertools.count(1)

    def new_id() -> str:
        return f"{next(numbers):08x}-0000-4000-8000-000000000000"

    def observe(events: Sequence[Event]) -> None:
        sessions.observe(events)
        worker.observe(events)

    script = Script()
    models = ListedModels(script, window=WINDOW, reserved=RESERVED)
    auth, servers = FakeSignIns(), FakeServers()
    reader = Reader(database)
    memory = MemoryLog(observe=observe, now=time.time)
    writer = Writer(
        database,
        observe=observe,
        now=time.time,
        boot_id=IDENTITY.boot_id,
        jobs_changed=lambda: worker.bell.ring(),
    )
    tools = [Door("look", needs="auto", effects=False), Door()]
    means = Means(
        models=models,
        tools=Registry(tools, more=servers.tools),
        prepare=servers.prepare,
        toolbox=ToolRules,
        approval=ApprovalRules,
        now=time.time,
        new_id=new_id,
        title_mode=lambda: "off",
        turns=trio.CapacityLimiter(TURNS_LIMIT),
    )
    sessions = kind(
        log=writer, memory=memory, reader=reader, means=means, encode=wire.encode_published
    )
    table = JobTable(writer, find_hide=lambda: None)
    worker = Worker(
        table, log=writer, kinds=make_kinds(sessions), now=time.time, chance=lambda: 0.5
    )
    admission = Admission(sessions, new_id=new_id)
    notifier = FakeNotifier()
    timetable = Timetable(
        ScheduleTable(writer, reader, find_hide=lambda: None),
        sessions=sessions,
        admission=admission,
        send=notifier.send,
    )
    house = House(
        identity=IDENTITY,
        sessions=sessions,
        admission=admission,
        reader=reader,
        models=models,
        host=FakeHost(),
        clients=lambda: 1,
        find_confinement=find_confinement,
        servers=servers,
        server_logins=FakeServerSignIns(auth),
        notifier=notifier,
        auth=auth,
        scrubs=FakeScrubs(sessions),
        restoring=Restoring(sessions, FakeRefs(HouseStore())),
        backups=KeptBackups(),
        checkup=FakeCheckup(),
        jobs=JobDesk(
            table,
            reader=reader,
            worker=worker,
            steering=steer_turns(sessions, admission, new_id=new_id),
        ),
        schedules=timetable.desk,
    )
    # In the first: the writer, which must outlive all who write. In the second: all the others.
    async with trio.open_nursery() as storage:
        await storage.start(writer.run)
        async with trio.open_nursery() as rooms:
            await rooms.start(sessions.run)
            await rooms.start(worker.run)
            rooms.start_soon(timetable.run)
            yield Home(house, sessions, reader, writer, Dispatch(house), script)
            rooms.cancel_scope.cancel()
        await writer.close()
        reader.close()
        storage.cancel_scope.cancel()
