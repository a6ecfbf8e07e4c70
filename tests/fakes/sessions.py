"""A whole sessions room on fakes: a store, scripted models, and someone who watches."""

import io
import itertools
import pickle
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from askd.core.approval import ApprovalRules
from askd.core.events import Event, TurnFinished, TurnOptions
from askd.core.items import Part, Text
from askd.core.overflow import Policy
from askd.sessions.admission import Admission
from askd.sessions.hub import Delta, Published
from askd.sessions.live import LiveSession
from askd.sessions.needs import (
    InstructionSource,
    Means,
    NoInstructions,
    Prepare,
    TitleMode,
    prepare_nothing,
)
from askd.sessions.prompts import Accepted, Prompt
from askd.sessions.registry import Sessions
from askd.sessions.rules import ContextRules, ToolRules
from askd.sessions.targets import Target
from askd.store.memory import MemoryLog
from askd.tools.base import Tool
from askd.tools.registry import Registry
from askd.tools.snapshots.recorder import Recorder
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels

NUMBERS = itertools.count(1)
"""Of all rooms: one that comes after a kill must not give an id a second time."""


def make_id() -> str:
    """An id that looks like one, and can be told from the others."""
    return f"{next(NUMBERS):08x}-id"


def encode(value: Published) -> bytes:
    """An encoding that can be read back."""
    return pickle.dumps(value)


def decode(frame: bytes) -> Iterator[Published]:
    """What `encode` has encoded, one value or several in a row."""
    stream = io.BytesIO(frame)
    while stream.tell() < len(frame):
        yield pickle.load(stream)


@dataclass(eq=False)
class Watcher:
    """A subscriber that keeps all that it is offered."""

    values: list[Published] = field(default_factory=list)
    broken_off: bool = False

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        for value in decode(frame):
            assert droppable or not isinstance(value, Delta)
            self.values.append(value)

    def break_off(self) -> None:
        self.broken_off = True

    @property
    def events(self) -> list[Event]:
        return [value for value in self.values if isinstance(value, Event)]

    @property
    def deltas(self) -> list[Delta]:
        return [value for value in self.values if isinstance(value, Delta)]


@dataclass
class Room:
    """Sessions on a store, with what tests ask of them again and again."""

    store: FakeStore
    models: ScriptedModels
    sessions: Sessions
    admission: Admission
    nursery: trio.Nursery
    ids: Callable[[], str]

    async def ask(
        self,
        text: str = "hello",
        *,
        target: Target | None = None,
        key: str | None = None,
        parts: Iterable[Part] = (),
        options: TurnOptions | None = None,
        **more: object,
    ) -> Accepted:
        """Send a prompt to a new conversation, or to the target."""
        prompt = Prompt(
            target=target or Target("new"),
            key=key or self.ids(),
            digest=text,
            parts=tuple(parts) or (Text(text),),
            options=options or TurnOptions(),
            **more,  # type: ignore[arg-type]
        )
        return await self.admission.accept(prompt)

    async def finish(self, accepted: Accepted) -> TurnFinished:
        """Wait for the turn's end, and answer with its event."""
        await accepted.session.wait_finished(accepted.turn_id)
        return ends_of(accepted.session)[accepted.turn_id]


def to(session: LiveSession) -> Target:
    """This session's conversation as a target."""
    return Target("id", session.id)


def ends_of(session: LiveSession) -> dict[str, TurnFinished]:
    """Every turn's end, by turn."""
    return {
        turn_id: record.finished
        for turn_id, record in session.conversation.turns.items()
        if record.finished is not None
    }


@asynccontextmanager
async def open_room(
    *,
    store: FakeStore | None = None,
    models: ScriptedModels | None = None,
    tools: Iterable[Tool] = (),
    title: TitleMode = "first-words",
    turns: int = 64,
    ids: Callable[[], str] | None = None,
    context: ContextRules | None = None,
    overflow: Policy | None = None,
    approval: ApprovalRules | None = None,
    toolbox: ToolRules | None = None,
    recorder: Recorder | None = None,
    registry: Registry | None = None,
    prepare: Prepare = prepare_nothing,
    instructions: InstructionSource | None = None,
) -> AsyncIterator[Room]:
    """Run sessions until the block ends; then they are cancelled, as by a kill.

    `registry` in place of `tools`, where these come and go.
    """
    store = store or FakeStore()
    models = models or ScriptedModels()
    ids = ids or make_id
    means = Means(
        models=models,
        tools=registry or Registry(tools),
        now=store.now,
        new_id=ids,
        title_mode=lambda: title,
        turns=trio.CapacityLimiter(turns),
        context=lambda: context or ContextRules(),
        overflow=lambda: overflow,
        approval=lambda: approval or ApprovalRules(),
        toolbox=lambda: toolbox or ToolRules(),
        recorder=recorder,
        prepare=prepare,
        instructions=instructions or NoInstructions(),
    )
    memory = MemoryLog(observe=lambda events: sessions.observe(events), now=store.now)
    sessions = Sessions(log=store, memory=memory, reader=store, means=means, encode=encode)
    store.observe = sessions.observe
    # In it: the sessions. The end of the block kills them.
    async with trio.open_nursery() as nursery:
        await nursery.start(sessions.run)
        yield Room(store, models, sessions, Admission(sessions, new_id=ids), nursery, ids)
        nursery.cancel_scope.cancel()
