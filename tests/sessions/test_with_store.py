"""Sessions and jobs on the real log: what the fakes promise, the disk keeps."""

import itertools
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from askd.core.conversation import fold
from askd.core.events import Event, PromptAccepted, Titled, TurnFinished, TurnOptions
from askd.core.items import AssistantMessage, Text, join_text
from askd.core.outcome import DONE
from askd.errors import NotFound
from askd.jobs.kinds import make_kinds
from askd.jobs.worker import Worker
from askd.providers.base import ModelRequest
from askd.sessions.admission import Admission
from askd.sessions.needs import Means, TitleMode
from askd.sessions.prompts import Accepted, Prompt
from askd.sessions.registry import Sessions
from askd.sessions.targets import Target
from askd.store.jobs.table import JobTable
from askd.store.memory import MemoryLog
from askd.store.queries import Reader
from askd.store.writer import Writer
from askd.tools.registry import Registry
from tests.fakes.models import ScriptedModels, Step, last_words, texts_of
from tests.fakes.sessions import decode, encode, make_id, to

BOOTS = itertools.count(1)


@dataclass
class Daemon:
    """The rooms up to jobs, on a database."""

    writer: Writer
    reader: Reader
    sessions: Sessions
    admission: Admission
    worker: Worker
    models: ScriptedModels
    nursery: trio.Nursery

    async def ask(self, text: str, *, target: Target | None = None, **more: object) -> Accepted:
        prompt = Prompt(
            target=target or Target("new"),
            key=str(more.pop("key", None) or make_id()),
            digest=text,
            parts=(Text(text),),
            **more,  # type: ignore[arg-type]
        )
        return await self.admission.accept(prompt)

    async def finish(self, accepted: Accepted) -> TurnFinished:
        await accepted.session.wait_finished(accepted.turn_id)
        end = accepted.session.conversation.finished(accepted.turn_id)
        assert end is not None
        return end


@asynccontextmanager
async def boot(
    path: Path, models: ScriptedModels | None = None, title: TitleMode = "first-words"
) -> AsyncIterator[Daemon]:
    """A daemon's rooms on the database at `path`; they are killed when the block ends."""
    models = models or ScriptedModels()
    now = itertools.count(1_000_000).__next__

    def observe(events: Sequence[Event]) -> None:
        sessions.observe(events)
        worker.observe(events)

    writer = Writer(
        path,
        observe=observe,
        jobs_changed=lambda: worker.bell.ring(),
        now=lambda: float(now()),
        boot_id=f"boot-{next(BOOTS)}",
    )
    with closing(Reader(path)) as reader:
        async with trio.open_nursery() as storage:
            await storage.start(writer.run)
            means = Means(
                models=models,
                tools=Registry(),
                now=lambda: 1.0,
                new_id=make_id,
                title_mode=lambda: title,
                turns=trio.CapacityLimiter(64),
            )
            memory = MemoryLog(observe=lambda events: sessions.observe(events), now=lambda: 1.0)
            sessions = Sessions(
                log=writer, memory=memory, reader=reader, means=means, encode=encode
            )
            worker = Worker(
                JobTable(writer, find_hide=lambda: None),
                log=writer,
                kinds=make_kinds(sessions),
                now=lambda: 1.0,
                chance=lambda: 0.5,
            )
            # In it: all but the writer; the end of the block kills them, then the writer.
            async with trio.open_nursery() as nursery:
                await nursery.start(sessions.run)
                yield Daemon(
                    writer=writer,
                    reader=reader,
                    sessions=sessions,
                    admission=Admission(sessions, new_id=make_id),
                    worker=worker,
                    models=models,
                    nursery=nursery,
                )
                nursery.cancel_scope.cancel()
            storage.cancel_scope.cancel()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ask.db"


class TitleListener:
    """Watches for a title."""

    def __init__(self) -> None:
        self.heard = trio.Event()

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        for value in decode(frame):
            if isinstance(value, Event) and isinstance(value.body, Titled):
                self.heard.set()

    def break_off(self) -> None:
        raise AssertionError("nothing is deleted here")


