"""Every kind of request, each in a state of its conversation in which it has something to do."""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import trio

from ask.protocol.messages import Map
from askd.server.peer import Peer
from tests.core.rollouts import assistant, pack, user
from tests.fakes.long_talks import fill
from tests.faults.cancel_house import Home

PATIENCE_S = 20.0
"""For what takes milliseconds, on a machine that others use too."""
LOOK_S = 0.001
NUMBERS = itertools.count(1)
CONTENT = b"a long text\n" * 8

LONG_TURNS = 6
LONG_TOKENS = 290
"""Of each prompt: together they fill the models' window, so that there is something to shrink."""

State = Literal[
    "nothing",
    "said",
    "working",
    "acting",
    "queued",
    "asking",
    "stored",
    "long",
    "shrunk",
    "job",
    "schedule",
]


@dataclass
class World:
    """What the request is about. `number`: makes keys and names that were never used."""

    home: Home
    peer: Peer = field(default_factory=Peer)
    number: int = field(default_factory=lambda: next(NUMBERS))
    id: str = ""
    turns: list[str] = field(default_factory=list)
    question: Map = field(default_factory=dict)
    schedule: str = ""

    async def call(self, method: str, params: Map) -> Any:
        """Ask, and insist on an answer that is no error."""
        with trio.fail_after(PATIENCE_S):
            outcome = await self.home.answer(self.peer, method, params)
        assert outcome.error is None, (method, outcome.error)
        return outcome.result

    def ref(self, **more: Any) -> Map:
        """The conversation."""
        return {"conversation_id": self.id, **more}

    def prompt(self, text: str, **more: Any) -> Map:
        """A `turn/start`, in the conversation if there is one, with a key of its own."""
        target = {"kind": "id", "value": self.id} if self.id else {"kind": "new"}
        parts = [{"type": "text", "text": text}]
        key = f"{self.number} {text} {len(self.turns)}"
        return {"target": target, "key": key, "parts": parts, **more}

    async def ask(self, text: str, **more: Any) -> None:
        """Accept a prompt."""
        said = await self.call("turn/start", self.prompt(text, **more))
        self.id = said["conversation_id"]
        self.turns.append(said["turn_id"])


async def make_world(home: Home, state: State) -> World:
    """A fresh conversation in that state."""
    home.script.released = trio.Event()
    world = World(home)
    match state:
        case "said":
            await world.ask("hello")
            await world.call("turn/wait", world.ref(turn_id=world.turns[0]))
        case "working" | "queued":
            await world.ask("wait")
            assert await wait_until(lambda: _find_session(world).running is not None)
            if state == "queued":
                await world.ask("and then?")
        case "acting":
            await world.ask("tools", options=AUTO)
        case "asking":
            await world.ask("tools", options={"approve": "ask", "detach": True})
            assert await wait_until(lambda: bool(_find_session(world).conversation.open_questions))
            (asked,) = _find_session(world).conversation.open_questions.values()
            world.question = {"question_id": asked.question_id, "digest": asked.digest}
        case "stored":
            await _store_blob(world)
        case "long" | "shrunk":
            said = [(user(fill(str(n), LONG_TOKENS)), assistant("ok")) for n in range(LONG_TURNS)]
            told = await world.call("conversation/import", _send(world, *itertools.chain(*said)))
            world.id = told["conversation_id"]
            if state == "shrunk":
                shrunk = await world.call("conversation/compact", world.ref())
                assert shrunk["state"] == "finished", shrunk
        case "job":
            await world.ask("wait", options={"detach": True})
        case "schedule":
            added = await world.call("schedule/add", want_schedule(world))
            world.schedule = added["id"]
        case "nothing":
            pass
    if state in ("said", "stored"):
        # A turn's end is known a moment before its session has nothing in hand.
        assert await wait_until(lambda: _find_session(world).state == "idle")
    return world


