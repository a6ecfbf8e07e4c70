"""Kills the daemon, again and again, under four writers; nothing that was said may be untrue.

The page says of `ready` what was measured: from the fork of a process that has its modules
already. Python's own start and the imports come on top, and are in the figure beside it. What
other work the machine has is measured too, by the starts of an empty daemon that nobody disturbs.
"""

import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ask.connection import Client
from ask.exits import Failed
from tests.faults.kill_after import Next, go_on, list_hurt
from tests.faults.kill_daemon import POINTS, STEP, Order
from tests.faults.kill_house import House, Life, open_house
from tests.faults.kill_judge import find_lost, is_at_rest, is_mirrored, judge_end, open_database
from tests.faults.kill_writers import wait
from tests.faults.programmes import Outcome
from tests.system.servers import DAEMON
from tests.system.world import LIMIT_S

CLAIM = (
    "A daemon that is killed with -9 at any moment - at random times, at any step of its loop, "
    "around commits, acknowledgements, rollout lines, requests to the model and tools - under four "
    "writers (talks, tools, detached turns, compactions and titles) loses and doubles no "
    "acknowledged prompt, no number, no effect of a tool or a job; every turn has one end, what "
    "was met goes on with every dialect without an orphan, rollouts tell the log, and with 10,000 "
    "conversations it is ready again within a second."
)
CONTROL = "Prompts are acknowledged before their commit; it is killed right after it has done so."
UNIT = "kills"
CI = 200
FULL = 1000

