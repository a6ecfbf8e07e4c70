"""Daemons told to end while turns run, once or twice, each followed by the next one.

A herd asks, some of it behind others, some with nobody waiting, and one without a pause. What was
accepted has to have exactly one end in the log of the next daemon; told once, and not hurried,
the end of what runs is that of the answer.
"""

import random
import signal
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import ask
from tests.faults.soak_load import open_house
from tests.system.world import LIMIT_S, Running, World

SHORT = "SLOW:0.03"
"""An answer of 0.6 s: far less than a daemon that drains has patience for."""
ENDLESS = "HOLD:3"
"""An answer that never ends: the daemon would wait for all its patience, but for a second word."""
PAUSE_MAX_S = 0.3
"""Until the daemon is told, and until it is told again: at most."""
DRAIN_LIMIT_S = 20.0
HURRIED_S, BUSY_S = 1.0, 4.0
"""From the second word to the end; and what a machine with much else to do may add."""
KNOWN_LIMIT_S = 30.0
"""The next daemon may have to run what was left to it, or to repeat it."""


@dataclass
class Ends:
    """What came of many ends.

    Attributes:
        drained_s: how long each took that was told of once.
        hurried_s: how long those took, from the second word on.
        accepted: how many turns were accepted around them.
        outcomes: how many of these ended how.
        harms: a sentence for each turn that was lost, doubled or cut, and each end too late.
    """

    drained_s: list[float] = field(default_factory=list)
    hurried_s: list[float] = field(default_factory=list)
    accepted: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    harms: list[str] = field(default_factory=list)

    def describe(self) -> dict[str, str]:
        """The figures."""
        outcomes = ", ".join(f"{count:,} {what}" for what, count in sorted(self.outcomes.items()))
        return {
            "ends in the middle, told once": _describe_times(self.drained_s),
            "ends in the middle, told twice, from the second on": _describe_times(self.hurried_s)
            + f", {sum(each <= HURRIED_S for each in self.hurried_s)} within {HURRIED_S:.0f} s",
            "turns accepted around these ends": f"{self.accepted:,}: {outcomes}",
        }


@dataclass(frozen=True)
class _Accepted:
    """A turn that a client was told of, and whether nothing but its answer may end it."""

    conversation_id: str
    turn_id: str
    must_complete: bool