async def wait_until(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold within the time; it is looked at again and again."""
    give_up_at = trio.current_time() + PATIENCE_S
    while not (held := holds()) and trio.current_time() < give_up_at:  # noqa: ASYNC110
        await trio.sleep(LOOK_S)
    return held


def _find_session(world: World) -> Any:
    return world.home.sessions.find_live(world.id)


def put_blob(world: World, *, content: bytes = CONTENT) -> Map:
    """A `blob/put` of the whole of it."""
    digest = hashlib.sha256(content).hexdigest()
    return {"sha256": digest, "size": len(content), "offset": 0, "bytes": content}


async def _store_blob(world: World) -> None:
    """A finished turn whose prompt has it as an attachment."""
    put = await world.call("blob/put", put_blob(world))
    assert put["complete"]
    digest = hashlib.sha256(CONTENT).hexdigest()
    part = {"type": "blob", "sha256": digest, "bytes": len(CONTENT), "media_type": "text/plain"}
    await world.ask("look at it")
    more = world.prompt("again")
    said = await world.call("turn/start", {**more, "parts": [*more["parts"], part]})
    await world.call("turn/wait", world.ref(turn_id=said["turn_id"]))


def want_schedule(world: World) -> Map:
    """A `schedule/add`; nothing of it is due while this runs."""
    parts = [{"type": "text", "text": "hello"}]
    return {"cron": "0 0 1 1 *", "zone": "UTC", "parts": parts, "name": f"each-{world.number}"}


def _send(world: World, *lines: Map) -> Map:
    """A `conversation/import` of a file that nobody has sent before."""
    content = pack(*lines, user(f"hi {world.number}"), assistant("yo"))
    return {"size": len(content), "offset": 0, "bytes": content}


@dataclass(frozen=True, slots=True)
class Scene:
    """One request.

    Attributes:
        refusals: why the same request may be refused afterwards: the first has done its work.
    """

    method: str
    state: State
    params: Callable[[World], Map]
    refusals: Sequence[str] = ()
    name: str = ""

    def __str__(self) -> str:
        return f"{self.method} ({self.name or self.state})"


def _ref(world: World) -> Map:
    return world.ref()


def _last_turn(world: World) -> Map:
    return world.ref(turn_id=world.turns[-1])


def _schedule(world: World) -> Map:
    return {"schedule": world.schedule}


def _job(world: World) -> Map:
    return {"job_id": world.turns[-1]}


def _nothing(world: World) -> Map:
    return {}


AUTO = {"approve": "auto"}
NO_CONVERSATION = ("conversation_not_found",)

SCENES: tuple[Scene, ...] = (
    Scene("turn/start", "nothing", lambda w: w.prompt("hello"), name="new"),
    Scene("turn/start", "nothing", lambda w: w.prompt("hello", follow=True), name="followed"),
    Scene("turn/start", "nothing", lambda w: w.prompt("tools", options=AUTO), name="tools"),
    Scene("turn/start", "nothing", lambda w: w.prompt("hello", ephemeral=True), name="ephemeral"),
    Scene(
        "turn/start",
        "said",
        lambda w: w.prompt("tools", options={"detach": True, **AUTO}, follow=True),
        name="detached, with tools, followed",
    ),
    Scene("turn/start", "working", lambda w: w.prompt("join", busy="steer"), name="steers"),
    Scene("turn/start", "working", lambda w: w.prompt("later"), name="queued"),
    Scene("turn/interrupt", "working", _last_turn),
    Scene("turn/interrupt", "queued", _last_turn),
    Scene("turn/interrupt", "asking", _last_turn),
    Scene("turn/withdraw", "queued", _last_turn),
    Scene("turn/withdraw", "working", _last_turn),
    Scene("turn/wait", "acting", _last_turn),
    Scene("turn/interrupt", "acting", _last_turn),
    Scene("conversation/delete", "acting", lambda w: w.ref(interrupt=True), NO_CONVERSATION),
    Scene("turn/wait", "working", lambda w: {**_last_turn(w), "timeout_s": 0.01}),
    Scene(
        "question/answer",
        "asking",
        lambda w: w.ref(**w.question, decision="yes"),
        ("question_not_found",),
        name="yes",
    ),
    Scene(
        "question/answer",
        "asking",
        lambda w: w.ref(**w.question, decision="no", reason="not now"),
        ("question_not_found",),
        name="no",
    ),
    Scene("conversation/create", "nothing", lambda w: {"name": f"n{w.number}"}, ("name_taken",)),
    Scene("conversation/list", "said", _nothing),
    Scene("conversation/read", "said", _ref),
    Scene("conversation/subscribe", "working", _ref),
    Scene("conversation/unsubscribe", "said", _ref),
    Scene("conversation/resolve", "said", lambda w: {"target": {"kind": "id", "value": w.id}}),
    Scene("conversation/note", "said", lambda w: w.ref(text="a note")),
    Scene("conversation/rename", "said", lambda w: w.ref(name=f"r{w.number}")),
    Scene("conversation/clear", "said", _ref),
    Scene("conversation/compact", "said", _ref),
    Scene("conversation/compact", "long", _ref),
    Scene("conversation/prune", "long", _ref),
    Scene("conversation/undo", "said", _ref),
    Scene("conversation/undo", "shrunk", _ref),
    Scene("conversation/fork", "said", _ref),
    Scene("conversation/pin", "said", _ref),
    Scene("conversation/unpin", "said", _ref),
    Scene("conversation/search", "said", lambda w: {"text": "hello"}),
    Scene("conversation/context", "said", _ref),
    Scene("conversation/delete", "said", _ref, NO_CONVERSATION),
    Scene("conversation/delete", "queued", lambda w: w.ref(interrupt=True), NO_CONVERSATION),
    Scene("conversation/export", "said", lambda w: w.ref(format="json")),
    Scene("conversation/export", "stored", lambda w: w.ref(format="codex")),
    Scene("conversation/import", "nothing", _send),
    Scene("blob/put", "nothing", put_blob),
    Scene("blob/read", "stored", lambda w: {"sha256": put_blob(w)["sha256"]}),
    Scene("job/list", "job", _nothing),
    Scene("job/read", "job", _job),
    Scene("job/wait", "job", lambda w: {"job_ids": w.turns, "timeout_s": 0.01}),
    Scene("job/cancel", "job", _job, ("job_over",)),
    Scene("job/stats", "job", _nothing),
    Scene("schedule/add", "nothing", want_schedule, ("name_taken",)),
    Scene("schedule/list", "schedule", _nothing),
    Scene("schedule/read", "schedule", _schedule),
    Scene("schedule/run", "schedule", lambda w: {**_schedule(w), "key": f"run {w.number}"}),
    Scene("schedule/pause", "schedule", _schedule),
    Scene("schedule/resume", "schedule", _schedule),
    Scene("schedule/remove", "schedule", _schedule, ("schedule_not_found",)),
    Scene("model/list", "nothing", _nothing),
    Scene("tool/list", "nothing", _nothing),
    Scene("usage/read", "said", _nothing),
    Scene("config/read", "nothing", _nothing),
    Scene("config/write", "nothing", lambda w: {"key": "title", "value": "off"}),
    Scene("daemon/status", "nothing", _nothing),
    Scene("snapshot/list", "said", _ref),
    Scene("backup/list", "nothing", _nothing),
    Scene("auth/status", "nothing", _nothing),
    Scene("mcp/list", "nothing", _nothing),
    Scene(
        "conversation/resolve",
        "said",
        lambda w: {"target": {"kind": "id", "value": w.id}, "bind": f"tty:{w.number}"},
        name="binds a terminal",
    ),
)