LIFE_S = 0.7
"""A random time is below it: a start, its recovery, and a few turns of each writer."""
LIFE_STEPS = 1200
"""About as many steps does trio's loop take in that time."""
PASSES = {
    "before commit": 60,
    "after commit": 60,
    "before acknowledgement": 12,
    "after acknowledgement": 12,
    "before rollout": 15,
    "within rollout": 15,
    "after rollout": 15,
    "before send": 15,
    "after send": 15,
    "before tool": 3,
    "after tool": 3,
}
"""About as often is each place passed in that time."""
SAID = "after acknowledgement"
PATIENCE_S = 4.0
"""A place that has not been passed so often by then is not waited for: it is killed anyway."""
LEAST = 0.1
"""So many prompts of each writer were acknowledged for each kill, or the kills met nothing."""
POLL_S = 0.05
REST_S = 120.0
"""What was left unfinished has ended by then, on a machine that does other things too."""
SHELVED, SHELVED_CI = 10_000, 1000
"""So many conversations are there before, in full and in the suite."""
READY_S = 1.0
"""It is ready again in less, 99 times of 100."""
READY_FACTOR = 4
"""On a machine that is slower, or has much else to do: so many times what an empty daemon takes."""
BESIDE_EVERY = 10
"""So many kills are between two starts of that one."""
CONTROL_HARMS = 3
"""So many are enough to show."""


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """Kill so many daemons of one home, then have the last one bring everything to rest."""
    chances = random.Random(seed)
    harms: list[str] = []
    ready: list[float] = []
    beside: list[float] = []
    places: Counter[str] = Counter()
    shelved = SHELVED if size > CI else SHELVED_CI
    with open_house(directory, shelved) as house:
        for number in range(size):
            if number % BESIDE_EVERY == 0:
                beside.append(house.start_beside())
            kill = choose_kill(number, chances)
            life, lost = kill_once(house, kill)
            harms += lost
            ready += [] if life.ready_s is None else [life.ready_s]
            is_late = bool(kill.order.place) and not life.is_own_end
            places["place not reached" if is_late else kill.order.place or "random time"] += 1
        rest = bring_to_rest(house)
        harms += judge_end(house, rest.nexts)
        acknowledged = {each.name: len(each.acknowledged) for each in house.writers}
        requests = {model.dialect: model.count for model in house.models}
    if min(acknowledged.values()) < size * LEAST:
        harms.append("the writers hardly wrote: nothing is known")
    limit_s = max(READY_S, statistics.median(beside) * READY_FACTOR)
    if find_p99(ready) >= limit_s:
        harms.append(f"ready after a kill: p99 is {find_p99(ready):.3f} s of {limit_s:.3f}")
    figures = {
        "conversations there before": f"{shelved:,}",
        "prompts acknowledged": ", ".join(f"{n:,} {name}" for name, n in acknowledged.items()),
        "requests to the model": ", ".join(f"{n:,} {name}" for name, n in requests.items()),
        "kills by place": ", ".join(f"{n} {place}" for place, n in sorted(places.items())),
        "gone on with in every dialect": f"{rest.hurt:,} conversations that a kill had met, "
        f"{rest.called:,} others with calls of tools",
        "ready again after a kill": f"{describe(ready)} (limit {limit_s:.3f} s)",
        "ready undisturbed, with nothing stored, between the kills": describe(beside),
        "ready again, with Python's start and all imports": f"{rest.cold_s:.2f} s",
    }
    return Outcome(size, tuple(harms), figures)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """Kill daemons that acknowledge too early, until a few prompts are lost."""
    chances = random.Random(seed)
    harms: list[str] = []
    killed = 0
    with open_house(directory, 0) as house:
        while killed < size and len(harms) < CONTROL_HARMS:
            count = chances.randint(1, PASSES[SAID])
            _, lost = kill_once(house, Kill(Order(SAID, count, early=True)))
            harms += lost
            killed += 1
    return Outcome(killed, tuple(harms))


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: by the order, at the latest after so long from the fork, or from the first answer.

    Attributes:
        order: where the daemon ends itself, if it does.
    """

    order: Order
    limit_s: float = PATIENCE_S
    from_ready: bool = False


def choose_kill(number: int, chances: random.Random) -> Kill:
    """How the kill of this number is done.

    Half of them at random times, starts among them or not; a quarter at a step, a quarter at the
    places in turn.
    """
    match number % 4:
        case 0:
            return Kill(Order(), chances.uniform(0.0, LIFE_S))
        case 2:
            return Kill(Order(), chances.uniform(0.0, LIFE_S), from_ready=True)
        case 1:
            return Kill(Order(STEP, chances.randint(1, LIFE_STEPS)))
        case _:
            place = POINTS[number // 4 % len(POINTS)]
            return Kill(Order(place, chances.randint(1, PASSES[place])))


def kill_once(house: House, kill: Kill) -> tuple[Life, list[str]]:
    """One life and its end; what was acknowledged in it and is lost."""
    before = [len(each.acknowledged) for each in house.writers]
    life = house.live_once(kill.order, kill.limit_s, from_ready=kill.from_ready)
    fresh = [
        prompt
        for writer, count in zip(house.writers, before, strict=True)
        for prompt in writer.acknowledged[count:]
    ]
    if not fresh:
        return life, []
    with open_database(house) as connection:
        return life, list(find_lost(connection, fresh))


@dataclass(frozen=True, slots=True)
class Rest:
    """What the last daemon did.

    Attributes:
        cold_s: how long its start took, as people have it.
        hurt, called: so many conversations were gone on with: those that a kill had met, and
            others with calls of tools.
        nexts: what they were sent.
    """

    cold_s: float
    hurt: int
    called: int
    nexts: Sequence[Next]


def bring_to_rest(house: House) -> Rest:
    """A daemon as people have it ends what is unfinished, goes on with all of it, and stops.

    Every writer sends one more prompt into the conversation that was killed last.
    """
    world = house.world
    began = time.monotonic()
    running = world.start("run", command=DAEMON[:-1])
    while True:
        try:
            client = Client.connect(world.env, start=False)
            break
        except Failed:
            assert time.monotonic() < began + LIMIT_S, running.err
            time.sleep(POLL_S)
    cold_s = time.monotonic() - began
    with client:
        for writer in house.writers:
            wait(client, writer.send(client))
    wait_for_rest(house)
    with open_database(house) as connection:
        hurt, called = list_hurt(connection)
    nexts = go_on(house, [*hurt, *called])
    wait_for_rest(house)
    world.kill_daemon(15)
    running.finish()
    return Rest(cold_s, len(hurt), len(called), nexts)


def wait_for_rest(house: House) -> None:
    """Until every turn and job has ended and every rollout is written; the judge looks again."""
    until = time.monotonic() + REST_S
    with open_database(house) as connection:
        # A daemon that ends leaves rollouts that are far behind to the next one.
        while not (is_at_rest(connection) and is_mirrored(connection)):
            if time.monotonic() > until:
                return
            time.sleep(POLL_S)


def describe(measured: Sequence[float]) -> str:
    """The middle, and what one of a hundred is above."""
    if not measured:
        return "never"
    p50 = statistics.median(measured)
    return f"p50 {p50:.3f} s, p99 {find_p99(measured):.3f} s of {len(measured)}"


def find_p99(measured: Sequence[float]) -> float:
    """What one of a hundred is above; infinite: nothing was measured."""
    ordered = sorted(measured)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] if ordered else math.inf
