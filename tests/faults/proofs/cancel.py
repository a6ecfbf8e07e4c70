"""Clients that leave: every request is cancelled at each checkpoint while it is in flight.

Not only at its own: it may wait for the disk, for a turn or for another request, and those who
work for it come to checkpoints of theirs. It is cancelled at each, whoever's it is.
"""

import random
import sqlite3
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from ask.protocol.messages import Map
from askd.core.events import Body
from askd.errors import NotFound
from askd.server.dispatch import Outcome as Answered
from askd.server.peer import Peer
from askd.sessions.hub import Hub
from askd.sessions.live import LiveSession
from askd.sessions.offload import offload_bodies
from askd.sessions.registry import Sessions
from askd.store.log import Write
from askd.store.queries import THREADS
from tests.faults.cancel_house import Home, open_home
from tests.faults.cancel_judge import Watcher, count_tasks, find_descriptors, judge_log
from tests.faults.cancel_scenes import PATIENCE_S, SCENES, Scene, World, make_world, wait_until
from tests.faults.programmes import Outcome

CLAIM = (
    "A request may be cancelled at any checkpoint, its own or of whoever works for it: the log "
    "stays whole, what is published is what is stored, no task and no descriptor is left, and the "
    "same request works again."
)
CONTROL = (
    "Sessions that stop waiting for a commit when whoever asked for it leaves, so that the next "
    "one decides by what was before it."
)
UNIT = "cancelled requests"
CI = 120
FULL = 700
"""About all there are; whoever asks for so many gets all."""

LATEST_START = 8
"""A sweep begins at one of so many points, so that a few points are not always the same."""
ENOUGH_HARMS = 3
"""A control need not find them all."""


class Stroke(trio.abc.Instrument):
    """Cancels a scope when the house's tasks have come to that many checkpoints."""

    def __init__(self, at: int, scope: trio.CancelScope) -> None:
        self.steps = 0
        self._at, self._scope = at, scope

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.steps == self._at:
            self._scope.cancel()


class Careless(LiveSession):
    """Lets go of a commit that is under way."""

    async def append(self, bodies: Sequence[Body]) -> None:
        lean, blobs = offload_bodies(bodies)
        write = Write(conversation_id=self.id, bodies=lean, blobs=list(blobs.items()))
        await self.log.append(write)


class CarelessSessions(Sessions):
    """Sessions of that kind."""

    def _make(self, conversation_id: str, *, ephemeral: bool) -> LiveSession:
        return Careless(
            conversation_id,
            log=self.memory if ephemeral else self.log,
            hub=Hub(self._encode),
            ephemeral=ephemeral,
        )


@dataclass
class Struck:
    """A request that was cancelled, or came to its end before. `steps`: those that it took."""

    steps: int
    was_cancelled: bool


