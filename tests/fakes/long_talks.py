"""Long conversations: models that answer and summarise by a script, and a worker beside them.

The summariser may only repeat what its own request held: it lists the facts (`FACT-1`)
that it was shown, so that a fact in a later request was carried there by summaries.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from askd.core.compaction import PROMPT
from askd.core.events import ViewChanged
from askd.core.items import Item, Summary, join_text
from askd.core.tokens import estimate_tokens
from askd.jobs.kinds import make_kinds
from askd.jobs.worker import Worker
from askd.providers.base import ModelRequest
from askd.sessions.hub import CompactionNews
from askd.sessions.live import LiveSession
from tests.fakes.models import ScriptedModels, Step, last_words
from tests.fakes.sessions import Room, Watcher, to

FACT = re.compile(r"FACT-\w+")
START_AT = 1_000_000.0
WORDS = "and so it goes "


def now() -> float:
    """A wall clock that goes with trio's."""
    return START_AT + trio.current_time()


def is_summary_request(request: ModelRequest) -> bool:
    """Whether a summary is asked for."""
    return last_words(request) == PROMPT


def text_of(items: Sequence[Item]) -> str:
    """Everything that a request says."""
    return "\n".join(
        item.text if isinstance(item, Summary) else join_text(getattr(item, "parts", ()))
        for item in items
    )


def find_facts(request: ModelRequest) -> list[str]:
    """The facts that a request holds, in order, each once."""
    return list(dict.fromkeys(FACT.findall(text_of(request.items))))


@dataclass
class Scribe:
    """A script: `ok` to prompts, the facts to whoever asks for a summary.

    Attributes:
        troubles: played in place of the next summaries, one each.
    """

    troubles: list[Iterable[Step]] = field(default_factory=list)
    asked: list[ModelRequest] = field(default_factory=list)

    def __call__(self, request: ModelRequest) -> Iterable[Step]:
        if not is_summary_request(request):
            return ["ok"]
        self.asked.append(request)
        if self.troubles:
            return self.troubles.pop(0)
        return ["They said: ", " ".join(find_facts(request)) or "nothing much"]


def make_models(scribe: Callable[[ModelRequest], Iterable[Step]], **more: object) -> ScriptedModels:
    """Models with a small window, of which 2,000 tokens are for requests."""
    settings: dict[str, object] = {"window": 2500, "reserved": 500, **more}
    return ScriptedModels(script=scribe, **settings)  # type: ignore[arg-type]


async def talk(room: Room, session: LiveSession | None, *lines: str) -> LiveSession:
    """Turn by turn; the conversation is begun by the first if there is none."""
    for line in lines:
        target = None if session is None else to(session)
        accepted = await room.ask(line, target=target)
        session = accepted.session
        end = await room.finish(accepted)
        assert (end.outcome, end.code) == ("completed", 0), end
    assert session is not None
    return session


def fill(name: str, tokens: int) -> str:
    """A line with a fact in it, of about so many tokens."""
    return f"FACT-{name} {WORDS * round(100 * tokens / estimate_tokens(WORDS * 100))}"


def changes_of(session: LiveSession) -> list[ViewChanged]:
    """Every change of the view in the log, in order."""
    snapshot = session.snapshot(0)
    assert snapshot is not None
    return [each.body for each in snapshot.events if isinstance(each.body, ViewChanged)]


def news_of(watcher: Watcher) -> list[tuple[str, str]]:
    """What was said of compactions."""
    return [(each.state, each.text) for each in watcher.values if isinstance(each, CompactionNews)]


@asynccontextmanager
async def at_work(room: Room) -> AsyncIterator[Worker]:
    """The worker beside a room, until the block ends."""
    worker = Worker(
        room.store,
        log=room.store,
        kinds=make_kinds(room.sessions),
        now=room.store.now,
        chance=lambda: 0.5,
    )
    observe = room.store.observe

    def both(events: Sequence[object]) -> None:
        observe(events)  # type: ignore[arg-type]  # a fake's observer, handed on as it is
        worker.bell.ring()

    room.store.observe = both
    # In it: the worker. The end of the block cancels it, as the daemon's end would.
    async with trio.open_nursery() as nursery:
        await nursery.start(worker.run)
        yield worker
        nursery.cancel_scope.cancel()


OPEN = ("available", "running", "retryable", "scheduled")


async def settle(room: Room, worker: Worker) -> None:
    """Wait until no job is open any more."""
    with trio.fail_after(3600):
        while True:
            heard = worker.bell.listen()
            if all(each.state not in OPEN for each in room.store.jobs.values()):
                return
            await heard.wait()


def jobs_of(room: Room) -> list[tuple[str, str]]:
    """Every job there ever was, and how it is."""
    return [(each.job.kind, each.state) for each in room.store.jobs.values()]