class _Herd:
    """The clients around one end; each follows its turn into the next daemon."""

    def __init__(self, world: World, name: str, *, is_hurried: bool) -> None:
        self.world = world
        self.name = name
        self.accepted: list[_Accepted] = []
        self.troubles: list[str] = []
        self.over = threading.Event()
        first = ENDLESS if is_hurried else SHORT
        self._threads = [
            threading.Thread(target=self._work, args=(talk, what))
            for talk, what in (
                ("alone", partial(self._follow, prompt=first, must_complete=not is_hurried)),
                ("shared", partial(self._follow, prompt=SHORT, must_complete=not is_hurried)),
                ("shared", partial(self._follow, prompt=SHORT, must_complete=not is_hurried)),
                ("left", self._leave),
                ("storm", self._storm),
            )
        ]
        self.size = len(self._threads)
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Wait until each has read what it asked for."""
        self.over.set()
        for thread in self._threads:
            thread.join(LIMIT_S)
            if thread.is_alive():
                self.troubles.append(f"{self.name}: a client never saw its end")

    def _work(self, talk: str, what: Callable[[ask.Client, str], None]) -> None:
        try:
            with ask.connect(self.world.env, start=False) as client:
                what(client, f"{self.name}-{talk}")
        except BaseException as error:
            self.troubles.append(f"{self.name}, {talk}: {error!r}")

    def _follow(self, client: ask.Client, talk: str, *, prompt: str, must_complete: bool) -> None:
        with client.turn(prompt, conversation=talk) as turn:
            self.accepted.append(_Accepted(turn.conversation_id, turn.id, must_complete))
            turn.wait()

    def _leave(self, client: ask.Client, talk: str) -> None:
        job = client.detach(SHORT, conversation=talk)
        assert job.conversation_id is not None
        assert job.turn_id is not None
        self.accepted.append(_Accepted(job.conversation_id, job.turn_id, True))

    def _storm(self, client: ask.Client, talk: str) -> None:
        """Ask without a pause: before the end, during it, and on to the next daemon."""
        while not self.over.is_set():
            self._follow(client, talk, prompt="ECHO:and so on", must_complete=False)


def run_ends(count: int, seed: int, directory: Path, program: Sequence[str]) -> Ends:
    """So many ends; of every second one the daemon is told twice."""
    ends = Ends()
    dice = random.Random(seed)
    with open_house(directory, program) as (world, daemon):
        for number in range(count):
            is_hurried = number % 2 == 1
            herd = _Herd(world, f"end{number}", is_hurried=is_hurried)
            _wait_accepted(herd)
            time.sleep(dice.uniform(0.0, PAUSE_MAX_S))
            took_s = _tell(daemon, pause_s=dice.uniform(0.0, PAUSE_MAX_S) if is_hurried else None)
            (ends.hurried_s if is_hurried else ends.drained_s).append(took_s)
            daemon = world.start(command=program)
            daemon.wait_for("Ready", where="err")
            herd.finish()
            ends.harms += herd.troubles
            _judge(herd, ends)
            assert world.model is not None
            world.model.release()
    ends.harms += _find_late(ends)
    return ends


def _wait_accepted(herd: _Herd) -> None:
    until = time.monotonic() + LIMIT_S
    while len(herd.accepted) < herd.size and not herd.troubles:
        assert time.monotonic() < until, "the prompts were never accepted"
        time.sleep(0.005)


def _tell(daemon: Running, *, pause_s: float | None) -> float:
    """SIGTERM, and a second one so long after it drains: seconds from the last to its end."""
    told = time.monotonic()
    daemon.signal(signal.SIGTERM)
    if pause_s is not None and _is_draining(daemon):
        time.sleep(pause_s)
        told = time.monotonic()
        daemon.signal(signal.SIGTERM)
    daemon.process.wait(LIMIT_S)
    took_s = time.monotonic() - told
    daemon.finish()
    return took_s


def _is_draining(daemon: Running) -> bool:
    """Wait until it says so; one that is gone never does."""
    daemon.wait_for(
        lambda: "Draining" in daemon.err or daemon.process.poll() is not None, where="err"
    )
    return "Draining" in daemon.err


def _judge(herd: _Herd, ends: Ends) -> None:
    """What the next daemon knows of each turn that was accepted."""
    ends.accepted += len(herd.accepted)
    with ask.connect(herd.world.env, start=False) as client:
        for turn in herd.accepted:
            found = _find_ends(client, turn)
            ends.outcomes.update(found)
            which = f"{herd.name}: the turn {turn.turn_id}"
            if len(found) != 1:
                ends.harms.append(f"{which} has {len(found)} ends")
            elif turn.must_complete and found != ["completed"]:
                ends.harms.append(f"{which} was {found[0]}, and had time to end by itself")


def _find_ends(client: ask.Client, turn: _Accepted) -> list[str]:
    """How it ended, each time that it did."""
    until = time.monotonic() + KNOWN_LIMIT_S
    while True:
        events = client.conversations.read(turn.conversation_id)
        found = [
            event.outcome
            for event in events
            if isinstance(event, ask.Finished) and event.turn_id == turn.turn_id
        ]
        if found or time.monotonic() > until:
            return [str(each) for each in found]
        time.sleep(0.05)


def _find_late(ends: Ends) -> list[str]:
    late = [
        f"the daemon ended after {took_s:.1f} s"
        for took_s in ends.drained_s
        if took_s >= DRAIN_LIMIT_S
    ]
    late += [
        f"told twice, the daemon ended after {took_s:.1f} s"
        for took_s in ends.hurried_s
        if took_s >= HURRIED_S + BUSY_S
    ]
    return late


def _describe_times(times: Sequence[float]) -> str:
    if not times:
        return "none"
    usual_s = statistics.median(times)
    return f"{len(times)}: {usual_s:.2f} s usually, {max(times):.2f} s at most"