@dataclass
class Sweep:
    """One request, at all its points: up from some point to the last, then those before it.

    Attributes:
        at: the next point; 0: there is none any more.
        start: where it began.
    """

    scene: Scene
    at: int
    start: int
    rises: bool = True

    def go_on(self, struck: Struck) -> None:
        """Find the next point, after a run that was struck or came to its end before."""
        if self.rises and struck.was_cancelled:
            self.at += 1
        elif self.rises:
            self.rises = False
            self.at = min(self.start - 1, struck.steps)
        else:
            self.at -= 1


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """The house as it is."""
    return trio.run(_run, size, seed, directory, Sessions, None)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The careless one, until it has done harm enough."""
    return trio.run(_run, size, seed, directory, CarelessSessions, ENOUGH_HARMS)


async def _run(
    size: int, seed: int, directory: Path, kind: type[Sessions], enough: int | None
) -> Outcome:
    harms: list[str] = []
    limit = size if size < FULL else sys.maxsize
    cases = 0
    chance = random.Random(seed)
    starts = ((scene, chance.randint(1, LATEST_START)) for scene in SCENES)
    sweeps = [Sweep(scene, start, start) for scene, start in starts]
    chance.shuffle(sweeps)
    async with open_home(directory, kind) as home:
        await _warm_up(home)
        while sweeps and cases < limit:
            for sweep in sweeps:
                struck = await _play(home, sweep.scene, sweep.at, harms)
                sweep.go_on(struck)
                cases += struck.was_cancelled
                if cases >= limit:
                    break
                if enough is not None and len(harms) >= enough:
                    limit = cases
                    break
            sweeps = [each for each in sweeps if each.at]
    return Outcome(cases, tuple(harms), {"kinds of requests": str(len(SCENES))})


async def _warm_up(home: Home) -> None:
    """Have the reader open every connection that it will ever keep: all are in use at once."""
    meeting = threading.Barrier(THREADS)

    def meet(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM conversations").fetchone()  # opens the log, too
        meeting.wait()

    async with trio.open_nursery() as nursery:
        for _ in range(THREADS):
            nursery.start_soon(home.reader.query, meet)


async def _play(home: Home, scene: Scene, at: int, harms: list[str]) -> Struck:
    """One request, cancelled at one checkpoint, and asked again; what was wrong goes to `harms`."""
    tasks, descriptors = count_tasks(), find_descriptors()
    world = await make_world(home, scene.state)
    params = scene.params(world)
    session = home.sessions.find_live(world.id)
    watcher = None if session is None else Watcher(session)
    peers = [Peer(), Peer()]
    struck = await _strike(home, peers[0], scene, params, at)
    found = [*await _ask_again(home, peers[1], scene, params)]
    home.script.released.set()
    found += await _settle(home, watcher)
    for peer in (*peers, world.peer):
        peer.leave()
    if watcher is not None:
        watcher.leave()
    await _clean_up(world)
    if not await wait_until(lambda: count_tasks() <= tasks):
        found.append(f"{count_tasks() - tasks} tasks are left")
    if not await wait_until(lambda: len(find_descriptors()) <= len(descriptors)):
        left = find_descriptors().items() - descriptors.items()
        found.append(f"descriptors are left: {sorted(left)}")
    harms += [f"{scene} at {at}: {each}" for each in found]
    return struck


async def _strike(home: Home, peer: Peer, scene: Scene, params: Map, at: int) -> Struck:
    outcome: Answered | None = None
    with trio.CancelScope() as scope:
        stroke = Stroke(at, scope)
        trio.lowlevel.add_instrument(stroke)
        try:
            outcome = await home.answer(peer, scene.method, params)
        finally:
            trio.lowlevel.remove_instrument(stroke)
    if outcome is not None and outcome.then is not None:
        outcome.then()
    return Struck(stroke.steps, was_cancelled=stroke.steps >= at)


async def _ask_again(home: Home, peer: Peer, scene: Scene, params: Map) -> list[str]:
    with trio.move_on_after(PATIENCE_S):
        outcome = await home.answer(peer, scene.method, params)
        if outcome.error is not None and outcome.error["data"]["reason"] not in scene.refusals:
            return [f"asked again: {outcome.error}"]
        if outcome.then is not None:
            outcome.then()
        return []
    return ["asked again: no answer"]


async def _settle(home: Home, watcher: Watcher | None) -> list[str]:
    """Let all turns end, and judge every conversation there is."""
    found: list[str] = []
    for session in home.sessions.live():
        for turn_id in list(session.conversation.turns):
            with trio.move_on_after(PATIENCE_S) as limit:
                await _end(session, turn_id)
            if limit.cancelled_caught:
                found.append(f"the turn {turn_id} hangs")
    rows = (await home.reader.list_conversations(cursor=None, limit=100)).rows
    for id in {row.id for row in rows} | {each.id for each in home.sessions.live()}:
        session_now = home.sessions.find_live(id)
        store = home.reader
        if session_now is not None and session_now.ephemeral:
            stored = await home.sessions.memory.load(id)
        else:
            stored = await store.load(id)
        if not stored:
            found.append("a session has no conversation")
        found += judge_log(stored, session_now)
        if watcher is not None and watcher.session.id == id:
            found += watcher.judge(stored)
    return found


async def _end(session: LiveSession, turn_id: str) -> None:
    """Wait for a turn's end; nobody answers what it asks."""
    while session.status(turn_id).state != "finished":
        if session.conversation.open_questions and session.running is None:
            await session.interrupt(turn_id, "the judge")
        with trio.move_on_after(0.005):
            await session.wait_finished(turn_id)


async def _clean_up(world: World) -> None:
    sessions = world.home.sessions
    rows = (await world.home.reader.list_conversations(cursor=None, limit=100)).rows
    for id in {row.id for row in rows} | {each.id for each in sessions.live()}:
        try:
            await sessions.delete(id)
        except NotFound:
            await sessions.forget(id)  # it is a harm, and counted: the next case is another one
    page = await world.call("schedule/list", {})
    for each in page["data"]:
        await world.call("schedule/remove", {"schedule": each["id"]})
