"""Long conversations as they are in a daemon: the real log, sessions, driver, worker and models.

`open_talk` opens those rooms on a database; requests go to the six servers of `wires`.
`Teller` is who answers there: words, calls of tools, and summaries that hold nothing
but what their own request held.
"""

import itertools
import pickle
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import trio

from askd.core.compaction import PROMPT
from askd.core.events import Event, TurnFinished, TurnOptions
from askd.core.items import Text
from askd.jobs.kinds import make_kinds
from askd.jobs.worker import Worker
from askd.sessions.admission import Admission
from askd.sessions.hub import Published
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.prompts import Prompt
from askd.sessions.registry import Sessions
from askd.sessions.rules import ContextRules
from askd.sessions.targets import Target
from askd.store.jobs.table import JobTable
from askd.store.memory import MemoryLog
from askd.store.queries import Reader
from askd.store.writer import Writer
from askd.tools.base import Result, Site, Tool
from askd.tools.registry import Registry
from tests.fakes.sessions import make_id
from tests.fakes.tools import Plain
from tests.integrity.reading import Seen, read_request
from tests.integrity.wires import Line, Wires

BOOTS = itertools.count(1)
BYTES_PER_TOKEN = 4
FACT = re.compile(r"^(?:- )?(FACT: .*)$", re.MULTILINE)
"""What a summary repeats; pruning tells it as an entry of its list."""
TURN = re.compile(r"^turn (\d+):", re.MULTILINE)


class Clock:
    """The wall clock, which goes on only when a test says so."""

    def __init__(self) -> None:
        self.at = 1_000_000.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Teller:
    """Answers every request of one conversation.

    Attributes:
        calls: sizes of the outputs that the model asks for in a turn, by its number.
        answers: what it says in the end, by turn.
        usage_share: of the window, what every prompt is said to have taken; None: the truth.
        forgetful: summaries hold nothing.
        bodies: of prompts' requests, by the turn that they belong to.
        summaries: the bodies of requests for a summary.
        sizes: tokens of every request, as the servers count them.
    """

    window: int
    calls: Mapping[int, Sequence[int]] = field(default_factory=dict)
    answers: Mapping[int, str] = field(default_factory=dict)
    usage_share: float | None = None
    forgetful: bool = False
    bodies: dict[int, list[bytes]] = field(default_factory=dict)
    summaries: list[tuple[int, bytes]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    called: Counter[int] = field(default_factory=Counter)

    def __call__(self, line: Line, body: bytes) -> None:
        seen = read_request(line.dialect, body)
        tokens = len(body) // BYTES_PER_TOKEN
        self.sizes.append(tokens)
        if self.usage_share is not None:
            tokens = int(self.window * self.usage_share)
        last = next(each.text for each in reversed(seen) if each.role == "user")
        if last.rstrip().endswith(PROMPT):
            self.summaries.append((max(self.bodies, default=0), body))
            line.say(self._summarize(seen), tokens=tokens)
            return
        number = int(TURN.findall("\n".join(each.text for each in seen))[-1])
        self.bodies.setdefault(number, []).append(body)
        wanted = self.calls.get(number, ())
        place = self.called[number]
        if place < len(wanted):
            self.called[number] += 1
            arguments = f'{{"size": {wanted[place]}}}'
            line.say(call=(f"call_{place}", "look", arguments), tokens=tokens)
        else:
            line.say(self.answers.get(number, "So it is."), tokens=tokens)

    def _summarize(self, seen: Sequence[Seen]) -> str:
        facts = dict.fromkeys(found for each in seen for found in FACT.findall(each.text))
        if self.forgetful or not facts:
            return "They talked."
        return "\n".join(["They talked.", *facts])


@dataclass
class Look(Plain):
    """A tool whose output is as long as it is asked to be."""

    name: str = "look"
    description: str = "Looks."
    effects: bool = False
    schema: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"size": {"type": "integer"}},
            "required": ["size"],
        }
    )

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        await trio.lowlevel.checkpoint()
        return Result((Text("seen " * int(arguments["size"])),))


@dataclass
class Talk:
    """One conversation, and the rooms that it is in."""

    sessions: Sessions
    admission: Admission
    reader: Reader
    clock: Clock
    conversation_id: str | None = None

    async def say(self, number: int, text: str, model: str, **options: Any) -> TurnFinished:
        """One turn, to its end; its words begin with its number."""
        target = self.conversation_id
        prompt = Prompt(
            target=Target("new") if target is None else Target("id", target),
            key=make_id(),
            digest=text,
            parts=(Text(f"turn {number}:\n{text}"),),
            options=TurnOptions(model=model, **options),
        )
        accepted = await self.admission.accept(prompt)
        self.conversation_id = accepted.session.id
        with trio.fail_after(60):
            await accepted.session.wait_finished(accepted.turn_id)
        end = accepted.session.conversation.finished(accepted.turn_id)
        assert end is not None
        return end

    async def session(self) -> LiveSession:
        """The session of the conversation."""
        assert self.conversation_id is not None
        return await self.sessions.get(self.conversation_id)

    async def events(self) -> list[Event]:
        """The log."""
        assert self.conversation_id is not None
        return await self.reader.load(self.conversation_id)


@asynccontextmanager
async def open_talk(
    path: Path,
    wires: Wires,
    *,
    tools: Iterable[Tool] = (),
    rules: ContextRules | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Talk]:
    """A daemon's rooms on the database at `path`; they are killed when the block ends."""
    clock = clock or Clock()
    rules = rules or ContextRules()

    def observe(events: Sequence[Event]) -> None:
        sessions.observe(events)
        worker.observe(events)

    def encode(value: Published) -> bytes:
        return pickle.dumps(value)

    writer = Writer(
        path,
        observe=observe,
        now=clock,
        boot_id=f"boot-{next(BOOTS)}",
        jobs_changed=lambda: worker.bell.ring(),
    )
    with closing(Reader(path)) as reader:
        # In it: the writer alone, which must outlive everybody who writes.
        async with trio.open_nursery() as storage:
            await storage.start(writer.run)
            means = Means(
                models=cast("Any", wires.models),
                tools=Registry(tools),
                now=clock,
                new_id=make_id,
                title_mode=lambda: "off",
                turns=trio.CapacityLimiter(64),
                context=lambda: rules,
            )
            memory = MemoryLog(observe=lambda events: sessions.observe(events), now=clock)
            sessions = Sessions(
                log=writer, memory=memory, reader=reader, means=means, encode=encode
            )
            worker = Worker(
                JobTable(writer, find_hide=lambda: None),
                log=writer,
                kinds=make_kinds(sessions),
                now=clock,
                chance=lambda: 0.5,
            )
            # In it: all but the writer; the end of the block kills them.
            async with trio.open_nursery() as rooms:
                await rooms.start(sessions.run)
                await rooms.start(worker.run)
                yield Talk(sessions, Admission(sessions, new_id=make_id), reader, clock)
                rooms.cancel_scope.cancel()
            storage.cancel_scope.cancel()