async def check_log(reader: Reader, conversation_id: str) -> None:
    """Every accepted turn has one end, and no seq is missing."""
    events = await reader.load(conversation_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    ends = [event.body.turn_id for event in events if isinstance(event.body, TurnFinished)]
    accepted = [event.body.turn_id for event in events if isinstance(event.body, PromptAccepted)]
    assert sorted(ends) == sorted(accepted)


async def test_what_a_session_says_is_what_the_disk_holds(path: Path) -> None:
    async with boot(path) as daemon:
        first = await daemon.ask("one two", target=Target("session", "work", create=True))
        await daemon.finish(first)
        await daemon.finish(await daemon.ask("three", target=Target("session", "work")))
        session = first.session
        events = await daemon.reader.load(session.id)
        stored = fold(session.id, events)
        assert stored.turns == session.conversation.turns
        assert await daemon.reader.get(session.id) == session.row()
        await check_log(daemon.reader, session.id)
    async with boot(path) as daemon:
        accepted = await daemon.ask("four", target=Target("session", session.id[:8]))
        await daemon.finish(accepted)
        assert texts_of(daemon.models.requests[0].items) == [
            "one two",
            "echo: one two",
            "three",
            "echo: three",
            "four",
        ]


async def test_twenty_prompts_at_once(path: Path) -> None:
    async with boot(path) as daemon:
        first = await daemon.ask("0")
        accepted: list[Accepted] = []

        async def ask(number: int) -> None:
            accepted.append(await daemon.ask(str(number), target=to(first.session)))

        async with trio.open_nursery() as nursery:
            for number in range(1, 21):
                nursery.start_soon(ask, number)
        for each in accepted:
            assert (await daemon.finish(each)).code == DONE
        record = first.session.conversation
        assert record.started == list(record.turns)
        for turn in record.turns.values():
            (added,) = turn.items
            assert isinstance(added.item, AssistantMessage)
            assert join_text(added.item.parts) == f"echo: {join_text(turn.prompt.items[0].parts)}"
        await check_log(daemon.reader, first.session.id)


@pytest.mark.parametrize(
    ("mode", "title"), [("first-words", "hello there"), ("model", "Greetings")]
)
async def test_a_conversation_gets_its_title(path: Path, mode: TitleMode, title: str) -> None:
    models = ScriptedModels(lambda request: ["Greetings"])
    async with boot(path, models, mode) as daemon:
        await daemon.nursery.start(daemon.worker.run)
        accepted = await daemon.ask("hello there")
        listener = TitleListener()
        accepted.session.subscribe(listener)
        await daemon.finish(accepted)
        with trio.fail_after(10):
            await listener.heard.wait()
        assert accepted.session.conversation.title == title
        row = await daemon.reader.get(accepted.session.id)
        assert row is not None
        assert row.title == title
        assert await daemon.reader.count_open_jobs() == 0


async def test_keys_names_and_terminals_outlive_the_daemon(path: Path) -> None:
    async with boot(path) as daemon:
        first = await daemon.ask("hi", key="k", target=Target("new", "work"), terminal="tty")
        await daemon.finish(first)
    async with boot(path) as daemon:
        again = await daemon.ask("hi", key="k", target=Target("new", "work"), terminal="tty")
        assert (again.turn_id, again.seq, again.created) == (first.turn_id, first.seq, False)
        for target in (Target("session", "work"), Target("terminal", "tty")):
            assert await daemon.sessions.resolve(target) == first.session.id


async def test_deleted_is_deleted(path: Path) -> None:
    async with boot(path) as daemon:
        accepted = await daemon.ask("hi")
        await daemon.finish(accepted)
        await daemon.sessions.delete(accepted.session.id)
        with pytest.raises(NotFound):
            await daemon.sessions.get(accepted.session.id)


async def test_nothing_ephemeral_reaches_the_disk(path: Path) -> None:
    async with boot(path) as daemon:
        accepted = await daemon.ask("a very secret word", ephemeral=True)
        await daemon.finish(accepted)
        await daemon.writer.flush()
        assert daemon.models.requests != []
    for file in path.parent.iterdir():
        assert b"secret word" not in file.read_bytes()


async def test_large_texts_go_and_come_back(path: Path) -> None:
    models = ScriptedModels(lambda request: ["x" * 300_000], window=10_000_000)
    async with boot(path, models) as daemon:
        accepted = await daemon.ask("y" * 400_000)
        await daemon.finish(accepted)
        await daemon.finish(await daemon.ask("and?", target=to(accepted.session)))
        assert [len(text) for text in texts_of(models.requests[1].items)] == [400_000, 300_000, 4]
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        (longest,) = connection.execute("SELECT max(length(body)) FROM events").fetchone()
    connection.close()
    assert longest < 2000


@pytest.mark.parametrize("detach", [False, True])
async def test_killed_after_any_event_nothing_accepted_is_lost(path: Path, detach: bool) -> None:
    """Kill as soon as n events are committed, for each n; then boot again and look."""

    def script(request: ModelRequest) -> Iterable[Step]:
        return ["half ", 0.001, last_words(request)]

    for count in range(1, 13):  # the whole talk has twelve
        database = path.with_name(f"{count}.db")
        models = ScriptedModels(script)
        async with boot(database, models) as daemon:
            enough = trio.Event()
            seen = 0
            observe = daemon.sessions.observe

            def watch(
                events: Sequence[Event],
                enough: trio.Event = enough,
                observe: object = observe,
                count: int = count,
            ) -> None:
                nonlocal seen
                seen += len(events)
                if seen >= count:
                    enough.set()
                observe(events)  # type: ignore[operator]

            daemon.sessions.observe = watch  # type: ignore[method-assign]

            async def talk(daemon: Daemon = daemon) -> None:
                options = TurnOptions(detach=detach)
                one = await daemon.ask("one", key="k1", options=options)
                await daemon.ask("two", key="k2", target=to(one.session), options=options)

            daemon.nursery.start_soon(talk)
            with trio.fail_after(10):
                await enough.wait()
        async with boot(database, models) as daemon:
            await daemon.sessions.recover()
            one = await daemon.ask("one", key="k1")
            two = await daemon.ask("two", key="k2", target=to(one.session))
            for accepted in (one, two):
                end = await daemon.finish(accepted)
                assert end.outcome == "completed" or not detach
            assert len(one.session.conversation.turns) == 2
            await check_log(daemon.reader, one.session.id)
            assert models.rejected == []
