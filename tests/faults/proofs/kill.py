"""Kills the daemon, again and again, under four writers; nothing that was said may be untrue.

The page says of `ready` what was measured: from the fork of a process that has its modules
already. Python's own start and the imports come on top, and are in the figure beside it.
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ask.connection import Client
from ask.exits import Failed
from tests.faults.kill_daemon import POINTS, STEP, Order
from tests.faults.kill_house import House, Life, open_house
from tests.faults.kill_judge import find_lost, is_at_rest, is_mirrored, judge_end, open_database
from tests.faults.programmes import Outcome
from tests.system.servers import DAEMON
from tests.system.world import LIMIT_S

CLAIM = (
    "A daemon that is killed with -9 at any moment - at random times, at any step of its loop, "
    "around commits, acknowledgements, rollout lines, requests to the model and tools - under four "
    "writers (talks, tools, detached turns, compactions and titles) loses and doubles no "
    "acknowledged prompt, no number, no effect of a tool or a job; every turn has one end, "
    "requests after it have no orphan, rollouts tell the log, and it is ready again at once."
)
CONTROL = "Prompts are acknowledged before their commit; it is killed right after it has done so."
UNIT = "kills"
CI = 40
FULL = 1000

LIFE_S = 0.7
"""A random time is below it: a start, its recovery, and a few turns of each writer."""
LIFE_STEPS = 1500
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
CONTROL_HARMS = 3
"""So many are enough to show."""


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """Kill so many daemons of one home, then have the last one bring everything to rest."""
    chances = random.Random(seed)
    harms: list[str] = []
    ready: list[float] = []
    places: Counter[str] = Counter()
    with open_house(directory) as house:
        for number in range(size):
            kill = choose_kill(number, chances)
            life, lost = kill_once(house, kill)
            harms += lost
            ready += [] if life.ready_s is None else [life.ready_s]
            is_late = bool(kill.order.place) and not life.is_own_end
            places["place not reached" if is_late else kill.order.place or "random time"] += 1
        cold_s = bring_to_rest(house)
        harms += judge_end(house)
        acknowledged = {each.name: len(each.acknowledged) for each in house.writers}
        requests = house.model.requests
    if min(acknowledged.values()) < size * LEAST:
        harms.append("the writers hardly wrote: nothing is known")
    figures = {
        "prompts acknowledged": ", ".join(f"{n:,} {name}" for name, n in acknowledged.items()),
        "requests to the model": f"{requests:,}",
        "kills by place": ", ".join(f"{n} {place}" for place, n in sorted(places.items())),
        "ready again after a kill": describe(ready),
        "the same with Python's start and all imports": f"{cold_s:.2f} s",
    }
    return Outcome(size, tuple(harms), figures)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """Kill daemons that acknowledge too early, until a few prompts are lost."""
    chances = random.Random(seed)
    harms: list[str] = []
    killed = 0
    with open_house(directory) as house:
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


def bring_to_rest(house: House) -> float:
    """A daemon as people have it ends what is unfinished, and stops; how long its start took.

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
    took_s = time.monotonic() - began
    with client:
        for writer in house.writers:
            writer.wait(client, writer.send(client))
    until = time.monotonic() + REST_S
    with open_database(house) as connection:
        # A daemon that ends leaves rollouts that are far behind to the next one.
        while not (is_at_rest(connection) and is_mirrored(connection)):
            if time.monotonic() > until:
                break  # the judge will say what is missing
            time.sleep(POLL_S)
    world.kill_daemon(15)
    running.finish()
    return took_s


def describe(measured: Sequence[float]) -> str:
    """The middle, and what one of a hundred is above."""
    if not measured:
        return "never"
    ordered = sorted(measured)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return f"p50 {ordered[len(ordered) // 2]:.3f} s, p99 {p99:.3f} s of {len(ordered)}"
